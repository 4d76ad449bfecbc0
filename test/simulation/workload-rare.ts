// Workflows for transitions that random workflows hardly ever take: short ones, each with a few
// steps that all aim at one transition.
import type {
  CompensateDefinition,
  Definition,
  StepDefinition,
} from "../../server/core/definition/definition.ts";
import type { Chance } from "../../simulator/chance.ts";
import {
  alwaysSteps,
  FIND_TASK,
  failing,
  json,
  NOWHERE,
  POISON_TASK,
  QUICK,
  randomTimeouts,
  randomUndo,
  UNDO_TASK,
  UNKNOWN_OUTCOME_TASK,
  waitingWork,
} from "./workload.ts";
import { CHILD_MAKERS } from "./workload-children.ts";
import { MAP_MAKERS } from "./workload-maps.ts";
import { standardDefinition } from "./workload-standard.ts";
import { fitted } from "./workload-times.ts";

type Maker = (chance: Chance, canary: string) => readonly StepDefinition[];

/** A run in which something is lost or unknown, and must not be repeated, and cannot be undone. */
const unknowable: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "vague",
    timeouts: QUICK,
    input: json({ canary }),
    ...(chance.happens(0.5)
      ? { effects: "once" as const }
      : {
          effects: "verifiable" as const,
          verify: { task: "vague", retry: [{ attempts: 1 }], timeouts: QUICK },
        }),
    onFailure: "compensate",
  },
  {
    id: "s1",
    needs: [],
    task: "book",
    timeouts: QUICK,
    compensate: { task: UNDO_TASK },
  },
  ...(chance.happens(0.5) ? [{ ...failing("s2"), needs: [] }] : []),
  ...(chance.happens(0.8) ? alwaysSteps(chance, 3, canary) : []),
];

/** An undo that fails for good, with always steps behind it. */
const stuckUndo: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "book",
    timeouts: QUICK,
    input: json({ canary }),
    compensate: {
      task: chance.pick([POISON_TASK, "slow-undo", "vague-undo", "vague-undo"]),
      // An unknown is final, and a failure that is reported afterwards is not.
      retry: [
        { on: ["drover.unknown"], attempts: chance.pick([1, 1, 3]) },
        { attempts: 3, initialMs: 2_000, jitter: 0 },
      ],
      timeouts: { ...QUICK, settleMs: 100 },
    },
  },
  { ...failing("s1"), needs: ["s0"] },
  ...(chance.happens(0.6) ? alwaysSteps(chance, 2, canary) : []),
];

/**
 * A strategy that may have left an effect is undone before the next one, by slow agents that fail
 * or report late; the run is long enough to be paused meanwhile.
 */
const leftStrategy: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: chance.pick(["vague", "silent"]),
    input: json({ canary }),
    timeouts: chance.happens(0.3) ? { ...QUICK, totalMs: chance.between(600, 2_000) } : QUICK,
    retry: [{ attempts: chance.pick([1, 1, 3]), initialMs: 1_500 }],
    fallback: chance.pick([
      [{ task: "book" }],
      [{ task: "book" }],
      [{ input: json({ first: `\${input.list[0]}` }) }],
    ]),
    ...chance.pick([{}, {}, VERIFIABLE]),
    onFailure: chance.pick(["compensate", "continue"]),
    compensate: { ...hardUndo(chance), when: chance.pick(["attempted", "finished"]) },
  },
  chance.happens(0.3)
    ? { ...failing("s1"), needs: ["s0"] }
    : { id: "s1", needs: [], kind: "wait", forMs: chance.between(6_000, 12_000) },
];

/** The first try fails for good by a report that comes while the step waits to be tried again. */
const leftByLateReport: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "silent",
    input: json({ canary }),
    timeouts: QUICK,
    retry: [{ attempts: 3, initialMs: 3_000, jitter: 0 }],
    fallback: [{ task: "book" }],
    onFailure: "continue",
    compensate: { task: UNDO_TASK, when: "attempted" },
  },
  { id: "s1", needs: [], kind: "wait", forMs: chance.between(6_000, 12_000) },
];

/** An undo between two strategies of a step that must run once, long enough to be paused. */
const leftOnce: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: chance.pick(["silent", "left", "left"]),
    input: json({ canary }),
    effects: "once",
    retry: [{ attempts: 1 }],
    fallback: [{ task: "book" }],
    timeouts: QUICK,
    compensate: {
      task: chance.pick(["slow-undo", ...repeated("lost-undo", 3)]),
      retry: [
        { on: ["broken", "drover.unknown"], attempts: 1 },
        { attempts: 6, initialMs: 3_000, jitter: 0 },
      ],
      timeouts: { ...QUICK, settleMs: 3_000 },
      when: "attempted",
    },
  },
  { id: "s1", needs: [], kind: "wait", forMs: chance.between(12_000, 20_000) },
];

/**
 * The time of all tries is over while a strategy is undone: a person is asked, and where no person
 * answers in time the step is tried again.
 */
const leftTooLate: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "left",
    input: json({ canary }),
    onFailure: "escalate",
    ...(chance.happens(0.7) ? { escalation: { deadlineMs: 300, answer: "retry" as const } } : {}),
    timeouts: { ...QUICK, settleMs: 100, totalMs: chance.between(1_000, 2_000) },
    retry: [{ attempts: 1 }],
    fallback: [{ task: "book" }],
    compensate: {
      task: "slow-undo",
      retry: [{ attempts: 6, initialMs: 1_000, jitter: 0 }],
      timeouts: { ...QUICK, settleMs: 100 },
      when: "attempted",
    },
  },
];

