// drover run logs: the lines of a run, a step, an item or an attempt, as they come.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { LogLevel, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { expect, test } from "vitest";
import type { Script } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
const logs = (...args: readonly string[]) => server.drover(["run", "logs", ...args]);

const line = (message: string, over: object = {}) => ({
  stepId: "pay",
  attempt: { kind: TaskKind.PERFORM, fence: 1 },
  attemptNumber: 1,
  line: 1,
  time: timestampFromMs(Date.UTC(2026, 0, 31, 12, 0, 5)),
  level: LogLevel.INFO,
  message,
  ...over,
});

/** Two pages, of a run that has ended. */
const twoPages: Script = {
  listLogs: ({ pageToken }) =>
    pageToken === ""
      ? {
          lines: [
            line("asked"),
            line("de\u001b[31mclined", { level: LogLevel.WARN, fields: { card: "4\n2" } }),
          ],
          nextPageToken: "a",
          tailToken: "a",
          runEnded: true,
        }
      : {
          lines: [
            line("refunded", {
              attempt: { kind: TaskKind.COMPENSATE, fence: 2 },
              attemptNumber: 2,
              level: LogLevel.ERROR,
            }),
          ],
          tailToken: "b",
          runEnded: true,
        },
};

test("prints the lines of all pages, without their control characters", async () => {
  server.play(twoPages);
  const { code, stdout } = await logs("r1");
  expect(code).toBe(0);
  expect(stdout.split("\n")).toEqual([
    "2026-01-31 12:00:05Z info   pay #1  asked",
    "2026-01-31 12:00:05Z warn   pay #1  de\\u001b[31mclined  card=4 2",
    "2026-01-31 12:00:05Z error  pay undo #2  refunded",
    "",
  ]);
});

test("prints those of one attempt, of the last minutes, or only the first", async () => {
  server.play(twoPages);
  expect((await logs("r1", "--attempt", "2")).stdout).toMatch(/^[^\n]*refunded\n$/);
  const old = await logs("r1", "--since", "5m");
  expect(old.stdout).toBe("");
  expect(old.stderr).toContain("no line is stored");
  const first = await logs("r1", "--limit", "1");
  expect(first.stdout).toMatch(/^[^\n]*asked\n$/);
  expect(first.stderr).toContain("these are the first 1 lines; see --limit");
});

test("asks for a step, or for an item by its index", async () => {
  const asked: (readonly [string, number | undefined])[] = [];
  server.play({
    listLogs({ stepId, item }) {
      asked.push([stepId, item]);
      return { lines: [], tailToken: "a" };
    },
  });
  await logs("r1", "pay");
  await logs("r1", "deploy[3]");
  expect(asked).toEqual([
    ["pay", undefined],
    ["deploy", 3],
  ]);
});

test("with --follow it asks again from where it was, until the run has ended", async () => {
  const tokens: string[] = [];
  server.play({
    listLogs({ pageToken }) {
      tokens.push(pageToken);
      const at = tokens.length;
      const ended = at >= 2;
      return { lines: at <= 2 ? [line(`line ${at}`)] : [], tailToken: `t${at}`, runEnded: ended };
    },
  });
  const { stdout } = await logs("r1", "--follow", "-o", "jsonl");
  const messages = stdout
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text).message);
  expect(messages).toEqual(["line 1", "line 2"]);
  expect(tokens).toEqual(["", "t1", "t2", "t3"]);
});
