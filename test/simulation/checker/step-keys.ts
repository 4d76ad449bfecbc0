// Steps of a run, and items of its maps: both have a step key (server/core/model/step-key.ts).

import { itemOf, numberOf, stepKeyOf } from "../../../server/core/model/step-key.ts";
import { type PlanStep, planStepAt } from "../../../server/core/plan/plan.ts";
import type { FinalAttempt } from "../history-rows.ts";
import type { RunFacts } from "./facts.ts";

/** The plan of each step, and of each item that has a row. */
export function planStepsOf({ run, plan }: RunFacts): readonly PlanStep[] {
  const items = run.steps.flatMap(({ no }) => (itemOf(no) > 0 ? (planStepAt(plan, no) ?? []) : []));
  return [...plan.steps, ...items];
}

/** The same step or item, by its name, in the plan of another run; -1: it has none. */
export function stepKeyIn({ plan: other }: RunFacts, { plan }: RunFacts, key: number): number {
  const id = plan.steps[numberOf(key)]?.id;
  const no = other.steps.find((step) => step.id === id)?.no;
  return no === undefined ? -1 : stepKeyOf(no, itemOf(key));
}

/** What is known of the children of a step: how they ended, or a person's later answer. */
export function childRows({ run, plan }: RunFacts, no: number): readonly FinalAttempt[] {
  if (planStepAt(plan, no)?.work.kind !== "run") return [];
  return run.attempts.filter(
    ({ step, kind }) => step === no && (kind === "engine" || kind === "answer"),
  );
}
