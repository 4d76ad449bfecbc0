// The parts of random workflows: steps with every setting that a step may have, short times, few
// tries. Every run has the same `input`, so that expressions find some values and miss others.
import type {
  CompensateDefinition,
  FallbackDefinition,
  RetryPolicy,
  StepDefinition,
  StepRules,
  StepWork,
  Timeouts,
} from "../../server/core/definition/definition.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import type { Chance } from "../../simulator/chance.ts";

export const QUEUES: readonly string[] = ["default", "slow"];
/** No agent polls it. */
export const NOWHERE = "nowhere";
export const TASKS: readonly string[] = ["book", "pay", "mail"];
export const UNDO_TASK = "undo";
export const FIND_TASK = "find";
/** Its agents fall silent as long as there are faults. */
export const POISON_TASK = "poison";
/** Agents report an unknown outcome at first, and much later that the effect exists. */
export const UNKNOWN_OUTCOME_TASK = "unknown-at-first";
export const SIGNALS: readonly string[] = ["go", "stop"];
export const APPROVERS: readonly string[] = ["ann", "bob", "eve"];

const POISON_SHARE = 0.05;
const POISON_UNDO_SHARE = 0.15;
const UNDO_SHARE = 0.6;

/** So that nothing but losses ends it. */
const POISON_TIMEOUTS: Partial<Timeouts> = Object.freeze({
  heartbeatMs: 2_000,
  attemptMs: 20_000,
  totalMs: 60_000,
  settleMs: 100,
});

export const json = (value: unknown): Payload => ({ kind: "json", json: JSON.stringify(value) });

/** What expressions may see: a yes, a no, a text, and a list without a first item. */
export function runInput(canary: string): Payload {
  return json({ canary, yes: true, no: false, word: "word", list: [] });
}

/** A timer, a signal or an approval, which mostly come in time. */
export function waitingWork(chance: Chance): StepWork {
  const withinMs = chance.between(500, 7_000);
  switch (chance.between(0, 4)) {
    case 0:
      return { kind: "wait", forMs: chance.between(50, 3_000) };
    case 1:
    case 2: {
      const onExpiry = chance.pick(["escalate", "fail", "skip"] as const);
      return { kind: "signal", name: chance.pick(SIGNALS), withinMs, onExpiry };
    }
    default: {
      const onExpiry = chance.pick(["escalate", "reject", "approve"] as const);
      const need = chance.between(1, 2);
      const approvers = chance.happens(0.3) ? ["ann", "boss"] : [];
      return { kind: "approval", approvers, need, withinMs, onExpiry };
    }
  }
}

export function randomTask(
  chance: Chance,
  no: number,
  canary: string,
): Partial<StepRules> & StepWork {
  if (chance.happens(POISON_SHARE)) {
    const undo = chance.happens(UNDO_SHARE) ? { compensate: randomUndo(chance) } : {};
    const common = { queue: chance.pick(QUEUES), timeouts: POISON_TIMEOUTS };
    return { task: POISON_TASK, ...common, ...undo, ...randomEffects(chance) };
  }
  const isNowhere = chance.happens(0.04);
  const timeouts = randomTimeouts(chance);
  // A verify or a compensate task always has an agent.
  const effects = randomEffects(chance);
  const verify = effects.verify ? { verify: { ...effects.verify, queue: "default" } } : {};
  const undo = { compensate: { queue: "default", ...randomUndo(chance) } };
  return {
    task: chance.pick(TASKS),
    queue: isNowhere ? NOWHERE : chance.pick(QUEUES),
    input: randomInput(chance, no, canary),
    retry: randomRetry(chance),
    timeouts: isNowhere ? { ...timeouts, pickupMs: chance.between(50, 1_500) } : timeouts,
    ...effects,
    ...verify,
    ...(chance.happens(UNDO_SHARE) ? undo : {}),
    ...randomFallback(chance, isNowhere),
  };
}

/** Sometimes one that cannot be rendered. */
function randomInput(chance: Chance, no: number, canary: string): Payload {
  if (chance.happens(0.04)) return json({ canary, no, first: `\${input.list[0]}` });
  return json({ canary, no, ...(chance.happens(0.3) ? { word: `\${input.word}` } : {}) });
}

