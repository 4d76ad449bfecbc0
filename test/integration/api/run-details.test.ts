// A run as a client reads it, beyond the simple case: strategies, waits, verifies, people,
// and every setting with the value that holds.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  AttemptSource,
  OutcomeKind,
  RunState,
  SettingSource,
  StepKind,
  StepState,
  UndoState,
  WaitingOn,
} from "@drover/proto/drover/v1/run_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { Forward, Step } from "../../../server/core/model/model.ts";
import type { AttemptRecord } from "../../../server/store/reads.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { RUN_ID, runDetail, runRecord, startWorld, type World } from "./rpc-world.ts";

const { getRun } = SchedulerService.method;
const run = { ref: { case: "runId" as const, value: RUN_ID } };
const AT = 1_700_000_000_000;

const definition: Definition = {
  workflow: "order",
  timeoutMs: 5_400_000,
  steps: [
    {
      id: "charge",
      needs: [],
      task: "charge",
      effects: "verifiable",
      verify: { task: "find", retry: [{ attempts: 2 }] },
      retry: [{ on: ["full"], maxMs: 90_000 }],
      timeouts: { heartbeatMs: 2_000 },
      fallback: [{ queue: "slow" }, { task: "charge-by-hand" }],
    },
    { id: "paid", needs: [], kind: "signal", name: "paid", withinMs: 86_400_000 },
    { id: "release", needs: [], kind: "approval", approvers: ["finance"], need: 2 },
    { id: "pause", needs: [], kind: "wait", forMs: 1 },
    { id: "tell", needs: [], task: "mail", always: true },
  ],
};

