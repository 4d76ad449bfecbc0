// Plans by definition id, with the lane of each task. Definitions never change, so a plan that was
// made once stays right; the cache is bounded and the oldest goes first.
import { type Plan, type PlanTask, planOf } from "../core/definition.ts";
import type { Side } from "../core/effect.ts";
import type { Store } from "./store.ts";

const PLANS_MAX = 2_000;

export interface LanedPlan {
  readonly definitionId: number;
  readonly plan: Plan;
  readonly laneOf: (step: number, side: Side) => { readonly lane: number; readonly task: PlanTask };
}

export interface Plans {
  get(namespaceId: number, definitionId: number): Promise<LanedPlan>;
}

export function createPlans(store: Store): Plans {
  const known = new Map<number, Promise<LanedPlan>>();
  return Object.freeze({
    get(namespaceId: number, definitionId: number): Promise<LanedPlan> {
      const found = known.get(definitionId);
      if (found) return found;
      const loading = load(store, namespaceId, definitionId);
      known.set(definitionId, loading);
      loading.catch(() => known.delete(definitionId));
      const [oldest] = known.keys();
      if (known.size > PLANS_MAX && oldest !== undefined) known.delete(oldest);
      return loading;
    },
  });
}

async function load(store: Store, namespaceId: number, definitionId: number): Promise<LanedPlan> {
  const plan = planOf(await store.definition(definitionId));
  const tasks = plan.steps.flatMap((step) => [
    { at: `${step.no}/forward`, task: step as PlanTask },
    ...(step.compensate ? [{ at: `${step.no}/undo`, task: step.compensate }] : []),
  ]);
  const lanes = await store.lanes(
    tasks.map(({ task }) => ({ namespaceId, queue: task.queue, task: task.task })),
  );
  const byPlace = new Map(
    tasks.map(({ at, task }, place) => [at, { lane: lanes[place] ?? -1, task }]),
  );
  return {
    definitionId,
    plan,
    laneOf(step, side) {
      const found = byPlace.get(`${step}/${side}`);
      if (!found || found.lane === -1)
        throw new Error(`step ${step} of definition ${definitionId} has no ${side} lane`);
      return found;
    },
  };
}
