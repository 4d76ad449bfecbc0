// A run as a client reads it, and calls that follow a run.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  ConcurrencyPolicy,
  OutcomeKind,
  RunState,
  StepState,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../server/clock.ts";
import type { Lease, Step } from "../../../server/core/model/model.ts";
import type { AttemptRecord } from "../../../server/store/reads.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { RUN_ID, runDetail, runRecord, signal, startWorld, type World } from "./rpc-world.ts";

const { getRun, watchRun, waitRun } = SchedulerService.method;
const run = { ref: { case: "runId" as const, value: RUN_ID } };
const ended = runRecord({
  state: "COMPLETED",
  reason: "DONE",
  stateVersion: 5,
  endedAt: 1_700_000_100_000,
});

/** Time does not advance; a tick is ten seconds, and fires every timer that is set. */
function handClock(): Clock & { tick(): void } {
  let nowMs = 0;
  let due: (() => void)[] = [];
  return {
    ...systemClock,
    monotonicMs: () => nowMs,
    after(_ms, fn) {
      due.push(fn);
      return {
        cancel: () => {
          due = due.filter((other) => other !== fn);
        },
      };
    },
    tick() {
      nowMs += 10_000;
      const callbacks = due;
      due = [];
      for (const fn of callbacks) fn();
    },
  };
}