let world: World;
let grpc: GrpcClient;
beforeAll(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterAll(async () => {
  grpc.close();
  await world.close();
});
beforeEach(() => {
  world.store.definition = async () => definition;
  world.reads.runDetail = async () => runDetail();
});

function step(no: number, forward: Forward, over: Partial<Step> = {}): [number, Step] {
  const blank = {
    unknownOutcome: null,
    firstReadyAt: null,
    settleUntil: null,
    result: null,
    items: null,
  };
  return [
    no,
    {
      no,
      forward,
      undo: { kind: "NONE" },
      strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
      fence: 1,
      attempt: 1,
      lost: 0,
      tries: [],
      verifies: 0,
      ...blank,
      ...over,
    },
  ];
}

function attempt(over: Partial<AttemptRecord>): AttemptRecord {
  return {
    step: 0,
    kind: "perform",
    fence: 1,
    n: 0,
    attempt: 1,
    agentId: "agent-1",
    session: null,
    startedAt: AT,
    endedAt: AT + 1,
    outcome: { kind: "unknown", code: "drover.lost", message: "silent" },
    progress: null,
    ...over,
  };
}

describe("GetRun", () => {
  test("shows the strategy that is tried, with its own queue and task", async () => {
    const strategies = [0, 1, 2].map(
      (planned) => ({ planned, changed: false, effectStatus: "NONE" }) as const,
    );
    for (const [count, task, queue] of [
      [1, "charge", "default"],
      [2, "charge", "slow"],
      [3, "charge-by-hand", "default"],
    ] as const) {
      const backoff = { kind: "BACKOFF", task: "perform", cause: "retry", wakeAt: AT } as const;
      const steps = new Map([step(0, backoff, { strategies: strategies.slice(0, count) })]);
      world.reads.runDetail = async () => runDetail({ steps });
      const { answer } = await grpc.unary(getRun, { run });
      expect(answer?.steps[0]).toMatchObject({ strategy: count - 1, task, queue });
    }
  });

  test("shows what each step is, and what the waiting ones wait for", async () => {
    const waiting = (on: "signal" | "approval" | "timer" | "callback"): Forward => ({
      kind: "WAITING",
      on,
      wakeAt: AT + 5,
    });
    world.reads.runDetail = async () =>
      runDetail({
        steps: new Map([
          step(0, waiting("callback")),
          step(1, waiting("signal")),
          step(2, waiting("approval")),
          step(3, waiting("timer")),
        ]),
        decisions: [
          {
            step: 2,
            approver: "ann",
            verified: false,
            approved: true,
            comment: "fine",
            form: null,
            at: AT,
          },
        ],
      });
    const { answer } = await grpc.unary(getRun, { run });
    expect(answer?.steps.map(({ kind, state, waitingOn }) => [kind, state, waitingOn])).toEqual([
      [StepKind.TASK, StepState.WAITING, WaitingOn.CALLBACK],
      [StepKind.SIGNAL, StepState.WAITING, WaitingOn.SIGNAL],
      [StepKind.APPROVAL, StepState.WAITING, WaitingOn.APPROVAL],
      [StepKind.WAIT, StepState.WAITING, WaitingOn.TIMER],
      [StepKind.TASK, StepState.BLOCKED, WaitingOn.UNSPECIFIED],
    ]);
    const [, paid, release] = answer?.steps ?? [];
    expect(release).toMatchObject({ approvals: 1, task: "", queue: "", signalName: "" });
    expect(paid?.signalName).toBe("paid");
    expect(paid?.nextTime && timestampMs(paid.nextTime)).toBe(AT + 5);
    expect(answer?.decisions).toEqual([]);
  });

  test("shows a verify as such: beside the attempt that it is about, numbered by itself", async () => {
    const unknownOutcome = {
      code: "drover.lost",
      message: "silent",
      permanent: false,
      unknown: true,
    };
    const held: Forward = { kind: "HELD", task: "verify" };
    world.reads.runDetail = async () =>
      runDetail({
        run: runRecord({ state: "PAUSED", deadlineAt: null }),
        steps: new Map([
          step(0, held, {
            unknownOutcome: { ...unknownOutcome, retryAfterMs: null, tries: 0, lostBy: "07" },
            verifies: 1,
          }),
        ]),
        attempts: [
          attempt({}),
          attempt({
            kind: "verify",
            n: 1,
            startedAt: AT + 2,
            outcome: { kind: "unknown", code: "drover.unknown", message: "cannot tell" },
          }),
          attempt({ kind: "verify", n: 2, startedAt: AT + 3, outcome: { kind: "superseded" } }),
        ],
      });
    const { answer } = await grpc.unary(getRun, { run, includeAttempts: true });
    expect(answer?.run?.state).toBe(RunState.PAUSED);
    expect(answer?.steps[0]).toMatchObject({
      state: StepState.VERIFYING,
      attempt: 1,
      verifies: 1,
      error: { code: "drover.lost" },
    });
    expect(answer?.steps[0]?.nextTime).toBeUndefined();
    expect(answer?.attempts.map(({ kind, n, outcome }) => [kind, n, outcome])).toEqual([
      [TaskKind.PERFORM, 0, OutcomeKind.UNKNOWN],
      [TaskKind.VERIFY, 1, OutcomeKind.UNKNOWN],
      [TaskKind.VERIFY, 2, OutcomeKind.SUPERSEDED],
    ]);
  });

  test("shows the output of a step that no agent performed, and who ended it", async () => {
    world.reads.runDetail = async () =>
      runDetail({
        run: runRecord({ state: "FINISHING", reason: "STEP_FAILED", warnings: 2 }),
        steps: new Map([
          step(0, { kind: "FAILED" }),
          step(1, { kind: "SUCCEEDED" }, { result: { fence: 0, kind: "answer", n: 0 }, fence: 0 }),
        ]),
        attempts: [
          attempt({
            kind: "engine",
            fence: 0,
            outcome: {
              kind: "failure",
              class: "permanent",
              code: "drover.total",
              message: "its time is up",
              retryAfterMs: null,
              noEffect: false,
            },
          }),
          attempt({
            step: 1,
            kind: "answer",
            fence: 0,
            agentId: null,
            outcome: { kind: "success", output: { kind: "json", json: "7" } },
          }),
        ],
      });
    const { answer } = await grpc.unary(getRun, { run, includeAttempts: true });
    expect(answer?.run).toMatchObject({ state: RunState.FINISHING, warnings: 2 });
    expect(answer?.steps[0]?.error?.code).toBe("drover.total");
    expect(answer?.steps[1]?.output?.body.value).toBe("7");
    expect(answer?.attempts.map(({ source }) => source)).toEqual([
      AttemptSource.ENGINE,
      AttemptSource.ANSWER,
    ]);
    // The run has a stop reason: only what runs last will still begin.
    expect(answer?.steps.map(({ state }) => state).slice(2)).toEqual([
      StepState.CANCELLED,
      StepState.CANCELLED,
      StepState.BLOCKED,
    ]);
    expect(answer?.steps[0]?.undoState).toBe(UndoState.NONE);
  });

  test("names the failures that the run continued after, whatever was asked for", async () => {
    const mail = { id: "mail", needs: [], task: "mail", onFailure: "continue" } as const;
    world.store.definition = async () => ({ ...definition, steps: [mail] });
    world.reads.runDetail = async () =>
      runDetail({
        run: runRecord({ state: "COMPENSATED", reason: "STEP_FAILED", warnings: 1 }),
        steps: new Map([step(0, { kind: "FAILED" })]),
        attempts: [attempt({})],
      });
    const { answer } = await grpc.unary(getRun, { run });
    expect(answer?.warnings).toMatchObject([
      { stepId: "mail", code: "drover.lost", message: "silent" },
    ]);
    expect(answer?.attempts).toEqual([]);
  });

  test("shows signals and decisions when asked, with unverified names", async () => {
    world.reads.runDetail = async () =>
      runDetail({
        signals: [
          { seq: 1, id: "s1", name: "paid", payload: null, at: AT, takenBy: 1 },
          {
            seq: 2,
            id: "s2",
            name: "paid",
            payload: { kind: "json", json: "2" },
            at: AT,
            takenBy: null,
          },
        ],
        decisions: [
          {
            step: 2,
            approver: "ann",
            verified: false,
            approved: false,
            comment: "no",
            form: null,
            at: AT,
          },
        ],
      });
    const { answer } = await grpc.unary(getRun, {
      run,
      includeSignals: true,
      includeDecisions: true,
    });
    expect(answer?.signals).toMatchObject([
      { seq: 1, signalId: "s1", name: "paid", takenBy: "paid" },
      { seq: 2, signalId: "s2", takenBy: "", payload: { body: { value: "2" } } },
    ]);
    expect(answer?.decisions).toMatchObject([
      {
        stepId: "release",
        approver: "ann",
        approverVerified: false,
        approved: false,
        comment: "no",
      },
    ]);
  });

  test("shows its definition when asked", async () => {
    expect((await grpc.unary(getRun, { run })).answer?.definition).toBeUndefined();
    const { answer } = await grpc.unary(getRun, { run, includeDefinition: true });
    const ids = answer?.definition?.steps.map(({ id }) => id);
    expect(ids).toEqual(answer?.steps.map(({ id }) => id));
  });

  test("shows every setting when asked, with the value that holds and where it comes from", async () => {
    expect((await grpc.unary(getRun, { run })).answer?.settings).toEqual([]);
    const { answer } = await grpc.unary(getRun, { run, includeSettings: true });
    const listed = new Map(
      answer?.settings.map(({ stepId, field, value, source }) => [
        `${stepId} ${field}`,
        `${value}${source === SettingSource.DEFINITION ? ", set" : ""}`,
      ]),
    );
    expect(listed.size).toBe(answer?.settings.length);
    const expected = {
      " timeout": "1h30m, set",
      "charge queue": "default",
      "charge retry[0].on": "full, set",
      "charge retry[0].attempts": "5",
      "charge retry[0].max": "1m30s, set",
      "charge retry[0].jitter": "0.2",
      "charge timeouts.pickup": "5m",
      "charge timeouts.heartbeat": "2s, set",
      "charge timeouts.stall": "off",
      "charge timeouts.settle": "5s",
      "charge timeouts.callback": "1d",
      "charge effects": "verifiable, set",
      "charge on_pickup": "alarm",
      "charge on_failure": "compensate or fail",
      "charge verify.retry[0].attempts": "2, set",
      "charge verify.timeouts.attempt": "15m",
      "paid signal.within": "1d, set",
      "paid signal.on_expiry": "escalate",
      "release approval.need": "2, set",
      "release approval.within": "7d",
      "pause run_if": "ended",
      "tell always": "true, set",
    };
    expect(Object.fromEntries(Object.keys(expected).map((key) => [key, listed.get(key)]))).toEqual(
      expected,
    );
    expect([...listed.keys()].filter((key) => key.startsWith("pause"))).toEqual([
      "pause run_if",
      "pause on_failure",
      "pause escalation.remind",
      "pause escalation.deadline",
      "pause always",
      "pause pivot",
    ]);
  });
});