function hardUndo(chance: Chance): CompensateDefinition {
  return {
    task: chance.pick(["slow-undo", "slow-undo", "slow-undo", "vague-undo", POISON_TASK]),
    // An unknown is final, and a failure that is reported afterwards is not.
    retry: [
      { on: ["drover.unknown"], attempts: chance.pick([1, 3]) },
      { attempts: chance.pick([1, 6]), initialMs: 2_000, jitter: 0 },
    ],
    timeouts: { ...QUICK, attemptMs: 8_000, settleMs: chance.pick([100, 3_000]) },
  };
}

/** A pivot, and what fails or takes too long behind it. */
const pastPivot: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "book",
    input: json({ canary }),
    timeouts: QUICK,
    pivot: true,
    compensate: randomUndo(chance),
  },
  { id: "s1", needs: ["s0"], kind: "wait", forMs: chance.between(500, 3_000) },
  chance.happens(0.5)
    ? { ...failing("s2"), needs: ["s0"] }
    : { id: "s2", needs: ["s0"], task: "book", queue: NOWHERE, timeouts: QUICK },
];

/** A branch that fails while the rest continues: the stop reason waits, or the run is suspended. */
const failingBranch: Maker = (chance, canary) => [
  { id: "s0", needs: [], task: "mail", input: json({ canary }), timeouts: randomTimeouts(chance) },
  { ...failing("s1"), needs: [], onFailure: chance.pick(["fail", "compensate", "escalate"]) },
  { id: "s2", needs: ["s0"], ...waitingWork(chance) },
  { id: "s3", needs: ["s0"], task: "vague", timeouts: QUICK, retry: [{ attempts: 3 }] },
];

/** Expressions that fail at first and again. */
const inexpressible: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "book",
    timeouts: QUICK,
    input: json({ canary, first: `\${input.list[0]}` }),
    ...(chance.happens(0.3) ? { fallback: [{ task: "plan-b" }] } : {}),
  },
  { id: "s1", needs: [], ...waitingWork(chance) },
];

/** The agent reports later what became of it, and the remote service calls back. */
const answeredLate: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "later",
    input: json({ canary }),
    timeouts: { ...QUICK, callbackMs: chance.between(500, 2_500) },
    retry: [{ attempts: chance.between(1, 3), initialMs: 1_500 }],
    onFailure: chance.pick(["fail", "compensate", "continue", "escalate"]),
    ...(chance.happens(0.4) ? { fallback: [{ task: "later", queue: "slow" }] } : {}),
    ...(chance.happens(0.3) ? VERIFIABLE : {}),
    ...(chance.happens(0.5) ? { compensate: randomUndo(chance) } : {}),
  },
  { id: "s1", needs: ["s0"], ...waitingWork(chance) },
];

const VERIFIABLE = Object.freeze({
  effects: "verifiable" as const,
  verify: { task: FIND_TASK, timeouts: QUICK },
});

/** A lost agent reports when the next strategy has started, or is held. */
const thoughtLost: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: "silent",
    input: json({ canary }),
    timeouts: QUICK,
    retry: [{ attempts: 1 }],
    fallback: chance.happens(0.5) ? [{ task: "plan-b" }, { task: "silent", queue: "slow" }] : [],
    ...chance.pick([{}, {}, { effects: "once" as const }, VERIFIABLE, VERIFIABLE]),
    onFailure: chance.pick(["escalate", "escalate", "escalate", "fail", "continue"]),
  },
  { id: "s1", needs: [], kind: "wait", forMs: chance.between(4_000, 9_000) },
];

/** An agent reports that it succeeded when another one has done it again. */
const doneTwice: Maker = (chance, canary) => [
  {
    id: "s0",
    needs: [],
    task: UNKNOWN_OUTCOME_TASK,
    input: json({ canary }),
    timeouts: QUICK,
    retry: [{ attempts: 4, initialMs: 100 }],
    ...VERIFIABLE,
  },
  { id: "s1", needs: [], kind: "wait", forMs: chance.between(4_000, 9_000) },
];

function repeated<T>(one: T, times: number): readonly T[] {
  return Array.from({ length: times }, () => one);
}

const MAKERS: readonly Maker[] = [
  unknowable,
  stuckUndo,
  leftStrategy,
  pastPivot,
  failingBranch,
  inexpressible,
  answeredLate,
  unknowable,
  unknowable,
  stuckUndo,
  stuckUndo,
  thoughtLost,
  thoughtLost,
  thoughtLost,
  doneTwice,
  doneTwice,
  doneTwice,
  doneTwice,
  ...repeated(leftStrategy, 5),
  ...MAP_MAKERS,
  ...repeated(leftByLateReport, 4),
  ...repeated(leftOnce, 6),
  ...repeated(leftTooLate, 5),
];

const RARE_SHARE = 0.48;
const CHILD_SHARE = 0.2;

/** Mostly a standard one. `children`: workflows that its steps may run; at least one. */
export function randomDefinition(
  chance: Chance,
  canary: string,
  children: readonly string[],
): Definition {
  return fitted(
    chance.happens(RARE_SHARE)
      ? rareDefinition(chance, canary, children)
      : standardDefinition(chance, canary, children),
  );
}

function rareDefinition(chance: Chance, canary: string, children: readonly string[]): Definition {
  const steps = chance.happens(CHILD_SHARE)
    ? chance.pick(CHILD_MAKERS)(chance, canary, children)
    : chance.pick(MAKERS)(chance, canary);
  const isShort = chance.happens(0.2);
  return {
    workflow: `rare-${chance.between(1, 1_000_000)}`,
    timeoutMs: isShort ? chance.between(1_500, 6_000) : chance.between(30_000, 60_000),
    steps,
  };
}