let clock: ReturnType<typeof handClock>;
let world: World;
let grpc: GrpcClient;
beforeEach(async () => {
  clock = handClock();
  world = await startWorld({ clock });
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

function step(over: Partial<Step>): Step {
  return {
    no: 0,
    forward: { kind: "BLOCKED", waitingFor: 0, ok: 0, skipped: 0 },
    undo: { kind: "NONE" },
    strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
    fence: 0,
    attempt: 0,
    lost: 0,
    tries: [],
    unknownOutcome: null,
    verifies: 0,
    firstReadyAt: null,
    settleUntil: null,
    result: null,
    items: null,
    ...over,
  };
}

const lease: Lease = {
  kind: "LEASED",
  task: "perform",
  fence: 3,
  attempt: 2,
  secret: "ab".repeat(16),
  session: "07".repeat(16),
  agentId: "agent-1",
  pollSeq: 1,
  grantedAt: 1_700_000_050_000,
  attemptBy: 1_700_000_090_000,
  heartbeatMs: 30_000,
  cancelMs: 10_000,
  stallMs: null,
  progressAt: 1_700_000_050_000,
  cancel: { kind: "none" },
  suspectAt: null,
  wakeAt: 1_700_000_080_000,
};

function attempt(over: Partial<AttemptRecord>): AttemptRecord {
  return {
    step: 0,
    kind: "perform",
    fence: 1,
    n: 0,
    attempt: 1,
    agentId: "agent-1",
    session: "07".repeat(16),
    startedAt: 1_700_000_000_000,
    endedAt: 1_700_000_010_000,
    outcome: { kind: "success", output: { kind: "json", json: '"F1"' } },
    progress: null,
    ...over,
  };
}

const failed = (code: string, kind: "transient" | "permanent" = "transient") => ({
  kind: "failure" as const,
  class: kind,
  code,
  message: `it was ${code}`,
  retryAfterMs: null,
  noEffect: false,
});

const all = { run, includeAttempts: true, includeInterventions: true, includeEscalations: true };

describe("GetRun", () => {
  test("a run under way: who has what, what failed before, and what comes next", async () => {
    world.reads.runDetail = async () =>
      runDetail({
        steps: new Map([
          [0, step({ forward: lease, fence: 2, attempt: 1 })],
          [1, step({ no: 1, forward: { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 } })],
        ]),
        attempts: [
          attempt({ outcome: failed("full") }),
          attempt({ fence: 2, attempt: 2, outcome: { kind: "undelivered" } }),
        ],
      });
    const { answer } = await grpc.unary(getRun, all);
    const [flight, hotel] = answer?.steps ?? [];
    expect(flight).toMatchObject({
      id: "flight",
      state: StepState.LEASED,
      undoState: UndoState.NONE,
      task: "book-flight",
      queue: "default",
      attempt: 2,
      fence: 3,
      agentId: "agent-1",
      error: { code: "full", failureClass: FailureClass.TRANSIENT },
    });
    expect(flight?.nextTime && timestampMs(flight.nextTime)).toBe(lease.wakeAt);
    expect(hotel).toMatchObject({ state: StepState.BLOCKED, needs: ["flight"], queue: "slow" });
    expect(answer?.attempts.map(({ fence, outcome }) => [fence, outcome])).toEqual([
      [1, OutcomeKind.FAILURE],
      [2, OutcomeKind.GIVEN_BACK],
      [3, OutcomeKind.UNSPECIFIED],
    ]);
    expect(answer?.attempts[2]).toMatchObject({ kind: TaskKind.PERFORM, agentId: "agent-1" });
    expect(answer?.attempts[2]?.endedTime).toBeUndefined();
  });

  test("a step that succeeded shows the output of the attempt that counts, and no error", async () => {
    world.reads.runDetail = async () =>
      runDetail({
        steps: new Map([
          [
            0,
            step({
              forward: { kind: "SUCCEEDED" },
              fence: 2,
              attempt: 2,
              result: { fence: 2, kind: "perform", n: 0 },
            }),
          ],
        ]),
        attempts: [attempt({ outcome: failed("full") }), attempt({ fence: 2, attempt: 2 })],
      });
    const { answer } = await grpc.unary(getRun, { run });
    expect(answer?.steps[0]).toMatchObject({
      state: StepState.SUCCEEDED,
      output: { contentType: "application/json", body: { case: "json", value: '"F1"' } },
    });
    expect(answer?.steps[0]?.error).toBeUndefined();
    expect(answer?.attempts).toEqual([]);
  });

  test("a run that is to start later: when, with all of its steps to come", async () => {
    const startAt = 1_700_000_060_000;
    const concurrency = { key: "customer-17", limit: 2, policy: "refuse" } as const;
    world.reads.runDetail = async () =>
      runDetail({ run: runRecord({ state: "PENDING", deadlineAt: null, startAt, concurrency }) });
    const { answer } = await grpc.unary(getRun, { run });
    expect(answer?.run?.state).toBe(RunState.PENDING);
    expect(answer?.run?.startTime && timestampMs(answer.run.startTime)).toBe(startAt);
    expect(answer?.run?.deadlineTime).toBeUndefined();
    const policy = ConcurrencyPolicy.REFUSE;
    expect(answer?.run?.concurrency).toMatchObject({ ...concurrency, policy });
    expect(answer?.steps.map(({ state }) => state)).toEqual([StepState.BLOCKED, StepState.BLOCKED]);
  });

  test("a run that stops: blocked steps are cancelled, and an undo shows how it goes", async () => {
    world.reads.runDetail = async () =>
      runDetail({
        run: runRecord({ state: "ESCALATED", reason: "STEP_FAILED", deadlineAt: null }),
        state: {
          kind: "ESCALATED",
          from: { kind: "COMPENSATING", stopReason: { reason: "STEP_FAILED", undo: true } },
        },
        steps: new Map([
          [
            0,
            step({
              forward: { kind: "SUCCEEDED" },
              undo: { kind: "FAILED" },
              fence: 2,
              result: { fence: 1, kind: "perform", n: 0 },
            }),
          ],
        ]),
        attempts: [
          attempt({}),
          attempt({ kind: "compensate", fence: 2, outcome: failed("gone", "permanent") }),
          attempt({ kind: "late", fence: 2 }),
        ],
        interventions: [
          {
            runId: RUN_ID,
            step: 0,
            fence: 2,
            rule: "lease",
            n: 0,
            saw: "silence",
            did: "retry",
            dueAt: 1_700_000_000_000,
            actedAt: 1_700_000_000_040,
            node: "node-1",
            partition: 42,
            epoch: 7,
          },
        ],
        escalations: [
          {
            n: 1,
            step: 0,
            reason: "undo-failed",
            code: "",
            message: "gone",
            openedAt: 1_700_000_000_000,
            closedAt: null,
            closedBy: null,
            claim: null,
            deadlineAt: null,
            answer: null,
          },
        ],
      });
    const { answer } = await grpc.unary(getRun, all);
    expect(answer?.run).toMatchObject({ state: RunState.ESCALATED });
    expect(answer?.run?.deadlineTime).toBeUndefined();
    expect(answer?.steps.map(({ state, undoState }) => [state, undoState])).toEqual([
      [StepState.SUCCEEDED, UndoState.FAILED],
      [StepState.CANCELLED, UndoState.NONE],
    ]);
    expect(answer?.steps[0]?.error).toMatchObject({
      code: "gone",
      failureClass: FailureClass.PERMANENT,
    });
    expect(answer?.attempts[2]).toMatchObject({ late: true, kind: TaskKind.COMPENSATE });
    expect(answer?.interventions[0]).toMatchObject({
      stepId: "flight",
      rule: "lease",
      saw: "silence",
      supervisor: "node-1",
      partition: 42,
      epoch: 7n,
      attempt: 1,
    });
    expect(answer?.escalations[0]).toMatchObject({
      id: "1",
      stepId: "flight",
      runId: RUN_ID,
      workflow: "holiday",
      answers: ["retry", "succeed", "fail"],
    });
  });
});

describe("WatchRun", () => {
  test("sends the state, then each change, and the end", async () => {
    let now = runDetail();
    let change = signal();
    world.reads.runDetail = async () => now;
    world.scheduler.runChange = () => change.promise;
    const watch = grpc.stream(watchRun, { run });
    await watch.count(1);
    const first = change;
    change = signal();
    now = runDetail({
      run: runRecord({ state: "STOPPING", stateVersion: 2, reason: "TIMED_OUT" }),
    });
    first.resolve();
    await watch.count(2);
    now = runDetail({ run: ended });
    change.resolve();
    expect((await watch.done).code).toBe(0);
    expect(watch.messages.map(({ run: state }) => state?.state)).toEqual([
      RunState.RUNNING,
      RunState.STOPPING,
      RunState.COMPLETED,
    ]);
  });

  test("does not send again what the caller has seen, unless it is final", async () => {
    const known = grpc.stream(watchRun, { run, afterVersion: 1n });
    const waiting = signal();
    world.scheduler.runChange = async (_run, version) => {
      expect(version).toBe(1);
      waiting.resolve();
      world.reads.runDetail = async () => runDetail({ run: ended });
    };
    await waiting.promise;
    await known.done;
    expect(known.messages.map(({ run: state }) => state?.version)).toEqual([5n]);
    const final = grpc.stream(watchRun, { run, afterVersion: 5n });
    await final.done;
    expect(final.messages).toHaveLength(1);
  });

  test("sees a grant, which moves no version, with the next poll tick", async () => {
    const ready = step({
      forward: {
        kind: "READY",
        task: "perform",
        fence: 1,
        attempt: 1,
        readyAt: 0,
        until: null,
        avoid: null,
        alarms: 0,
        wakeAt: 0,
      },
    });
    let now = runDetail({ steps: new Map([[0, ready]]) });
    world.reads.runDetail = async () => now;
    let parked = signal();
    const { runChange } = world.scheduler;
    world.scheduler.runChange = (...given) => {
      parked.resolve();
      return runChange(...given);
    };
    const watch = grpc.stream(watchRun, { run });
    await watch.count(1);
    await parked.promise;
    parked = signal();
    clock.tick();
    await parked.promise;
    now = runDetail({ steps: new Map([[0, step({ forward: lease })]]) });
    clock.tick();
    await watch.count(2);
    expect(watch.messages.map(({ steps: [first] }) => first?.state)).toEqual([
      StepState.READY,
      StepState.LEASED,
    ]);
    watch.cancel();
    await watch.done;
  });
});

describe("WaitRun", () => {
  test("answers as soon as the run has ended", async () => {
    world.scheduler.runChange = async () => {
      world.reads.findRun = async () => ended;
    };
    const { answer } = await grpc.unary(waitRun, { run });
    expect(answer).toMatchObject({ ended: true, run: { state: RunState.COMPLETED } });
    expect(answer?.run?.input?.body.value).toBe('{"to":"Rome"}');
  });

  test("answers that the run is open when the wait is over", async () => {
    const parked = signal();
    const { runChange } = world.scheduler;
    world.scheduler.runChange = (...given) => {
      parked.resolve();
      return runChange(...given);
    };
    const wait = grpc.unary(waitRun, { run, wait: { seconds: 10n } });
    await parked.promise;
    clock.tick();
    expect(await wait).toMatchObject({ code: 0, answer: { ended: false } });
  });

  test("with a wait of 0 polls once", async () => {
    world.scheduler.runChange = () => Promise.reject(new Error("waited"));
    const { answer } = await grpc.unary(waitRun, { run, wait: {} });
    expect(answer).toMatchObject({ ended: false });
  });
});
