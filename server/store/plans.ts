// Plans by definition id, with the lane of each task and the judge of its expressions. Definitions
// never change, so a plan that was made once stays right; the cache is bounded and the oldest goes
// first.

import type { TaskKind } from "../core/attempt.ts";
import type { Definition } from "../core/definition.ts";
import type { Judge } from "../core/judge.ts";
import { type Plan, type PlanTask, planOf } from "../core/plan.ts";
import type { LaneOf } from "./changes.ts";
import type { Store } from "./store.ts";

const PLANS_MAX = 2_000;

export interface LanedPlan {
  readonly definitionId: number;
  readonly plan: Plan;
  readonly judge: Judge;
  readonly laneOf: LaneOf;
}

export interface Plans {
  get(namespaceId: number, definitionId: number): Promise<LanedPlan>;
}

/** Compiles what a plan asks of expressions and schemas. */
export type JudgeOf = (definition: Definition, plan: Plan) => Judge;

export function createPlans(store: Store, judgeOf: JudgeOf): Plans {
  const known = new Map<number, Promise<LanedPlan>>();
  return Object.freeze({
    get(namespaceId: number, definitionId: number): Promise<LanedPlan> {
      const found = known.get(definitionId);
      if (found) return found;
      const loading = load(store, judgeOf, namespaceId, definitionId);
      known.set(definitionId, loading);
      loading.catch(() => known.delete(definitionId));
      const [oldest] = known.keys();
      if (known.size > PLANS_MAX && oldest !== undefined) known.delete(oldest);
      return loading;
    },
  });
}

async function load(
  store: Store,
  judgeOf: JudgeOf,
  namespaceId: number,
  definitionId: number,
): Promise<LanedPlan> {
  const definition = await store.definition(definitionId);
  const plan = planOf(definition);
  const tasks = tasksOf(plan);
  const lanes = await store.lanes(
    tasks.map(({ task }) => ({ namespaceId, queue: task.queue, task: task.task })),
  );
  return {
    definitionId,
    plan,
    judge: judgeOf(definition, plan),
    laneOf: laneOfPlan(plan, lanes),
  };
}

/** All that agents may be asked to do in a plan, each with the place that names it. */
export function tasksOf(plan: Plan): readonly { readonly at: string; readonly task: PlanTask }[] {
  return plan.steps.flatMap(({ no, work, verify, compensate }) => [
    ...(work.kind === "task" ? work.strategies : []).map((task, planned) => ({
      at: placeOf(no, "perform", planned),
      task,
    })),
    ...(verify ? [{ at: placeOf(no, "verify", 0), task: verify }] : []),
    ...(compensate ? [{ at: placeOf(no, "compensate", 0), task: compensate }] : []),
  ]);
}

/** `lanes`: the id for each of `tasksOf`, in its order. */
export function laneOfPlan(plan: Plan, lanes: readonly number[]): LaneOf {
  const byPlace = new Map(
    tasksOf(plan).map(({ at, task }, place) => [at, { lane: lanes[place] ?? -1, task }]),
  );
  return (step, task, planned) => {
    const found = byPlace.get(placeOf(step, task, planned));
    if (!found || found.lane === -1)
      throw new Error(`step ${step} of ${plan.workflow} has no ${task} task ${planned}`);
    return { ...found, workflow: plan.workflow };
  };
}

/** Verify and undo are the same for every strategy. */
function placeOf(step: number, task: TaskKind, planned: number): string {
  return `${step}/${task}/${task === "perform" ? planned : 0}`;
}
