/** Any state of a run and of its steps, as data that fast-check can shrink. */
import fc from "fast-check";
import {
  FAILURE_EFFECTS,
  type Ready,
  type Run,
  type RunState,
  type Stage,
  type Step,
  type Undo,
} from "../../server/core/model/model.ts";

export const SESSION = "5e551011".repeat(4);
export const TIME = fc.integer({ min: 1_700_000_000_000, max: 4_000_000_000_000 });
/** Never over, so that what is ready may be claimed. */
const FUTURE = fc.integer({ min: 3_900_000_000_000, max: 4_000_000_000_000 });
export const COUNT = fc.nat({ max: 500 });
export const orNull = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });

const stopReason = fc.record({
  reason: fc.constantFrom(
    "STEP_FAILED" as const,
    "TIMED_OUT" as const,
    "CANCELLED_BY_USER" as const,
  ),
  undo: fc.boolean(),
});
export const ends = fc.record({
  kind: fc.constantFrom(...(["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"] as const)),
  reason: fc.constantFrom(...(["DONE", "STEP_FAILED", "TIMED_OUT", "CANCELLED_BY_USER"] as const)),
});
const suspended = { leftMs: orNull(COUNT), since: TIME };
export const kind = <Kind extends string>(of: Kind) => fc.constant(of);
const laterStages = [
  fc.record({ kind: kind("STOPPING"), stopReason, settleUntil: orNull(TIME) }),
  fc.record({ kind: kind("COMPENSATING"), stopReason }),
  fc.record({ kind: kind("FINISHING"), end: ends }),
] as const;
const stages: fc.Arbitrary<Stage> = fc.oneof(
  fc.record({ kind: kind("RUNNING"), ...suspended }),
  ...laterStages,
);
const runStates: fc.Arbitrary<RunState> = fc.oneof(
  fc.record({
    kind: kind("PENDING"),
    on: fc.constantFrom("start" as const, "permit" as const),
    until: TIME,
  }),
  fc.record({ kind: kind("RUNNING"), deadline: orNull(TIME) }),
  fc.record({ kind: kind("PAUSED"), ...suspended, stopReason: orNull(stopReason) }),
  fc.record({ kind: kind("ESCALATED"), from: stages }),
  ...laterStages,
);
export const openRuns: fc.Arbitrary<Omit<Run, "version">> = fc.record({
  state: runStates,
  stepsLeft: COUNT,
  alwaysLeft: COUNT,
  moving: COUNT,
  waits: fc.constantFrom({}, { retry: 2 }, { approval: 1, held: 3 }),
  asking: COUNT,
  undosLeft: COUNT,
  undone: COUNT,
  warnings: COUNT,
  failure: orNull(
    fc.record({
      id: fc.constantFrom("hotel", "load[3]"),
      effect: fc.constantFrom(...FAILURE_EFFECTS),
      code: fc.constantFrom("busy", "sold-out"),
      message: fc.string({ maxLength: 20 }),
      attempts: COUNT,
    }),
  ),
  pivoted: fc.boolean(),
  keyed: fc.boolean(),
  // Whose child a run is never changes (contract/children.ts).
  parent: fc.constant(null),
  escalations: COUNT,
});

const tasks = fc.constantFrom("perform" as const, "verify" as const);
const undoTasks = fc.constantFrom("compensate" as const, "verify" as const);

export function movings(task: fc.Arbitrary<"perform" | "compensate" | "verify">) {
  const ready: fc.Arbitrary<Ready> = fc.record({
    kind: kind("READY"),
    task,
    fence: fc.nat(),
    attempt: COUNT,
    readyAt: TIME,
    until: orNull(FUTURE),
    alarms: COUNT,
    wakeAt: TIME,
    avoid: orNull(fc.record({ session: fc.constant(SESSION), until: TIME })),
  });
  return fc.oneof(
    { weight: 4, arbitrary: ready },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: kind("BACKOFF"),
        task,
        wakeAt: TIME,
        cause: fc.constantFrom("retry" as const, "again" as const, "settle" as const),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: kind("WAITING"),
        wakeAt: TIME,
        on: fc.constantFrom(...(["timer", "signal", "approval", "callback", "child"] as const)),
      }),
    },
    fc.record({ kind: kind("HELD"), task }),
  );
}

export const still = <Kind extends string>(...kinds: readonly Kind[]) =>
  fc.constantFrom(...kinds).map((of) => ({ kind: of }));
const blocked = fc.record({ kind: kind("BLOCKED"), waitingFor: COUNT, ok: COUNT, skipped: COUNT });
const stillForward = fc.oneof(
  blocked,
  still("ESCALATED", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"),
);
const stillUndo = still("NONE", "PENDING", "DONE", "FAILED");
/** At most one of the two moves. */
const sides = fc.oneof(
  fc.tuple(movings(tasks), stillUndo),
  fc.tuple(stillForward, fc.oneof(stillUndo, movings(undoTasks))),
) as fc.Arbitrary<readonly [Step["forward"], Undo]>;

const strategies = fc.array(
  fc.record({
    planned: fc.nat({ max: 2 }),
    changed: fc.boolean(),
    effectStatus: fc.constantFrom(
      ...(["NONE", "ATTEMPTED", "UNSETTLED", "LINGERING", "MADE", "UNDONE", "CLEARED"] as const),
    ),
  }),
  { minLength: 1, maxLength: 3 },
);
const unknownOutcomes = fc.record({
  code: fc.string(),
  message: fc.string(),
  permanent: fc.boolean(),
  unknown: fc.boolean(),
  retryAfterMs: orNull(COUNT),
  lostBy: orNull(fc.constant("s1")),
  tries: COUNT,
});
const results = fc.record({
  kind: fc.constantFrom(...(["perform", "verify", "answer", "engine"] as const)),
  fence: COUNT,
  n: COUNT,
});

const items = fc.record({
  total: fc.nat({ max: 10_000 }),
  started: COUNT,
  open: COUNT,
  succeeded: COUNT,
  failed: COUNT,
  skipped: COUNT,
  undoFrom: COUNT,
  undosMoving: COUNT,
  undosLeft: COUNT,
});

export function stepAt(no: number): fc.Arbitrary<Step> {
  const rest = fc.record({
    strategies,
    fence: fc.nat(),
    attempt: COUNT,
    lost: COUNT,
    verifies: COUNT,
    tries: fc.array(COUNT, { maxLength: 3 }),
    unknownOutcome: orNull(unknownOutcomes),
    firstReadyAt: orNull(TIME),
    settleUntil: orNull(TIME),
    result: orNull(results),
    items: orNull(items),
  });
  return fc.tuple(sides, rest).map(([[forward, undo], of]) => ({ no, forward, undo, ...of }));
}
