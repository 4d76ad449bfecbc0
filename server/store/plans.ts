// Plans by definition id, with the lane of each task and the evaluator of its expressions.
// Definitions never change, so a plan stays right once it is made. The cache is bounded, by number
// and by the length of the definitions; the oldest plan is dropped first.

import type { Definition } from "../core/definition/definition.ts";
import type { TaskKind } from "../core/model/attempt.ts";
import type { Evaluator } from "../core/model/evaluator.ts";
import { itemOf, numberOf, stepKeyOf } from "../core/model/step-key.ts";
import { type Plan, type PlanTask, type PlanWork, planOf } from "../core/plan/plan.ts";
import type { LaneOf } from "./pass-record.ts";
import type { EngineStore } from "./store.ts";

const PLANS_MAX = 2_000;
/**
 * Characters of their definitions as JSON. A plan with its compiled expressions and schemas takes
 * some ten times as much.
 */
const LENGTH_MAX = 32 * 1024 * 1024;

export interface LanedPlan {
  readonly definitionId: number;
  readonly plan: Plan;
  readonly evaluator: Evaluator;
  readonly laneOf: LaneOf;
}

export interface Plans {
  get(namespaceId: number, definitionId: number): Promise<LanedPlan>;
}

export interface KnownPlans extends Plans {
  /** Whether it was read from the current incarnation of the database: then its lanes exist. */
  isCurrent(laned: LanedPlan): boolean;
  /** The database is another one: definitions and lanes may be missing in it. */
  forget(): void;
}

type PlanStore = Pick<EngineStore, "definition" | "lanes">;

/** Compiles the expressions and schemas of a plan. */
type EvaluatorOf = (definition: Definition, plan: Plan) => Evaluator;

export function createPlans(
  store: PlanStore,
  evaluatorOf: EvaluatorOf,
  lengthMax = LENGTH_MAX,
): KnownPlans {
  /** Oldest first. `length` is 0 until it is loaded. */
  const known = new Map<number, { readonly laned: Promise<LanedPlan>; length: number }>();
  let length = 0;
  let current = new WeakSet<LanedPlan>();

  function drop(definitionId: number): void {
    length -= known.get(definitionId)?.length ?? 0;
    known.delete(definitionId);
  }

  /** The newest stays, however long it is. */
  function dropOldest(): void {
    for (const oldest of known.keys()) {
      if (known.size === 1 || (known.size <= PLANS_MAX && length <= lengthMax)) break;
      drop(oldest);
    }
  }

  function load(namespaceId: number, definitionId: number): Promise<LanedPlan> {
    const readFrom = current;
    const laned = store.definition(definitionId).then(async (definition) => {
      const made = await lanedPlan(store, evaluatorOf, { namespaceId, definitionId, definition });
      readFrom.add(made);
      if (known.get(definitionId) === entry) {
        entry.length = JSON.stringify(definition).length;
        length += entry.length;
        dropOldest();
      }
      return made;
    });
    const entry = { laned, length: 0 };
    known.set(definitionId, entry);
    laned.catch(() => {
      if (known.get(definitionId) === entry) drop(definitionId);
    });
    dropOldest();
    return laned;
  }

  return Object.freeze({
    get: (namespaceId: number, definitionId: number) =>
      known.get(definitionId)?.laned ?? load(namespaceId, definitionId),
    isCurrent: (laned: LanedPlan) => current.has(laned),
    forget() {
      known.clear();
      length = 0;
      current = new WeakSet();
    },
  });
}

async function lanedPlan(
  store: PlanStore,
  evaluatorOf: EvaluatorOf,
  of: {
    readonly namespaceId: number;
    readonly definitionId: number;
    readonly definition: Definition;
  },
): Promise<LanedPlan> {
  const { namespaceId, definitionId, definition } = of;
  const plan = planOf(definition);
  const tasks = tasksOf(plan);
  const lanes = await store.lanes(
    tasks.map(({ task }) => ({ namespaceId, queue: task.queue, task: task.task })),
  );
  return {
    definitionId,
    plan,
    evaluator: evaluatorOf(definition, plan),
    laneOf: laneOfPlan(plan, lanes),
  };
}

interface PlacedTask {
  readonly at: string;
  readonly task: PlanTask;
}

/** All tasks of a plan that agents may get, each with a name that identifies it. */
export function tasksOf(plan: Plan): readonly PlacedTask[] {
  return plan.steps.flatMap(({ no, work, verify, compensate }) => [
    ...(work.kind === "map" ? tasksOfMap(no, work) : []),
    ...(work.kind === "task" ? work.strategies : []).map((task, planned) => ({
      at: taskAt(no, "perform", planned),
      task,
    })),
    ...(verify ? [{ at: taskAt(no, "verify", 0), task: verify }] : []),
    ...(compensate ? [{ at: taskAt(no, "compensate", 0), task: compensate }] : []),
  ]);
}

/**
 * The tasks of the first item stand for those of all items. Tasks whose queue contains an
 * expression are left out: each item may have another queue.
 */
function tasksOfMap(no: number, { gate, item }: Extract<PlanWork, { kind: "map" }>): PlacedTask[] {
  const stepKey = stepKeyOf(no, 1);
  const { work, verify, compensate } = item;
  const ofItem: PlacedTask[] = [
    ...(work.kind === "task" ? work.strategies : []).map((task, planned) => ({
      at: taskAt(stepKey, "perform", planned),
      task,
    })),
    ...(verify ? [{ at: taskAt(stepKey, "verify", 0), task: verify }] : []),
    ...(compensate ? [{ at: taskAt(stepKey, "compensate", 0), task: compensate }] : []),
  ];
  return [
    ...(gate ? [{ at: taskAt(no, "perform", 0), task: gate }] : []),
    ...ofItem.filter(({ task }) => !hasExpression(task.queue)),
  ];
}

/** Whether the queue is known only after its expressions are evaluated. */
export function hasExpression(queue: string): boolean {
  return queue.includes("${");
}

/** `lanes`: an id for each task of `tasksOf`, in its order. */
export function laneOfPlan(plan: Plan, lanes: readonly number[]): LaneOf {
  const byPlace = new Map(
    tasksOf(plan).map(({ at, task }, index) => [at, { lane: lanes[index] ?? -1, task }]),
  );
  return (step, task, planned) => {
    const found = byPlace.get(taskAt(step, task, planned));
    if (!found || found.lane === -1)
      throw new Error(`step ${step} of ${plan.workflow} has no ${task} task ${planned}`);
    return { ...found, workflow: plan.workflow };
  };
}

/** Verify and undo are the same for every strategy, and all items of a map are the same. */
function taskAt(stepKey: number, task: TaskKind, planned: number): string {
  const which = itemOf(stepKey) > 0 ? "item of " : "";
  return `${which}${numberOf(stepKey)}/${task}/${task === "perform" ? planned : 0}`;
}
