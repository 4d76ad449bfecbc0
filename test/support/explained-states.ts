/**
 * Each state that a step can wait in, by what its run does, with the fields that explain it. Which
 * there are is held against the state table (unit/core/explain.test.ts) and against random runs
 * (property/explain.test.ts).
 */
import type {
  ApprovalExpiry,
  SignalExpiry,
  StepRules,
} from "../../server/core/definition/definition.ts";
import type { Action, NextKind, WaitsFor } from "../../server/core/explain/explanation.ts";
import type { Forward, RunState, Undo } from "../../server/core/model/model.ts";
import { again, broken, deferred, failure, success, unknown } from "./core-outcomes.ts";
import {
  createWorld,
  lose,
  type StepOptions,
  succeed,
  undoneBy,
  type World,
  workflow,
} from "./core-world.ts";

type Side = "forward" | "undo";
type StepState = Forward["kind"] | Undo["kind"];

/** A kind, and what of its fields matters here. */
type SomeFields<Of extends { readonly kind: string }> = Of extends unknown
  ? Pick<Of, "kind"> & Partial<Of>
  : never;

export interface ExplainedState {
  readonly pair: string;
  readonly run: RunState["kind"];
  readonly side: Side;
  readonly state: StepState;
  /** The step that is explained. */
  readonly step: string;
  readonly make: () => World;
  readonly waitsFor: SomeFields<WaitsFor>;
  readonly next: NextKind | null;
  /** What a person can do about the step. */
  readonly actions: readonly Action["kind"][];
}

/** As `PAUSED: forward WAITING`. */
export function pairOf(run: RunState["kind"], side: Side, state: StepState): string {
  return `${run}: ${side} ${state}`;
}

/** The step, how the state comes to be, and its explanation. */
type Row = readonly [
  state: StepState,
  step: string,
  make: () => World,
  waitsFor: ExplainedState["waitsFor"],
  next: NextKind | null,
  ...actions: readonly Action["kind"][],
];

function rows(run: RunState["kind"], side: Side, all: readonly Row[]): readonly ExplainedState[] {
  return all.map(([state, step, make, waitsFor, next, ...actions]) => {
    const pair = pairOf(run, side, state);
    return { pair, run, side, state, step, make, waitsFor, next, actions };
  });
}

function world(steps: Readonly<Record<string, StepOptions>>, then: (world: World) => void = idle) {
  return (): World => {
    const made = createWorld(workflow(steps));
    then(made);
    return made;
  };
}

const idle = (): void => undefined;

const claimed = (made: World): void => void made.claim("a");
const pastHalf = (made: World): void => {
  made.claim("a");
  made.advance(2_500);
  made.fire("a");
};
const busy = (made: World): void => void made.report(made.claim("a"), failure("busy"));
const fails = (made: World): void => void made.report(made.claim("a"), broken);
const loses = (made: World): void => void lose(made, "a");
const defers = (made: World): void => void made.report(made.claim("a"), deferred);
const verifiable: Pick<StepRules, "effects" | "verify"> = {
  effects: "verifiable",
  verify: { task: "find-a" },
};
const asking: StepOptions = { onFailure: "escalate" };
const overrun = (heartbeats: boolean) => (made: World) => {
  made.claim("a");
  made.advance(2_000);
  made.heartbeat();
  made.advance(1_000);
  made.fire("a");
  if (heartbeats) made.heartbeat();
};

/** `a` and `b` succeed side by side or one after the other, and are undone when `c` fails. */
const undoing = (needs: readonly string[], then: (made: World) => void = idle) =>
  world(
    {
      a: { compensate: undoneBy("undo-a") },
      b: { needs, compensate: undoneBy("undo-b") },
      c: { needs: ["b"] },
      z: { always: true },
    },
    (made) => {
      succeed(made, "a", "b");
      made.report(made.claim("c"), broken);
      then(made);
    },
  );

/** `b` fails for good while it is unknown whether `a` took effect. */
const verifying = (then: (made: World) => void = idle) =>
  world(
    { a: { ...verifiable, compensate: undoneBy("undo-a") }, b: {}, z: { always: true } },
    (made) => {
      const held = made.claim("a");
      made.report(made.claim("b"), broken);
      made.report(held, unknown());
      then(made);
    },
  );

/** Its `always` step `a` runs last. */
const finishing = (then: (made: World) => void = idle) =>
  world(
    { w: {}, a: { always: true }, z: { always: true }, y: { always: true, needs: ["z"] } },
    (made) => {
      succeed(made, "w");
      then(made);
    },
  );

