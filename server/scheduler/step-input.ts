// The input that the tasks of a step get, for people. It is evaluated again from facts that never
// change, as when a task is handed out (dispatch/handed-task.ts), and is not stored.
import type { Evaluated } from "../core/model/evaluator.ts";
import type { Step } from "../core/model/model.ts";
import type { Payload } from "../core/model/payload.ts";
import { itemOf, numberOf } from "../core/model/step-key.ts";
import { currentStrategy, plannedOf } from "../core/model/strategy.ts";
import { planStepAt } from "../core/plan/plan.ts";
import type { Plans } from "../store/plans.ts";
import type { RunRecord } from "../store/reads.ts";
import type { EngineStore, RunId } from "../store/store.ts";

interface StepInputOptions {
  readonly store: Pick<EngineStore, "reads" | "facts">;
  readonly plans: Plans;
}

/** By the current strategy; null: the step has not started, or has no task and no child run. */
export async function stepInput(
  { store, plans }: StepInputOptions,
  { runId, namespaceId, definitionId }: Pick<RunRecord, "runId" | "namespaceId" | "definitionId">,
  stepKey: number,
): Promise<Evaluated<Payload | null> | null> {
  const { plan, evaluator } = await plans.get(namespaceId, definitionId);
  const kind = planStepAt(plan, stepKey)?.work.kind;
  if (kind !== "task" && kind !== "run") return null;
  const step = await readStep(store, runId, stepKey);
  if (!step || !hasStarted(step)) return null;
  const current = currentStrategy(step);
  if (step.strategies[current]?.changed) {
    const changed = await store.reads.changedInputs(runId);
    const given = changed.find((one) => one.step === stepKey && one.strategy === current);
    if (given) return { kind: "value", value: given.input };
  }
  const steps = [...evaluator.factsFor(numberOf(stepKey))];
  const facts = (await store.facts([{ runId, steps }])).get(runId);
  return facts ? evaluator.input(stepKey, plannedOf(step), facts) : null;
}

async function readStep(
  { reads }: Pick<EngineStore, "reads">,
  runId: RunId,
  stepKey: number,
): Promise<Step | undefined> {
  const item = itemOf(stepKey);
  if (item > 0) {
    const page = { map: numberOf(stepKey), after: item - 1, limit: 1, forwards: null };
    return (await reads.runItems(runId, page)).steps.get(stepKey);
  }
  const stateAlone = { attempts: false, interventions: false, escalations: false };
  return (await reads.runDetail(runId, stateAlone))?.steps.get(stepKey);
}

/** A step that never began may need facts that do not exist. */
function hasStarted({ forward, fence }: Step): boolean {
  if (forward.kind === "BLOCKED" || forward.kind === "SKIPPED") return false;
  return forward.kind !== "CANCELLED" || fence > 0;
}
