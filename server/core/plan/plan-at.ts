// Finds the plan of a step, or of an item of a map, by its step key.
import type { TaskKind } from "../model/attempt.ts";
import { itemOf, numberOf } from "../model/step-key.ts";
import type { Plan, PlanStep, PlanTask, PlanWork } from "./plan.ts";

/** The plan of a step, or of an item of a map. The id of an item contains its index. */
export function planStepAt(plan: Plan, place: number): PlanStep | undefined {
  const step = plan.steps[numberOf(place)];
  const item = itemOf(place);
  if (!step || item === 0) return step;
  if (step.work.kind !== "map") return undefined;
  return { ...step.work.item, no: place, id: `${step.id}[${item - 1}]` };
}

/** The task of a step, of the `planned` strategy. The task of a map itself is its gate. */
export function plannedTask(
  { id, work, verify, compensate }: PlanStep,
  task: TaskKind,
  planned: number,
): PlanTask {
  const ways = { perform: performed(work, planned), verify, compensate };
  const found = ways[task];
  if (!found) throw new Error(`step ${id} has no task to ${task}`);
  return found;
}

function performed(work: PlanWork, planned: number): PlanTask | null {
  if (work.kind === "map") return work.gate;
  return work.kind === "task" ? (work.strategies[planned] ?? null) : null;
}

/** The id of a step or an item, for a person; null: the run as a whole. */
export function nameAt(plan: Plan, place: number | null): string {
  return place === null ? "" : (planStepAt(plan, place)?.id ?? "");
}
