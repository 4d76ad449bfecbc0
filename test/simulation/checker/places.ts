// Steps of a run, and items of its maps: both stand at a place (server/core/place.ts).

import { itemOf, numberOf, stepKeyOf } from "../../../server/core/model/step-key.ts";
import { type PlanStep, planStepAt } from "../../../server/core/plan/plan.ts";
import type { FinalAttempt } from "../history-rows.ts";
import type { RunFacts } from "./facts.ts";

/** What the plan says of each step, and of each item that has a row. */
export function placesOf({ run, plan }: RunFacts): readonly PlanStep[] {
  const items = run.steps.flatMap(({ no }) => (itemOf(no) > 0 ? (planStepAt(plan, no) ?? []) : []));
  return [...plan.steps, ...items];
}

/** The same step or item, by its name, in the plan of another run; -1: it has none. */
export function placeIn({ plan: other }: RunFacts, { plan }: RunFacts, place: number): number {
  const id = plan.steps[numberOf(place)]?.id;
  const no = other.steps.find((step) => step.id === id)?.no;
  return no === undefined ? -1 : stepKeyOf(no, itemOf(place));
}

/** What is known of the children of a step: how they ended, or what a person said of it since. */
export function childRows({ run, plan }: RunFacts, no: number): readonly FinalAttempt[] {
  if (planStepAt(plan, no)?.work.kind !== "run") return [];
  return run.attempts.filter(
    ({ step, kind }) => step === no && (kind === "engine" || kind === "answer"),
  );
}