export function randomEffects(chance: Chance): Partial<StepRules> {
  if (chance.happens(0.2)) return { effects: "once" };
  if (!chance.happens(0.4)) return {};
  const retry = [{ attempts: chance.between(1, 3), initialMs: 100, maxMs: 1_000 }];
  const { attemptMs = 2_000, heartbeatMs = 2_000 } = randomTimeouts(chance);
  const timeouts = { attemptMs, heartbeatMs, pickupMs: 2_000, cancelMs: 500 };
  return { effects: "verifiable", verify: { task: FIND_TASK, retry, timeouts } };
}

function randomFallback(chance: Chance, isNowhere: boolean): Partial<StepRules> {
  if (!isNowhere && !chance.happens(0.22)) return {};
  const ways: readonly FallbackDefinition[] = [
    { task: "plan-b" },
    { queue: chance.pick(QUEUES), input: json({ plan: "b" }) },
    { queue: "default", task: "plan-c", input: json({ plan: "c" }) },
  ];
  const fallback = chance.happens(0.7)
    ? [chance.pick(ways)]
    : [chance.pick(ways), { task: "plan-d" }];
  const onPickup = isNowhere
    ? chance.pick(["escalate", "escalate", "fallback", "alarm"] as const)
    : chance.pick(["alarm", "escalate", "fallback"] as const);
  return { fallback, onPickup };
}

export function randomUndo(chance: Chance): CompensateDefinition {
  const when = chance.happens(0.25) ? ({ when: "attempted" } as const) : {};
  if (chance.happens(POISON_UNDO_SHARE))
    return { task: POISON_TASK, retry: randomRetry(chance), timeouts: POISON_TIMEOUTS, ...when };
  return {
    task: UNDO_TASK,
    retry: chance.happens(0.3)
      ? randomRetry(chance)
      : [{ attempts: 8, initialMs: 200, maxMs: 1_500 }],
    timeouts: { ...randomTimeouts(chance), totalMs: 120_000 },
    ...when,
  };
}

export function randomRetry(chance: Chance): readonly Partial<RetryPolicy>[] {
  const attempts = chance.between(2, 5);
  const initialMs = chance.between(20, 1_000);
  const standard = { attempts, initialMs, maxMs: 2_000 };
  if (chance.happens(0.15)) return [{ ...standard, attempts: 1 }];
  if (chance.happens(0.2)) return [{ on: ["busy"], attempts: 2, initialMs: 30 }, standard];
  return [standard];
}

export function randomTimeouts(chance: Chance): Partial<Timeouts> {
  return {
    heartbeatMs: chance.between(2_000, 3_000),
    attemptMs: chance.happens(0.3) ? chance.between(300, 1_500) : chance.between(2_000, 8_000),
    pickupMs: chance.happens(0.3) ? chance.between(50, 600) : chance.between(1_000, 5_000),
    totalMs: chance.happens(0.15) ? chance.between(300, 4_000) : chance.between(10_000, 40_000),
    cancelMs: chance.between(0, 1_500),
    settleMs: chance.between(0, 1_500),
    callbackMs: chance.between(300, 3_000),
    ...(chance.happens(0.25) ? { stallMs: chance.between(1_000, 2_500) } : {}),
  };
}

/** One that runs last, and sometimes one that needs it. */
export function alwaysSteps(chance: Chance, from: number, canary: string): StepDefinition[] {
  const count = chance.between(1, 2);
  return Array.from({ length: count }, (_, index): StepDefinition => {
    const no = from + index;
    const needs = index > 0 && chance.happens(0.5) ? [`s${from}`] : [];
    const end = chance.happens(0.5)
      ? { onFailure: chance.pick(["continue", "escalate"] as const) }
      : {};
    const work = chance.happens(0.2) ? waitingWork(chance) : null;
    const rules = { id: `s${no}`, needs, always: true, ...end };
    if (work) return { ...rules, ...work };
    const input = randomInput(chance, no, canary);
    const how = { queue: chance.pick(QUEUES), input, timeouts: randomTimeouts(chance) };
    const retry = [{ attempts: chance.between(1, 3), initialMs: 100 }];
    return { ...rules, task: chance.pick(TASKS), ...how, retry, ...randomEffects(chance) };
  });
}

export const QUICK = Object.freeze({
  heartbeatMs: 2_000,
  attemptMs: 4_000,
  pickupMs: 2_000,
  totalMs: 30_000,
  cancelMs: 300,
  settleMs: 1_000,
  callbackMs: 1_500,
});

/** Of no policy, so that its first failure is its last. */
export function failing(id: string) {
  return { id, task: "fail", timeouts: QUICK, retry: [{ attempts: 1 }] } as const;
}
