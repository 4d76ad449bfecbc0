// drover run signal, decide, pause and resume, against a server that answers by script.
import { Code } from "@connectrpc/connect";
import type { CompleteStepRequest } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type DecideRequest,
  DecisionKind,
  type SignalRequest,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass } from "@drover/proto/drover/v1/task_pb.ts";
import { describe, expect, test } from "vitest";
import { refusedBy } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();

const run = (...args: readonly string[]) => server.drover(["run", ...args]);

describe("signal", () => {
  test("sends name, payload and id, and makes an id where none is given", async () => {
    const requests: SignalRequest[] = [];
    server.play({
      signal(request) {
        requests.push(request);
        return { repeated: requests.length > 1 };
      },
    });
    const payload = ["--payload", '{"amount":7}'];
    expect(await run("signal", "key:order-7", "paid", "--id", "p1", ...payload)).toEqual({
      code: 0,
      stdout: "signal paid sent\n",
      stderr: "  next: drover run show key:order-7\n",
    });
    const again = await run("signal", "r1", "paid");
    expect(again.stdout).toBe("signal paid was already sent with this id\n");
    expect(requests).toMatchObject([
      {
        run: { ref: { case: "key", value: "order-7" } },
        name: "paid",
        signalId: "p1",
        payload: { body: { case: "json", value: '{"amount":7}' } },
      },
      { run: { ref: { case: "runId", value: "r1" } } },
    ]);
    expect(requests[1]?.payload).toBeUndefined();
    expect(requests[1]?.signalId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("a payload that is no JSON never leaves the house", async () => {
    const { code, stderr } = await run("signal", "r1", "paid", "--payload", "{");
    expect(code).toBe(2);
    expect(stderr).toContain("drover: --payload is not JSON");
  });
});

describe("decide", () => {
  test("sends who decides what in which role, and why", async () => {
    const requests: DecideRequest[] = [];
    server.play({
      decide(request) {
        requests.push(request);
        return { run: { runId: "r1", state: RunState.RUNNING } };
      },
    });
    const who = ["--by", "ada", "--role", "finance", "--role", "lead"];
    expect(
      await run("decide", "r1", "release", "--reject", ...who, "--reason", "no", "--form", "1"),
    ).toEqual({
      code: 0,
      stdout: "ada rejected release\nrun r1 is running\n",
      stderr: "  next: drover run watch r1\n",
    });
    expect(requests).toMatchObject([
      {
        stepId: "release",
        decision: DecisionKind.REJECT,
        approver: "ada",
        roles: ["finance", "lead"],
        comment: "no",
        form: { body: { case: "json", value: "1" } },
      },
    ]);
  });

  test.each([
    ["neither yes nor no", ["--by", "ada"], "no decision was given"],
    ["both yes and no", ["--approve", "--reject", "--by", "ada"], "cannot be used with"],
    ["no person who decides", ["--approve"], "it is unknown who you are"],
  ])("%s is refused before any call", async (_name, args, expected) => {
    const { code, stderr } = await run("decide", "r1", "release", ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(expected);
  });

  test("a decision that is not taken prints what to read", async () => {
    server.play({
      decide() {
        throw refusedBy({
          code: Code.FailedPrecondition,
          reason: "DECISION_REFUSED",
          message: "eve may not decide",
        });
      },
    });
    expect(await run("decide", "r1", "release", "--approve", "--by", "eve")).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "drover: eve may not decide\n" +
        "  next: drover approval show RUN STEP prints the approvers, and the command with the form\n",
    });
  });
});

describe("complete", () => {
  function answering(repeated = false): CompleteStepRequest[] {
    const requests: CompleteStepRequest[] = [];
    server.play({
      completeStep(request) {
        requests.push(request);
        return { run: { runId: "r1", state: RunState.RUNNING }, repeated };
      },
    });
    return requests;
  }

  test("reports that a step is done, with its output, and who says so", async () => {
    const requests = answering();
    const who = ["--by", "ada", "--reason", "the courier called"];
    expect(await run("complete", "key:order-7", "ship", "--payload", '{"n":7}', ...who)).toEqual({
      code: 0,
      stdout: "ship is reported as succeeded\nrun r1 is running\n",
      stderr: "  next: drover run watch r1\n",
    });
    await run("complete", "r1", "load[3]", "--succeed", "--by", "ada");
    expect(requests).toMatchObject([
      {
        run: { ref: { case: "key", value: "order-7" } },
        stepId: "ship",
        outcome: {
          case: "success",
          value: { output: { body: { case: "json", value: '{"n":7}' } } },
        },
        by: "ada",
        reason: "the courier called",
      },
      { stepId: "load", item: 3, outcome: { case: "success" } },
    ]);
    expect(requests[0]?.item).toBeUndefined();
  });

  test("reports a failure, which trying again may help or not", async () => {
    const requests = answering(true);
    const failed = [
      "complete",
      "r1",
      "ship",
      "--error",
      "lost",
      "--message",
      "gone",
      "--by",
      "ada",
    ];
    expect((await run(...failed)).stdout).toContain("ship was already reported as failed\n");
    await run(...failed, "--permanent");
    const { TRANSIENT, PERMANENT } = FailureClass;
    expect(requests.map(({ outcome }) => outcome.value)).toMatchObject([
      { code: "lost", message: "gone", failureClass: TRANSIENT },
      { code: "lost", message: "gone", failureClass: PERMANENT },
    ]);
  });

  test.each([
    ["no outcome", [], "no outcome was given"],
    ["two outcomes", ["--succeed", "--error", "x"], "cannot be used with"],
    ["an output of a failure", ["--payload", "1", "--error", "x"], "cannot be used with"],
    ["a message of a success", ["--succeed", "--message", "x"], "describe a failure"],
    ["an output that is no JSON", ["--payload", "{"], "--payload is not JSON"],
  ])("with %s is refused before any call", async (_name, args, expected) => {
    const { code, stderr } = await run("complete", "r1", "ship", "--by", "ada", ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(expected);
  });
});

test("a run is paused and resumed, with what comes next", async () => {
  const reasons: string[] = [];
  server.play({
    pauseRun({ reason }) {
      reasons.push(reason);
      return { run: { runId: "r1", state: RunState.PAUSED } };
    },
    resumeRun({ reason }) {
      reasons.push(reason);
      return { run: { runId: "r1", state: RunState.RUNNING } };
    },
  });
  expect(await run("pause", "r1", "--reason", "the desk is closed")).toEqual({
    code: 0,
    stdout: "run r1 is paused\n",
    stderr: "  next: drover run resume r1\n",
  });
  const resumed = await run("resume", "--key", "order-7", "-o", "json");
  expect(JSON.parse(resumed.stdout)).toEqual({ run: { runId: "r1", state: "RUN_STATE_RUNNING" } });
  expect(reasons).toEqual(["the desk is closed", ""]);
});
