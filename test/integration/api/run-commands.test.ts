// What callers send to a run, and how each answer of the scheduler is put in the contract's terms.
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { DecisionKind, SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass, OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { outcomeDigest } from "../../../server/api/agent/convert-outcome.ts";
import type { Answer } from "../../../server/core/model/event.ts";
import type { RunCommand } from "../../../server/scheduler/scheduler.ts";
import type { RunRef } from "../../../server/store/store.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import {
  callbackToken,
  DEFINITION,
  RUN_ID,
  runRecord,
  SECRET,
  startWorld,
  token,
  type World,
} from "./rpc-world.ts";

const { cancelRun, completeDeferred, decide, pauseRun, resumeRun, signal } =
  SchedulerService.method;
const run = { ref: { case: "runId" as const, value: RUN_ID } };
const ref = { runId: RUN_ID, partition: 0x2a };

let world: World;
let grpc: GrpcClient;
let received: [RunRef, RunCommand][];
let answer: Answer;

beforeAll(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
  world.scheduler.command = async (to, event) => {
    received.push([to, event]);
    return answer;
  };
  world.store.definition = async () => ({
    ...DEFINITION,
    steps: [
      ...DEFINITION.steps,
      { id: "release", needs: [], kind: "approval", approvers: ["finance"] },
    ],
  });
});
afterAll(async () => {
  grpc.close();
  await world.close();
});
beforeEach(() => {
  received = [];
  answer = { kind: "done" };
});

describe("commands", () => {
  test("pause and resume take a reason, and answer what the run is then", async () => {
    const paused = await grpc.unary(pauseRun, { run, reason: "storm" });
    expect(paused.answer?.run?.runId).toBe(RUN_ID);
    await grpc.unary(resumeRun, { run, reason: "calm" });
    expect(received).toEqual([
      [ref, { kind: "pause", note: "storm" }],
      [ref, { kind: "resume", note: "calm" }],
    ]);
  });

  test.each([cancelRun, pauseRun, resumeRun])(
    "$name that the state does not allow is RUN_STATE, with the state",
    async (method) => {
      answer = { kind: "refused", run: "COMPLETED", why: "The run has COMPLETED." };
      expect(await grpc.unary(method, { run })).toMatchObject({
        code: 9,
        reason: "RUN_STATE",
        message: "The run has COMPLETED.",
        metadata: { state: "COMPLETED", run_id: RUN_ID },
      });
    },
  );

  test("a repeat is OK", async () => {
    answer = { kind: "repeated" };
    expect((await grpc.unary(cancelRun, { run })).code).toBe(0);
  });
});

describe("Signal", () => {
  const request = { run, name: "paid", signalId: "order-7" };

  test("hands on name, id and payload", async () => {
    const payload = { body: { case: "json" as const, value: '{"sum":1}' } };
    expect((await grpc.unary(signal, { ...request, payload })).answer?.repeated).toBe(false);
    expect(received).toEqual([
      [
        ref,
        {
          kind: "signal",
          id: "order-7",
          name: "paid",
          payload: { kind: "json", json: '{"sum":1}' },
        },
      ],
    ]);
  });

  test("reports when it was stored before", async () => {
    answer = { kind: "repeated" };
    expect((await grpc.unary(signal, request)).answer?.repeated).toBe(true);
  });

  test("needs a name of its own, so that it can be repeated", async () => {
    const refused = await grpc.unary(signal, { run, name: "paid" });
    expect(refused).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
    expect(refused.fields[0]?.[0]).toBe("signal_id");
    expect(received).toEqual([]);
  });

  test.each<[string, readonly string[], string]>([
    ["payments", ["go", "payment"], 'it takes: go, payment. Did you mean "payment"?'],
    ["stop", ["payment"], "it takes: payment."],
    ["payments", [], "or any other: is it the right run?"],
  ])("%s, where its steps take %j, is SIGNAL_UNKNOWN", async (name, takes, expected) => {
    answer = { kind: "no-such-signal", name, takes };
    expect(await grpc.unary(signal, { ...request, name })).toMatchObject({
      code: 3,
      reason: "SIGNAL_UNKNOWN",
      message: expect.stringContaining(`no step that takes the signal "${name}"`),
      metadata: { takes: takes.join(",") },
    });
    expect((await grpc.unary(signal, { ...request, name })).message).toContain(expected);
  });

  test("beyond what a run stores is SIGNAL_LIMIT, which no repeat helps", async () => {
    answer = { kind: "full", limit: 1_000 };
    expect(await grpc.unary(signal, request)).toMatchObject({
      code: 8,
      reason: "SIGNAL_LIMIT",
      metadata: { limit: "1000" },
      kinds: ["ErrorInfo", "QuotaFailure"],
    });
  });
});

