// drover status --watch without a terminal: lines and records, over a server that comes back.
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startDrover } from "../../support/drover-process.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
const pause = { name: "travel", pause: { reason: "the airline is down" } };

/** The first stream breaks after what is wrong; the next continues with what is right again. */
function playIncident(): void {
  server.play({
    async *watchOverview({ after }) {
      if (after === "") {
        yield { cursor: "one", overview: { pausedQueues: [pause] } };
        throw new ConnectError("gone", Code.Unavailable);
      }
      yield { cursor: "two", overview: {} };
      await Promise.race([]);
    },
  });
}

const start = (...args: readonly string[]) =>
  startDrover(["status", "--watch", ...args], { env: { DROVER_ADDRESS: server.address } });

test("each change is a line, until a signal ends it with 0", async () => {
  playIncident();
  const watch = start();
  await watch.wrote("nothing needs attention");
  watch.signal("SIGINT");
  const what = `queue "travel" is paused: the airline is down`;
  expect(await watch.ended).toEqual({
    code: 0,
    stdout:
      `${what}; next: drover queue resume travel\n` +
      `no longer: ${what}\n` +
      `nothing needs attention in default at ${server.address}\n`,
    stderr: `lost the server: trying ${server.address} again\n`,
  });
});

test("with -o jsonl each state is a record", async () => {
  playIncident();
  const watch = start("-o", "jsonl");
  await watch.wrote("two");
  watch.signal("SIGINT");
  const { code, stdout } = await watch.ended;
  expect(code).toBe(0);
  const cursors = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).cursor);
  expect(cursors).toEqual(["one", "two"]);
});

test("one document cannot be watched, and a server that never answers is not waited for", async () => {
  const { code, stderr } = await start("-o", "json").ended;
  expect(code).toBe(2);
  expect(stderr).toContain("next: -o jsonl");
  const unreachable = { env: { DROVER_ADDRESS: "127.0.0.1:1" } };
  expect(await startDrover(["status", "--watch"], unreachable).ended).toMatchObject({ code: 3 });
});