const paused = (steps: Readonly<Record<string, StepOptions>>, then: (made: World) => void = idle) =>
  world(steps, (made) => {
    then(made);
    made.pause();
  });

const asksAgain = (made: World): void => void made.report(made.claim("a"), again());
const approvedOnce = (made: World): void =>
  void made.decide("a", "ann", true, { roles: ["finance"] });
const endsUnknown = (made: World): void => void made.report(made.claim("a"), unknown());
const undoFails = (made: World): void => void made.report(made.claim("b"), broken);
const stopsBoth = (made: World): void => {
  made.claim("b");
  fails(made);
};
const endsUnknownOnce = (made: World): void => {
  const held = made.claim("a");
  made.claim("c");
  made.report(made.claim("b"), broken);
  made.report(held, unknown());
};

const signal = (onExpiry: SignalExpiry = "escalate"): StepOptions => ({
  kind: "signal",
  name: "paid",
  withinMs: 5_000,
  onExpiry,
});
const approval = (onExpiry: ApprovalExpiry = "escalate"): StepOptions => ({
  kind: "approval",
  approvers: ["finance"],
  need: 2,
  withinMs: 5_000,
  onExpiry,
});

const MAP = { kind: "map", task: "t", over: "3", concurrency: 2 } as const;
const WAVES = { ...MAP, waves: { size: 1, pauseMs: 5_000 } } as const;

const firstItem = (made: World): void => succeed(made, "a[0]");
const itemsFail = (made: World): void => {
  for (const item of ["a[0]", "a[1]"]) made.report(made.claim(item), broken);
};
const fireMap = (made: World): void => made.fire("a");
const itemUndosFail = (made: World): void => {
  fireMap(made);
  itemsFail(made);
};

/** Its two items have succeeded when `b` fails. */
const undoingMap = (then: (made: World) => void = idle) =>
  world(
    { a: { ...MAP, compensate: undoneBy("undo-t"), over: "2" }, b: { needs: ["a"] } },
    (made) => {
      succeed(made, "a[0]", "a[1]");
      fireMap(made);
      made.report(made.claim("b"), broken);
      then(made);
    },
  );

const finishingMap = world({ w: {}, a: { ...MAP, always: true } }, (made) => succeed(made, "w"));
const child: StepOptions = { kind: "run", workflow: "other", timeouts: { totalMs: 5_000 } };
const late = (made: World): void => made.fireNext();
const stops = (made: World): void => void made.cancel(true);

const TO_POLL = {
  kind: "agent-to-poll",
  task: "perform",
  queue: "default",
  polled: false,
} as const;
const WORKING = { kind: "agent-working", task: "perform", agentId: "agent of s1" } as const;
const TO_STOP = { kind: "agent-to-stop", task: "perform", agentId: "agent of s1" } as const;
const TO_UNDO = { ...TO_POLL, task: "compensate" } as const;
const SETTLING = { kind: "settle", task: "verify" } as const;
const CALLBACK = { kind: "callback", agentId: "agent of s1" } as const;
const ASKED = { kind: "person" } as const;
const ONE_OF_TWO = { kind: "approval", approvals: 1, need: 2, approvers: ["finance"] } as const;
const FALLBACK = { onPickup: "fallback", fallback: [{ queue: "other" }] } as const;
const SHORT = { timeouts: { attemptMs: 3_000, heartbeatMs: 4_000 } } as const;

const TWO_WAYS: StepOptions = {
  retry: [{ attempts: 1 }],
  fallback: [{ queue: "other" }],
  compensate: undoneBy("undo-a"),
};

const POLL = "start-agent";

