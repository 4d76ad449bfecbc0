// Random small workflows: one to six steps, random needs, short times, few tries.
import type {
  CompensateDefinition,
  Definition,
  RetryPolicy,
  StepDefinition,
  Timeouts,
} from "../../server/core/definition.ts";
import type { Chance } from "./chance.ts";

export const QUEUES: readonly string[] = ["default", "slow"];
export const TASKS: readonly string[] = ["book", "pay", "mail"];
export const UNDO_TASK = "undo";
/** Agents fall silent over it as long as anything may go wrong. */
export const POISON_TASK = "poison";

const POISON_SHARE = 0.07;
const POISON_UNDO_SHARE = 0.2;
const UNDO_SHARE = 0.6;

/** So that nothing but losses ends it. */
const POISON_TIMEOUTS: Partial<Timeouts> = Object.freeze({
  heartbeatMs: 2_000,
  attemptMs: 20_000,
  totalMs: 60_000,
  settleMs: 100,
});

export function randomDefinition(chance: Chance, canary: string): Definition {
  const count = chance.between(1, 6);
  const steps = Array.from({ length: count }, (_, no) => randomStep(chance, no, canary));
  const isShort = chance.happens(0.2) && steps.every(({ task }) => task !== POISON_TASK);
  return {
    workflow: `flow-${chance.between(1, 1_000_000)}`,
    timeoutMs: isShort ? chance.between(1_500, 8_000) : chance.between(30_000, 60_000),
    steps,
  };
}

function randomStep(chance: Chance, no: number, canary: string): StepDefinition {
  const needs = Array.from({ length: no }, (_, before) => `s${before}`).filter(() =>
    chance.happens(0.35),
  );
  const isPoison = chance.happens(POISON_SHARE);
  return {
    id: `s${no}`,
    needs,
    task: isPoison ? POISON_TASK : chance.pick(TASKS),
    queue: chance.pick(QUEUES),
    input: { kind: "json", json: JSON.stringify({ canary, no }) },
    retry: randomRetry(chance),
    timeouts: isPoison ? POISON_TIMEOUTS : randomTimeouts(chance),
    ...(chance.happens(UNDO_SHARE) ? { compensate: randomUndo(chance) } : {}),
    ...(chance.happens(0.25) ? { onFailure: chance.pick(["compensate", "fail"] as const) } : {}),
  };
}

function randomUndo(chance: Chance): CompensateDefinition {
  if (chance.happens(POISON_UNDO_SHARE))
    return { task: POISON_TASK, retry: randomRetry(chance), timeouts: POISON_TIMEOUTS };
  return {
    task: UNDO_TASK,
    retry: chance.happens(0.3)
      ? randomRetry(chance)
      : [{ attempts: 8, initialMs: 200, maxMs: 1_500 }],
    timeouts: { ...randomTimeouts(chance), totalMs: 120_000 },
  };
}

function randomRetry(chance: Chance): readonly Partial<RetryPolicy>[] {
  const attempts = chance.between(2, 5);
  const initialMs = chance.between(20, 1_000);
  const usual = { attempts, initialMs, maxMs: 2_000 };
  if (chance.happens(0.15)) return [{ ...usual, attempts: 1 }];
  if (chance.happens(0.2)) return [{ on: ["busy"], attempts: 2, initialMs: 30 }, usual];
  return [usual];
}

function randomTimeouts(chance: Chance): Partial<Timeouts> {
  return {
    heartbeatMs: chance.between(2_000, 3_000),
    attemptMs: chance.happens(0.3) ? chance.between(300, 1_500) : chance.between(2_000, 8_000),
    pickupMs: chance.happens(0.3) ? chance.between(50, 600) : chance.between(1_000, 5_000),
    totalMs: chance.happens(0.15) ? chance.between(300, 4_000) : chance.between(10_000, 40_000),
    cancelMs: chance.between(0, 1_500),
    settleMs: chance.between(0, 1_500),
  };
}
