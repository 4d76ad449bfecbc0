/** The public state of a step, from its state and that of its run. */
import { describe, expect, test } from "vitest";
import type {
  Forward,
  Ready,
  RunState,
  Step,
  StopReason,
  Undo,
} from "../../../server/core/model/model.ts";
import { PUBLIC_STATES, publicStep } from "../../../server/core/model/public-state.ts";

const running: RunState = { kind: "RUNNING", deadline: 9 };
const stopReason: StopReason = { reason: "STEP_FAILED", undo: true };
const blocked: Forward = { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 };

const ready: Ready = {
  kind: "READY",
  task: "perform",
  fence: 1,
  attempt: 1,
  readyAt: 0,
  until: null,
  avoid: null,
  alarms: 0,
  wakeAt: 9,
};

function step(forward: Forward, undo: Undo = { kind: "NONE" }): Step {
  return {
    no: 0,
    forward,
    undo,
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
  };
}

const stateOf = (forward: Forward, run: RunState = running, always = false) =>
  publicStep(step(forward), run, always).state;

describe("a step that moves", () => {
  test("is displayed as what it does", () => {
    expect(stateOf({ kind: "BACKOFF", task: "perform", cause: "retry", wakeAt: 1 })).toBe(
      "BACKOFF",
    );
    expect(stateOf({ kind: "WAITING", on: "signal", wakeAt: 1 })).toBe("WAITING");
  });

  test("is VERIFYING however far its verify is", () => {
    expect(stateOf({ kind: "BACKOFF", task: "verify", cause: "settle", wakeAt: 1 })).toBe(
      "VERIFYING",
    );
    expect(stateOf({ kind: "HELD", task: "verify" })).toBe("VERIFYING");
  });

  test("is READY while its run is held", () => {
    expect(stateOf({ kind: "HELD", task: "perform" })).toBe("READY");
  });
});

test("a query for steps by their public state finds each where it is stored", () => {
  const wakeAt = 1;
  const tasks = ["perform", "verify"] as const;
  const forwards: readonly Forward[] = [
    blocked,
    ...(
      ["MAPPING", "UNDOING", "ESCALATED", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"] as const
    ).map((kind) => ({ kind })),
    ...tasks.flatMap((task): Forward[] => [
      { kind: "HELD", task },
      { kind: "BACKOFF", task, cause: "retry", wakeAt },
      { ...ready, task },
    ]),
    { kind: "WAITING", on: "signal", wakeAt },
  ];
  const runs: readonly RunState[] = [running, { kind: "STOPPING", stopReason, settleUntil: null }];
  for (const run of runs)
    for (const forward of forwards)
      expect(PUBLIC_STATES[stateOf(forward, run)]).toContain(forward.kind);
});

describe("a step that has not started", () => {
  const runStates: [string, RunState, boolean][] = [
    ["RUNNING", running, false],
    ["PAUSED", { kind: "PAUSED", leftMs: 1, since: 0, stopReason: null }, false],
    [
      "PAUSED, and will stop when it is resumed",
      { kind: "PAUSED", leftMs: 1, since: 0, stopReason },
      true,
    ],
    ["STOPPING", { kind: "STOPPING", stopReason, settleUntil: null }, true],
    ["COMPENSATING", { kind: "COMPENSATING", stopReason }, true],
    ["FINISHING", { kind: "FINISHING", end: { kind: "FAILED", reason: "STEP_FAILED" } }, true],
    [
      "ESCALATED from RUNNING",
      { kind: "ESCALATED", from: { kind: "RUNNING", leftMs: 1, since: 0 } },
      false,
    ],
    [
      "ESCALATED from COMPENSATING",
      { kind: "ESCALATED", from: { kind: "COMPENSATING", stopReason } },
      true,
    ],
  ];

  test.each(runStates)("in a run that is %s", (_, run, never) => {
    expect(stateOf(blocked, run)).toBe(never ? "CANCELLED" : "BLOCKED");
    expect(publicStep(undefined, run, false)).toEqual({
      state: never ? "CANCELLED" : "BLOCKED",
      undo: "NONE",
    });
  });

  test.each(runStates)("waits for its turn if it runs last, in a run that is %s", (_, run) => {
    expect(stateOf(blocked, run, true)).toBe("BLOCKED");
  });

  test("will not begin any more once the run has ended", () => {
    const ended: RunState = { kind: "COMPENSATED", reason: "STEP_FAILED" };
    expect(stateOf(blocked, ended)).toBe("CANCELLED");
    expect(stateOf(blocked, ended, true)).toBe("CANCELLED");
  });
});

test("the undo of a step is ACTIVE while it moves, and displayed beside the forward state", () => {
  const undoOf = (undo: Undo) => publicStep(step({ kind: "SUCCEEDED" }, undo), running, false);
  expect(undoOf({ kind: "HELD", task: "compensate" })).toEqual({
    state: "SUCCEEDED",
    undo: "ACTIVE",
  });
  for (const kind of ["NONE", "PENDING", "DONE", "FAILED"] as const)
    expect(undoOf({ kind }).undo).toBe(kind);
});