const whileRunning = rows("RUNNING", "forward", [
  ["BLOCKED", "b", world({ a: {}, b: { needs: ["a"] } }), { kind: "steps", steps: [0] }, null],
  ["BLOCKED", "z", world({ a: {}, z: { always: true } }), { kind: "end-of-run" }, null],
  ["READY", "a", world({ a: { task: "t" } }), { ...TO_POLL, taskName: "t" }, "alarm", POLL],
  ["READY", "a", world({ a: { queue: "q" } }), { ...TO_POLL, queue: "q" }, "alarm", POLL],
  ["READY", "a", world({ a: { onPickup: "escalate" } }), TO_POLL, "escalate", POLL],
  ["READY", "a", world({ a: FALLBACK }), TO_POLL, "fall-back", POLL],
  ["READY", "a", world({ a: { timeouts: { totalMs: 400 } } }), TO_POLL, "fail", POLL],
  ["LEASED", "a", world({ a: {} }, claimed), WORKING, "check-lease"],
  ["LEASED", "a", world({ a: SHORT }, pastHalf), WORKING, "tell-to-stop"],
  ["LEASED", "a", world({ a: SHORT }, overrun(false)), TO_STOP, "check-lease"],
  ["LEASED", "a", world({ a: SHORT }, overrun(true)), { ...TO_STOP, informed: true }, "end-lease"],
  ["BACKOFF", "a", world({ a: {} }, busy), { kind: "backoff", task: "perform" }, "make-ready"],
  ["BACKOFF", "a", world({ a: {} }, asksAgain), { kind: "again", task: "perform" }, "make-ready"],
  ["BACKOFF", "a", world({ a: verifiable }, loses), SETTLING, "make-ready"],
  ["WAITING", "a", world({ a: { kind: "wait", forMs: 9_000 } }), { kind: "timer" }, "succeed"],
  ["WAITING", "a", world({ a: signal() }), { kind: "signal", name: "paid" }, "escalate", "signal"],
  ["WAITING", "a", world({ a: signal("skip") }), { kind: "signal" }, "skip", "signal"],
  ["WAITING", "a", world({ a: signal("fail") }), { kind: "signal" }, "fail", "signal"],
  ["WAITING", "a", world({ a: approval() }, approvedOnce), ONE_OF_TWO, "escalate", "decide"],
  ["WAITING", "a", world({ a: approval("reject") }), { kind: "approval" }, "fail", "decide"],
  ["WAITING", "a", world({ a: approval("approve") }), { kind: "approval" }, "succeed", "decide"],
  ["WAITING", "a", world({ a: {} }, defers), CALLBACK, "count-as-unknown", "complete-deferred"],
  ["WAITING", "a", world({ a: child }), { kind: "child", stopping: false }, "stop-child"],
  ["WAITING", "a", world({ a: child }, late), { kind: "child", stopping: true }, "stop-child"],
  ["ESCALATED", "a", world({ a: asking, b: {} }, fails), ASKED, null, "answer"],
  ["MAPPING", "a", world({ a: MAP }), { kind: "items", total: 3, started: 2, open: 2 }, null],
  ["READY", "a[1]", world({ a: MAP }), TO_POLL, "alarm", POLL],
  ["WAITING", "a", world({ a: { ...MAP, over: "0" } }), { kind: "items" }, "check-again"],
  ["WAITING", "a", world({ a: WAVES }, firstItem), { kind: "timer" }, "next-wave"],
]);

const whilePaused = rows("PAUSED", "forward", [
  ["BLOCKED", "b", paused({ a: {}, b: { needs: ["a"] } }), { kind: "steps", steps: [0] }, null],
  ["HELD", "a", paused({ a: {} }), { kind: "resume", task: "perform" }, null, "resume"],
  ["LEASED", "a", paused({ a: {} }, claimed), WORKING, "check-lease"],
  ["BACKOFF", "a", paused({ a: {} }, busy), { kind: "backoff" }, "make-ready"],
  ["WAITING", "a", paused({ a: signal() }), { kind: "signal" }, "escalate", "signal"],
  ["ESCALATED", "a", paused({ a: asking }, fails), ASKED, null, "answer"],
  ["MAPPING", "a", paused({ a: MAP }), { kind: "items", open: 2 }, null],
]);

const whileStopping = rows("STOPPING", "forward", [
  ["BLOCKED", "z", verifying(), { kind: "end-of-run" }, null],
  ["READY", "a", verifying(), { ...TO_POLL, task: "verify", taskName: "find-a" }, "alarm", POLL],
  ["LEASED", "a", verifying(claimed), { ...WORKING, task: "verify" }, "check-lease"],
  ["LEASED", "b", world({ a: {}, b: {} }, stopsBoth), { ...TO_STOP, cause: "run" }, "check-lease"],
  ["BACKOFF", "a", verifying(endsUnknown), { kind: "backoff", task: "verify" }, "make-ready"],
  ["WAITING", "a", world({ a: child }, stops), { kind: "child", stopping: true }, "stop-child"],
  [
    "ESCALATED",
    "a",
    world({ a: { effects: "once" }, b: {}, c: {} }, endsUnknownOnce),
    ASKED,
    null,
    "answer",
  ],
]);