describe("Decide", () => {
  const request = { run, stepId: "release", approver: "ann", decision: DecisionKind.APPROVE };

  test("hands on who decides what, and who asked for the run", async () => {
    const { findRun } = world.reads;
    world.reads.findRun = async () => runRecord({ labels: { requester: "bob" } });
    const form = { body: { case: "json" as const, value: "{}" } };
    const { code } = await grpc.unary(decide, {
      ...request,
      roles: ["finance"],
      decision: DecisionKind.REJECT,
      comment: "too dear",
      form,
    });
    world.reads.findRun = findRun;
    expect(code).toBe(0);
    expect(received).toEqual([
      [
        ref,
        {
          kind: "decide",
          step: 2,
          approver: "ann",
          verified: false,
          roles: ["finance"],
          approved: false,
          comment: "too dear",
          form: { kind: "json", json: "{}" },
          requester: "bob",
        },
      ],
    ]);
  });

  test("does not know who asked for a run without a requester", async () => {
    await grpc.unary(decide, request);
    expect(received[0]?.[1]).toMatchObject({ approved: true, requester: null, form: null });
  });

  test("on what is no approval of the run is STEP_NOT_FOUND, with those that are", async () => {
    for (const stepId of ["flight", "nothing"]) {
      const refused = await grpc.unary(decide, { ...request, stepId });
      expect(refused).toMatchObject({ code: 5, reason: "STEP_NOT_FOUND" });
      expect(refused.message).toContain("the approvals of this run are release");
    }
    expect(received).toEqual([]);
  });

  test("that the step does not take is DECISION_REFUSED, with the reason", async () => {
    answer = { kind: "refused", run: "RUNNING", why: "ann is no approver." };
    expect(await grpc.unary(decide, request)).toMatchObject({
      code: 9,
      reason: "DECISION_REFUSED",
      message: "ann is no approver.",
      metadata: { state: "RUNNING" },
    });
  });

  test("neither yes nor no is INVALID_REQUEST", async () => {
    const refused = await grpc.unary(decide, { ...request, decision: 0 });
    expect(refused.fields[0]?.[0]).toBe("decision");
  });
});

describe("CompleteDeferred", () => {
  const success = { case: "success" as const, value: {} };
  const secretDigest = createHash("sha256").update(Buffer.from(SECRET, "hex")).digest("hex");

  test("finds the attempt by its token alone, and reports what its agent could have reported", async () => {
    const failed = {
      case: "failed" as const,
      value: { code: "declined", failureClass: FailureClass.PERMANENT, noEffect: true },
    };
    const { code } = await grpc.unary(completeDeferred, {
      callbackToken: callbackToken({ fence: 4 }),
      outcome: failed,
    });
    expect(code).toBe(0);
    expect(received).toEqual([
      [
        ref,
        {
          kind: "callback",
          step: 0,
          fence: 4,
          secret: null,
          secretDigest,
          outcome: {
            kind: "failure",
            class: "permanent",
            code: "declined",
            message: "",
            retryAfterMs: null,
            noEffect: true,
          },
          digest: outcomeDigest(create(OutcomeSchema, { kind: failed })),
        },
      ],
    ]);
  });

  test("answers when the same was reported before", async () => {
    answer = { kind: "repeated" };
    const request = { callbackToken: callbackToken(), outcome: success };
    expect((await grpc.unary(completeDeferred, request)).answer?.repeated).toBe(true);
  });

  test.each<[Answer, number, string]>([
    [{ kind: "lease-lost", run: "RUNNING" }, 9, "LEASE_LOST"],
    [{ kind: "over", outcome: "success" }, 9, "TASK_OVER"],
    [{ kind: "no-such-task" }, 5, "TASK_NOT_FOUND"],
  ])("answered %o is refused", async (given, code, reason) => {
    answer = given;
    const request = { callbackToken: callbackToken(), outcome: success };
    expect(await grpc.unary(completeDeferred, request)).toMatchObject({ code, reason });
  });

  test.each([
    ["a text that is no token", "nonsense", "MALFORMED_TOKEN"],
    ["a task token, which is the agent's", token(), "MALFORMED_TOKEN"],
    [
      "a token of a namespace that is not here",
      callbackToken({ namespace: "x" }),
      "TASK_NOT_FOUND",
    ],
  ])("with %s", async (_, text, reason) => {
    const refused = await grpc.unary(completeDeferred, { callbackToken: text, outcome: success });
    expect(refused.reason).toBe(reason);
    expect(refused.fields[0]?.[0]).toBe("callback_token");
    expect(received).toEqual([]);
  });
});
