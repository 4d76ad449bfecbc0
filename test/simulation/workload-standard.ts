// Random small workflows: one to six steps of every kind, and sometimes steps that run last.
import type {
  Definition,
  StepDefinition,
  StepRules,
} from "../../server/core/definition/definition.ts";
import type { Chance } from "../../simulator/chance.ts";
import { alwaysSteps, POISON_TASK, randomTask, waitingWork } from "./workload.ts";
import { childWork } from "./workload-children.ts";
import { mapWork } from "./workload-maps.ts";

const ALWAYS_SHARE = 0.22;
const PIVOT_SHARE = 0.12;
const MAP_SHARE = 0.08;
const CHILD_SHARE = 0.05;

export function standardDefinition(
  chance: Chance,
  canary: string,
  children: readonly string[],
): Definition {
  const count = chance.between(1, 6);
  const pivot = chance.happens(PIVOT_SHARE) ? chance.between(0, count - 1) : -1;
  const steps = Array.from({ length: count }, (_, no) => {
    const step = randomStep(chance, no, canary, children);
    return no === pivot ? { ...step, pivot: true } : step;
  });
  if (chance.happens(ALWAYS_SHARE)) steps.push(...alwaysSteps(chance, count, canary));
  const isShort =
    chance.happens(0.2) && steps.every((step) => !("task" in step) || step.task !== POISON_TASK);
  return {
    workflow: `flow-${chance.between(1, 1_000_000)}`,
    timeoutMs: isShort ? chance.between(1_500, 8_000) : chance.between(30_000, 60_000),
    steps,
  };
}

function randomStep(
  chance: Chance,
  no: number,
  canary: string,
  children: readonly string[],
): StepDefinition {
  const needs = Array.from({ length: no }, (_, before) => `s${before}`).filter(() =>
    chance.happens(0.35),
  );
  const rules = { id: `s${no}`, needs, ...randomJoin(chance, needs), ...randomEnd(chance) };
  if (chance.happens(0.16)) return { ...rules, ...waitingWork(chance) };
  if (chance.happens(MAP_SHARE)) return { ...rules, ...mapWork(chance, canary) };
  if (chance.happens(CHILD_SHARE)) return { ...rules, ...childWork(chance, canary, children) };
  return { ...rules, ...randomTask(chance, no, canary) };
}

function randomJoin(chance: Chance, needs: readonly string[]): Partial<StepRules> {
  const runIf = needs.length > 0 && chance.happens(0.2);
  return {
    ...(runIf ? { runIf: chance.pick(["ended", "all_ok", "any_ok"] as const) } : {}),
    ...(chance.happens(0.12) ? { when: randomWhen(chance) } : {}),
  };
}

/** The last one fails: the list has no first item. */
function randomWhen(chance: Chance): string {
  if (chance.happens(0.25)) return `\${input.list[0] == "first"}`;
  return chance.happens(0.5) ? `\${input.yes}` : `\${input.no}`;
}

function randomEnd(chance: Chance): Partial<StepRules> {
  if (!chance.happens(0.45)) return {};
  return {
    onFailure: chance.pick(["compensate", "fail", "continue", "continue", "escalate"] as const),
  };
}
