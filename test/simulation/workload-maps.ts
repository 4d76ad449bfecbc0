// Maps: a few items, some at a time, all at once or in waves, with gates between the waves that are
// sometimes lost or fail. Used in standard runs, and in runs for rare transitions.
import type {
  GateDefinition,
  MapWork,
  StepDefinition,
  StepRules,
  StepWork,
} from "../../server/core/definition/definition.ts";
import type { Chance } from "../../simulator/chance.ts";
import {
  alwaysSteps,
  failing,
  json,
  NOWHERE,
  QUEUES,
  QUICK,
  randomEffects,
  randomRetry,
  randomTimeouts,
  randomUndo,
  TASKS,
} from "./workload.ts";

type Maker = (chance: Chance, canary: string) => readonly StepDefinition[];
type Map = Partial<StepRules> & MapWork;

const ITEMS_MOST = 5;

/** As a standard task, for each of some items. */
export function mapWork(chance: Chance, canary: string): Partial<StepRules> & StepWork {
  return {
    ...shape(chance),
    task: chance.pick(TASKS),
    queue: chance.pick(QUEUES),
    timeouts: randomTimeouts(chance),
    input: json({ canary, item: `\${item}` }),
    retry: randomRetry(chance),
    ...randomEffects(chance),
    ...(chance.happens(0.5) ? { compensate: { queue: "default", ...randomUndo(chance) } } : {}),
    ...(chance.happens(0.15) ? { fallback: [{ task: "plan-b" }] } : {}),
  };
}

function shape(chance: Chance): MapWork {
  const tolerate = chance.pick([{}, { tolerate: 1 }, { tolerate: 5 }, { toleratePercent: 40 }]);
  const size = chance.pick([{ size: 1 }, { size: 2 }, { percent: 40 }]);
  const pause = chance.happens(0.4) ? { pauseMs: chance.between(50, 1_500) } : {};
  const gate = chance.happens(0.5) ? { gate: randomGate(chance) } : {};
  return {
    kind: "map",
    task: "book",
    over: String(chance.between(0, ITEMS_MOST)),
    concurrency: chance.between(1, 2),
    ...tolerate,
    ...(chance.happens(0.6) ? { waves: { ...size, ...pause, ...gate } } : {}),
  };
}

function randomGate(chance: Chance): GateDefinition {
  return {
    task: chance.pick([...TASKS, "vague"]),
    queue: chance.pick(QUEUES),
    retry: randomRetry(chance),
    timeouts: randomTimeouts(chance),
  };
}

/** A gate whose success becomes known late, when the next wave may start. */
const lateGate: Maker = (chance, canary) => [
  {
    ...quickItems("s0", canary),
    over: "3",
    onFailure: chance.pick(["fail", "continue", "compensate"] as const),
    waves: {
      size: 1,
      gate: {
        task: "silent",
        timeouts: { ...QUICK, settleMs: 3_000 },
        retry: [
          { on: ["drover.lost"], attempts: 4, initialMs: chance.between(100, 4_000), maxMs: 4_000 },
          { attempts: 3, initialMs: 2_000 },
        ],
      },
    },
  },
  { id: "s1", needs: [], kind: "wait", forMs: chance.between(4_000, 9_000) },
];

/** Past the pivot a gate that is lost asks a person, who may learn of it before answering. */
const gatePastPivot: Maker = (_chance, canary) => [
  { id: "s0", needs: [], task: "book", pivot: true, timeouts: QUICK },
  {
    ...quickItems("s1", canary),
    needs: ["s0"],
    waves: {
      size: 1,
      gate: { task: "silent", timeouts: { ...QUICK, settleMs: 100 }, retry: [{ attempts: 1 }] },
    },
  },
];

/** A person is asked about a gate, or about an item, while the rest continues. */
const askedAbout: Maker = (chance, canary) => [
  {
    ...quickItems("s0", canary),
    over: "4",
    tolerate: 4,
    concurrency: 2,
    onFailure: "escalate" as const,
    task: chance.pick(["fail", "vague", "silent"]),
    retry: [{ attempts: 1 }],
    ...randomEffects(chance),
  },
  {
    ...quickItems("s1", canary),
    over: "2",
    waves: {
      size: 1,
      gate: { task: "book", queue: "default", input: json({ first: `\${input.list[0]}` }) },
    },
  },
];

/** What its items have made is undone, some at a time, and behind it what came after. */
const undoneMap: Maker = (chance, canary) => [
  {
    ...quickItems("s0", canary),
    over: String(chance.between(2, ITEMS_MOST)),
    concurrency: chance.between(1, 2),
    compensate: chance.happens(0.7) ? { task: "undo" } : randomUndo(chance),
    ...(chance.happens(0.5) ? { waves: { size: 2, pauseMs: 200 } } : {}),
  },
  {
    ...quickItems("s1", canary),
    needs: ["s0"],
    over: "3",
    concurrency: 2,
    tolerate: 1,
    task: chance.pick(["book", "vague"]),
    compensate: { task: "undo" },
  },
  { ...failing("s2"), needs: ["s1"] },
  ...(chance.happens(0.3) ? alwaysSteps(chance, 3, canary) : []),
];

/** Stopped or paused between two waves and before a gate. */
const stoppedMap: Maker = (chance, canary) => [
  {
    ...quickItems("s0", canary),
    over: "5",
    concurrency: 2,
    ...(chance.happens(0.5) ? { compensate: { task: "undo" } } : {}),
    waves: {
      size: 2,
      pauseMs: chance.pick([0, 300, 2_000]),
      gate: { task: "mail", queue: chance.pick(["default", "slow", NOWHERE]), timeouts: QUICK },
    },
  },
  chance.happens(0.5)
    ? { ...failing("s1"), needs: [] }
    : { id: "s1", needs: [], kind: "wait", forMs: chance.between(500, 3_000) },
];

/** One that runs last, whatever came before. */
const lastMap: Maker = (chance, canary) => [
  chance.happens(0.5)
    ? { ...failing("s0"), needs: [] }
    : { id: "s0", needs: [], task: "book", timeouts: QUICK, compensate: { task: "undo" } },
  {
    ...quickItems("s1", canary),
    always: true,
    over: "3",
    concurrency: 2,
    tolerate: chance.between(0, 3),
    task: chance.pick(["book", "fail", "vague"]),
    waves: { size: 2, gate: { task: chance.pick(["book", "vague"]), timeouts: QUICK } },
    ...(chance.happens(0.5) ? { onFailure: chance.pick(["continue", "escalate"] as const) } : {}),
  },
];

function quickItems(id: string, canary: string): Pick<StepRules, "id" | "needs"> & Map {
  return {
    id,
    needs: [],
    kind: "map",
    task: "book",
    over: "3",
    concurrency: 1,
    timeouts: QUICK,
    input: json({ canary, item: `\${item}` }),
  };
}

export const MAP_MAKERS: readonly Maker[] = [
  lateGate,
  lateGate,
  gatePastPivot,
  gatePastPivot,
  askedAbout,
  undoneMap,
  stoppedMap,
  lastMap,
];
