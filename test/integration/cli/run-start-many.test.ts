// drover run start-many, against a server that answers by script.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ScheduleBatchRequest } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
let folder: string;
let asked: ScheduleBatchRequest[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
});
beforeEach(() => {
  asked = [];
  server.play({
    scheduleBatch(request) {
      asked.push(request);
      return {
        results: request.runs.map(({ key }) =>
          key === "bad"
            ? { status: { code: 3, message: "runs[1]: no" } }
            : { status: {}, runId: "r", created: key !== "old" },
        ),
      };
    },
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

function start(lines: readonly string[], ...options: readonly string[]) {
  writeFileSync(join(folder, "runs.jsonl"), lines.join("\n"));
  return server.drover(["run", "start-many", "runs.jsonl", ...options], { cwd: folder });
}

test("a line is a run; what was refused is printed with its line, and the others start", async () => {
  const ended = await start([
    '{"workflow":"w","input":{"to":"Rome"},"labels":{"a":"b"},"priority":2,"version":3}',
    "",
    '{"workflow":"w","key":"bad"}',
    '{"workflow":"w","key":"old"}',
  ]);
  expect(ended).toEqual({
    code: 1,
    stdout: "started 1, 1 already started, 1 refused\n",
    stderr: "runs.jsonl:3: runs[1]: no\n",
  });
  expect(asked[0]?.runs[0]).toMatchObject({
    target: { case: "workflow", value: { name: "w", version: 3 } },
    input: { body: { case: "json", value: '{"to":"Rome"}' } },
    labels: { a: "b" },
    priority: 2,
    key: "",
  });
});

test("--key names lines by their number, and leaves keys of their own", async () => {
  const ended = await start(['{"workflow":"w"}', '{"workflow":"w","key":"k"}'], "--key", "load");
  expect(ended.code).toBe(0);
  expect(asked[0]?.runs.map(({ key }) => key)).toEqual(["load-1", "k"]);
});

test("many lines go in calls of 500", async () => {
  const ended = await start(Array.from({ length: 1_001 }, () => '{"workflow":"w"}'));
  expect(ended.stdout).toBe("started 1001, 0 already started, 0 refused\n");
  expect(asked.map(({ runs }) => runs.length)).toEqual([500, 500, 1]);
});

test.each([
  ["no JSON", "{", "is not a JSON object"],
  ["a list", "[]", "is not a JSON object"],
  ["an unknown name", '{"workflow":"w","inputs":1}', '"inputs" is not one of workflow, version'],
  ["no workflow", "{}", "workflow must be a name"],
  ["a label that is no text", '{"workflow":"w","labels":{"a":1}}', "labels must be texts"],
])("%s is refused before anything is sent, with its line", async (_, line, expected) => {
  const { code, stderr } = await start(['{"workflow":"w"}', line]);
  expect(code).toBe(2);
  expect(stderr).toContain(`runs.jsonl:2: ${expected}`);
  expect(asked).toEqual([]);
});
