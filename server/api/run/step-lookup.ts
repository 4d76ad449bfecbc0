// Which step of a run, or which item of its map, a request names.
import { stepKeyOf } from "../../core/model/step-key.ts";
import type { Plan, PlanStep } from "../../core/plan/plan.ts";
import { DroverError } from "../../errors.ts";

const NAMES_SHOWN_MAX = 8;

/** As messages have it: an item counts from 0, and belongs to a map. */
export interface NamedStep {
  readonly stepId: string;
  readonly item?: number | undefined;
}

interface FoundStep {
  readonly step: PlanStep;
  /** Of the item where the request names one, else of the step. */
  readonly key: number;
}

/** Throws STEP_NOT_FOUND for a step that the run does not have, and an item of what is no map. */
export function findStep(plan: Plan, { stepId, item }: NamedStep): FoundStep {
  const step = plan.steps.find(({ id }) => id === stepId);
  if (!step) throw stepNotFound(`The run has no step "${stepId}"`, stepId, plan);
  if (item === undefined) return { step, key: step.no };
  if (step.work.kind === "map") return { step, key: stepKeyOf(step.no, item + 1) };
  throw stepNotFound(`The step "${stepId}" is no map and has no items`, stepId, plan);
}

export function stepNotFound(what: string, name: string, { steps }: Plan): DroverError {
  const known = steps.slice(0, NAMES_SHOWN_MAX).map(({ id }) => `"${id}"`);
  const more = steps.length > known.length ? ` and ${steps.length - known.length} more` : "";
  const message = `${what}: its steps are ${known.join(", ")}${more}.`;
  return new DroverError("STEP_NOT_FOUND", message, { metadata: { name } });
}
