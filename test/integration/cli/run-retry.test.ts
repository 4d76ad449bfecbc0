// drover run retry and rerun, against a server that answers by script.
import {
  type RerunFromRequest,
  RerunVersion,
  type RetryRunRequest,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { expect, test } from "vitest";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();

const run = (...args: readonly string[]) => server.drover(["run", ...args]);

test("retry starts a new run from what failed", async () => {
  const asked: RetryRunRequest[] = [];
  server.play({
    retryRun(request) {
      asked.push(request);
      return { runId: "r2", created: true };
    },
  });
  expect(await run("retry", "r1", "--version", "newest")).toEqual({
    code: 0,
    stdout: "started run r2\n",
    stderr: "  next: drover run watch r2\n",
  });
  expect(asked).toMatchObject([
    {
      run: { ref: { case: "runId", value: "r1" } },
      version: RerunVersion.NEWEST,
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    },
  ]);
});

test("rerun names the step and another input; a repeat by its request is reported", async () => {
  const asked: RerunFromRequest[] = [];
  server.play({
    rerunFrom(request) {
      asked.push(request);
      return { runId: "r2", created: false };
    },
  });
  const options = "rerun r1 --from hotel --request-id again --version same --input";
  const ended = await run(...options.split(" "), '{"to":"Oslo"}');
  expect(ended.stdout).toBe("run r2 was already started by this request\n");
  expect(asked).toMatchObject([
    {
      stepId: "hotel",
      requestId: "again",
      version: RerunVersion.SAME,
      input: { body: { case: "json", value: '{"to":"Oslo"}' } },
    },
  ]);
});

test("a version that is none is refused before anything is sent", async () => {
  expect(await run("retry", "r1", "--version", "3")).toMatchObject({ code: 2 });
});
