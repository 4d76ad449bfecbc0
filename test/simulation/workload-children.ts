// Steps that run another workflow: some of the time it fails, is not registered, or takes longer
// than it may.
import type {
  Definition,
  RetryPolicy,
  RunWork,
  StepDefinition,
  StepRules,
  StepWork,
} from "../../server/core/definition/definition.ts";
import type { Chance } from "../../simulator/chance.ts";
import {
  alwaysSteps,
  failing,
  json,
  QUICK,
  randomUndo,
  runInput,
  waitingWork,
} from "./workload.ts";
import { fitted } from "./workload-times.ts";

type Maker = (chance: Chance, canary: string, children: readonly string[]) => StepDefinition[];
type Child = Partial<StepRules> & RunWork;

/** As a standard step, one of the workflows. */
export function childWork(
  chance: Chance,
  canary: string,
  children: readonly string[],
): Partial<StepRules> & StepWork {
  return {
    ...childOf(chance, canary, children),
    ...(chance.happens(0.4) ? { retry: randomRetry(chance) } : {}),
    ...(chance.happens(0.3) ? { fallback: [{ workflow: chance.pick(children) }] } : {}),
    ...(chance.happens(0.5) ? { compensate: randomUndo(chance) } : {}),
  };
}

function childOf(chance: Chance, canary: string, children: readonly string[]): Child {
  const isShort = chance.happens(0.3);
  const totalMs = isShort ? chance.between(300, 4_000) : chance.between(10_000, 40_000);
  const version = chance.happens(0.2) ? { version: 1 } : {};
  const work = { kind: "run", workflow: chance.pick(children), ...version } as const;
  return { ...work, input: runInput(canary), timeouts: { totalMs } };
}

function randomRetry(chance: Chance): readonly Partial<RetryPolicy>[] {
  const on = chance.pick([
    ["drover.child-failed"],
    ["drover.child-failed", "drover.child-cancelled"],
  ]);
  return [{ on, attempts: chance.between(2, 4), initialMs: chance.between(50, 2_500) }];
}

/** The last workflow, which mostly fails, or one that is not registered. */
function hopeless(chance: Chance, children: readonly string[]): string {
  return chance.pick(children.slice(-2));
}

/** Fails, and is tried again: after a while, as another one, or when a person asks for it. */
const triedAgain: Maker = (chance, canary, children) => [
  {
    id: "s0",
    needs: [],
    ...childOf(chance, canary, children),
    workflow: hopeless(chance, children),
    retry: randomRetry(chance),
    ...(chance.happens(0.6) ? { fallback: [{ workflow: hopeless(chance, children) }] } : {}),
    onFailure: chance.pick(["escalate", "escalate", "fail", "continue"] as const),
  },
  { id: "s1", needs: [], ...waitingWork(chance) },
];

/** Is to start, or to start again, while its run is paused. */
const startedInPause: Maker = (chance, canary, children) => [
  { id: "s0", needs: [], task: "silent", timeouts: QUICK, input: json({ canary }) },
  {
    id: "s1",
    needs: ["s0"],
    ...childOf(chance, canary, children),
    workflow: hopeless(chance, children),
    retry: [{ on: ["drover.child-failed"], attempts: 4, initialMs: 1_500 }],
    onFailure: chance.pick(["escalate", "fail"] as const),
  },
  { id: "s2", needs: [], kind: "wait", forMs: chance.between(3_000, 9_000) },
];

/** Runs while its parent stops, for whatever reason, and what it did is undone. */
const stoppedChild: Maker = (chance, canary, children) => [
  {
    id: "s0",
    needs: [],
    ...childOf(chance, canary, children.slice(0, 2)),
    ...(chance.happens(0.6) ? { compensate: { task: "undo" } } : {}),
  },
  {
    ...failing("s1"),
    needs: [],
    onFailure: chance.pick(["fail", "compensate"] as const),
    retry: [{ attempts: 2, initialMs: chance.between(50, 2_000) }],
  },
  ...(chance.happens(0.4) ? alwaysSteps(chance, 2, canary) : []),
];

/** Has little time, and is asked to stop when it is over. */
const hurried: Maker = (chance, canary, children) => [
  {
    id: "s0",
    needs: [],
    ...childOf(chance, canary, children.slice(0, 2)),
    timeouts: { totalMs: chance.between(200, 3_000) },
    ...(chance.happens(0.4) ? { fallback: [{ workflow: chance.pick(children) }] } : {}),
    onFailure: chance.pick(["compensate", "continue", "escalate"] as const),
    ...(chance.happens(0.5) ? { compensate: randomUndo(chance) } : {}),
  },
  { id: "s1", needs: ["s0"], task: "book", timeouts: QUICK, compensate: { task: "undo" } },
];

/** One that runs last. */
const lastChild: Maker = (chance, canary, children) => [
  { ...failing("s0"), needs: [] },
  {
    id: "s1",
    needs: [],
    always: true,
    ...childOf(chance, canary, children),
    ...(chance.happens(0.5) ? { onFailure: chance.pick(["continue", "escalate"] as const) } : {}),
  },
];

export const CHILD_MAKERS: readonly Maker[] = [
  triedAgain,
  triedAgain,
  startedInPause,
  startedInPause,
  stoppedChild,
  stoppedChild,
  hurried,
  lastChild,
];

/** A workflow that runs no other, and mostly fails. */
export function lastOfFamily(chance: Chance, canary: string): Omit<Definition, "workflow"> {
  const book: StepDefinition = {
    id: "s0",
    needs: [],
    task: "book",
    timeouts: QUICK,
    input: json({ canary }),
    ...(chance.happens(0.5) ? { compensate: { task: "undo" } } : {}),
  };
  const fails = chance.happens(0.7) ? [{ ...failing("s1"), needs: ["s0"] }] : [];
  const waits = chance.happens(0.3) ? [{ id: "s2", needs: [], ...waitingWork(chance) }] : [];
  return fitted({ timeoutMs: chance.between(5_000, 40_000), steps: [book, ...fails, ...waits] });
}