const whileUndoing = [
  ...rows("COMPENSATING", "forward", [["BLOCKED", "z", undoing([]), { kind: "end-of-run" }, null]]),
  ...rows("COMPENSATING", "undo", [
    ["PENDING", "a", undoing(["a"]), { kind: "steps", steps: [1] }, null],
    ["READY", "b", undoing(["a"]), { ...TO_UNDO, taskName: "undo-b" }, "alarm", POLL],
    ["LEASED", "a", undoing([], claimed), { ...WORKING, task: "compensate" }, "check-lease"],
    ["BACKOFF", "a", undoing([], busy), { kind: "backoff", task: "compensate" }, "make-ready"],
    ["FAILED", "a", undoing([], fails), { kind: "person", reason: "undo-failed" }, null, "answer"],
    ["WAITING", "a", undoingMap(), { kind: "items", started: 2 }, "check-again"],
    ["MAPPING", "a", undoingMap(fireMap), { kind: "items", started: 2 }, null],
  ]),
];

/** A strategy with an effect is left for the next one. */
const leaving = (then: (made: World) => void = idle) =>
  world({ a: TWO_WAYS, b: {} }, (made) => {
    made.report(made.claim("a"), unknown());
    then(made);
  });
const leavingPaused = (then: (made: World) => void = idle) =>
  paused({ a: TWO_WAYS, b: {} }, (made) => {
    made.report(made.claim("a"), unknown());
    then(made);
  });
const undoGivenUp = (made: World): void => {
  made.report(made.claim("b"), success());
  fails(made);
};
const stopsWhileUndoing = (made: World): void => {
  claimed(made);
  stops(made);
};

const whileLeaving = [
  ...rows("RUNNING", "undo", [
    ["READY", "a", leaving(), { ...TO_UNDO, taskName: "undo-a" }, "alarm", POLL],
    ["LEASED", "a", leaving(claimed), { ...WORKING, task: "compensate" }, "check-lease"],
    ["BACKOFF", "a", leaving(busy), { kind: "backoff", task: "compensate" }, "make-ready"],
    ["FAILED", "a", leaving(fails), { kind: "person", reason: "undo-failed" }, null, "answer"],
  ]),
  ...rows("PAUSED", "undo", [
    ["HELD", "a", leavingPaused(), { kind: "resume", task: "compensate" }, null, "resume"],
    ["LEASED", "a", leavingPaused(claimed), { ...WORKING, task: "compensate" }, "check-lease"],
    ["BACKOFF", "a", leavingPaused(busy), { kind: "backoff" }, "make-ready"],
    ["FAILED", "a", leavingPaused(fails), ASKED, null, "answer"],
  ]),
  ...rows("STOPPING", "undo", [
    ["LEASED", "a", leaving(stopsWhileUndoing), { ...WORKING, task: "compensate" }, "check-lease"],
  ]),
  ...rows("ESCALATED", "undo", [["FAILED", "a", leaving(undoGivenUp), ASKED, null, "answer"]]),
];

const whileFinishing = rows("FINISHING", "forward", [
  ["MAPPING", "a", finishingMap, { kind: "items", total: 3 }, null],
  ["BLOCKED", "y", finishing(), { kind: "steps", steps: [2] }, null],
  ["READY", "a", finishing(), TO_POLL, "alarm", POLL],
  ["LEASED", "a", finishing(claimed), WORKING, "check-lease"],
  ["BACKOFF", "a", finishing(busy), { kind: "backoff" }, "make-ready"],
  ["WAITING", "a", finishing(defers), CALLBACK, "count-as-unknown", "complete-deferred"],
  ["ESCALATED", "a", finishing(fails), ASKED, null, "answer"],
]);

const whileEscalated = [
  ...rows("ESCALATED", "forward", [
    [
      "BLOCKED",
      "b",
      world({ a: asking, b: { needs: ["a"] } }, fails),
      { kind: "steps", steps: [0] },
      null,
    ],
    [
      "BLOCKED",
      "z",
      world({ a: asking, z: { always: true } }, fails),
      { kind: "end-of-run" },
      null,
    ],
    ["ESCALATED", "a", world({ a: asking }, fails), ASKED, null, "answer"],
    ["MAPPING", "a", world({ a: { ...MAP, ...asking } }, itemsFail), { kind: "items" }, null],
  ]),
  ...rows("ESCALATED", "undo", [
    ["MAPPING", "a", undoingMap(itemUndosFail), { kind: "items" }, null],
    ["PENDING", "a", undoing(["a"], undoFails), { kind: "steps", steps: [1] }, null],
    [
      "FAILED",
      "b",
      undoing(["a"], undoFails),
      { kind: "person", reason: "undo-failed" },
      null,
      "answer",
    ],
  ]),
];

export const EXPLAINED: readonly ExplainedState[] = [
  ...whileRunning,
  ...whilePaused,
  ...whileStopping,
  ...whileLeaving,
  ...whileUndoing,
  ...whileFinishing,
  ...whileEscalated,
];
