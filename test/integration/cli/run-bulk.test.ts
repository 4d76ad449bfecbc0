// drover run bulk, against a server that answers by script.
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type BulkActionRequest,
  BulkKind,
  RerunVersion,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { beforeEach, expect, test } from "vitest";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
let asked: BulkActionRequest[];
beforeEach(() => {
  asked = [];
  server.play({
    bulkAction(request) {
      asked.push(request);
      if (request.dryRun) return { count: 3 };
      return request.pageToken === ""
        ? { count: 3, results: [{ runId: "r1", status: {} }], nextPageToken: "next" }
        : { results: [{ runId: "r2", status: { code: 9, message: "it has ended" } }] };
    },
  });
});

const run = (...args: readonly string[]) => server.drover(["run", "bulk", ...args]);

test("it counts first, and then does to as many, page after page", async () => {
  const options = "cancel --workflow w --state running --label a=b --leave --yes --reason why";
  expect(await run(...options.split(" "))).toEqual({
    code: 1,
    stdout: "cancel: 1 done, 1 refused\n",
    stderr: expect.stringMatching(
      /^if it is interrupted: repeat it with --request-id [0-9a-f-]{36}\nr2: it has ended\n$/,
    ),
  });
  expect(asked).toMatchObject([
    { dryRun: true, requestId: "" },
    { dryRun: false, expectedCount: 3, pageToken: "" },
    { dryRun: false, expectedCount: 3, pageToken: "next" },
  ]);
  for (const request of asked)
    expect(request).toMatchObject({
      kind: BulkKind.CANCEL,
      undo: Undo.LEAVE,
      reason: "why",
      filter: { workflow: "w", states: [RunState.RUNNING], labels: { a: "b" } },
    });
  expect(asked[1]?.requestId).toBe(asked[2]?.requestId);
});

test("a signal is sent by its name, with what it carries", async () => {
  await run(..."signal --name paid --yes --payload".split(" "), '{"amount":7}');
  const payload = { body: { case: "json", value: '{"amount":7}' } };
  for (const request of asked)
    expect(request).toMatchObject({ kind: BulkKind.SIGNAL, signalName: "paid", payload });
  expect(asked).toHaveLength(3);
});

test("a re-run names the step, the version and one input for all", async () => {
  await run(..."rerun --from hotel --version newest --yes --input".split(" "), '{"to":"Oslo"}');
  const input = { body: { case: "json", value: '{"to":"Oslo"}' } };
  const options = { kind: BulkKind.RERUN, stepId: "hotel", version: RerunVersion.NEWEST, input };
  for (const request of asked) expect(request).toMatchObject(options);
  expect(asked).toHaveLength(3);
});

test("a request that has a name of its own continues under it", async () => {
  const { stderr } = await run(..."resume --yes --request-id again".split(" "));
  expect(stderr).toBe("r2: it has ended\n");
  expect(asked.map(({ requestId }) => requestId)).toEqual(["", "again", "again"]);
});

test("a signal without a name is refused before anything is counted", async () => {
  const { code, stderr } = await run("signal", "--yes");
  expect(code).toBe(2);
  expect(stderr).toBe("drover: a signal has a name\n  next: --name NAME\n");
  expect(asked).toEqual([]);
});

test("--dry-run only counts", async () => {
  expect(await run("retry", "--dry-run")).toEqual({
    code: 0,
    stdout: "retry: 3 runs\n",
    stderr: "",
  });
  expect(asked).toHaveLength(1);
});

test("without a person to ask nothing is done, unless --yes is given", async () => {
  const { code, stderr } = await run("pause");
  expect(code).toBe(2);
  expect(stderr).toBe("drover: pause 3 runs? Standard input is not a terminal\n  next: --yes\n");
  expect(asked).toHaveLength(1);
});
