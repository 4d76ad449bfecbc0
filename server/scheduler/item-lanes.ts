// Items of a map may each have a queue of their own, which an expression names. The lane of such a
// queue is created when it is first used.
import type { Effect } from "../core/model/effect.ts";
import { movingSide, type View } from "../core/model/model.ts";
import { plannedOf } from "../core/model/strategy.ts";
import { planStep, planTaskOf } from "../core/pass.ts";
import type { PlanTask } from "../core/plan/plan.ts";
import type { LaneOf } from "../store/pass-record.ts";
import { hasExpression, type LanedPlan } from "../store/plans.ts";
import type { EngineStore } from "../store/store.ts";

/** What a pass has decided. */
interface Decided {
  readonly view: View;
  readonly effects: readonly Effect[];
}

/** The lanes of the tasks that the pass has made ready. */
export async function laneOfPass(
  store: Pick<EngineStore, "lanes">,
  namespaceId: number,
  laned: LanedPlan,
  { view, effects }: Decided,
): Promise<LaneOf> {
  const { plan, evaluator, laneOf } = laned;
  const named = new Map<string, PlanTask>();
  for (const effect of effects) {
    const step = effect.kind === "made-ready" ? view.steps.get(effect.step) : undefined;
    const ready = step && movingSide(step)?.state;
    if (!step || ready?.kind !== "READY") continue;
    const task = planTaskOf(planStep({ plan }, step.no), step, ready.task);
    if (!hasExpression(task.queue) || !view.facts) continue;
    const queue = evaluator.queue(step.no, task.queue, view.facts);
    // The same expression gave a queue before the step was made ready.
    if (queue.kind === "failed")
      throw new Error(
        `the name of a queue could be computed before, and cannot be any more: ${queue.message}`,
      );
    named.set(keyOf(step.no, ready.task, plannedOf(step)), { ...task, queue: queue.value });
  }
  if (named.size === 0) return laneOf;
  const lanes = await store.lanes(
    [...named.values()].map(({ queue, task }) => ({ namespaceId, queue, task })),
  );
  const byKey = new Map(
    [...named].map(([key, task], at) => [
      key,
      { lane: lanes[at] ?? -1, task, workflow: plan.workflow },
    ]),
  );
  return (place, task, planned) =>
    byKey.get(keyOf(place, task, planned)) ?? laneOf(place, task, planned);
}

function keyOf(...parts: Parameters<LaneOf>): string {
  return parts.join("/");
}
