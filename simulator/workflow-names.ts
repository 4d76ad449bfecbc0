// The names in a definition: its steps, tasks and queues, and the workflows that it begins.
import type { Definition, StepDefinition } from "@drover/server/core/definition/definition.ts";
import { DEFAULT_QUEUE } from "@drover/server/core/plan/plan.ts";

export interface WorkflowNames {
  readonly workflow: string;
  readonly steps: readonly string[];
  readonly maps: ReadonlySet<string>;
  readonly tasks: ReadonlySet<string>;
  /** Without queues that are named by an expression. */
  readonly queues: ReadonlySet<string>;
  readonly findsQueues: boolean;
  readonly begins: ReadonlySet<string>;
  /** The roles that each approval step requires. */
  readonly approvers: ReadonlyMap<string, readonly string[]>;
}

export function namesIn({ workflow, steps }: Definition): WorkflowNames {
  const handed = steps.flatMap(handedOut);
  const queues = handed.map(({ queue }) => queue ?? DEFAULT_QUEUE);
  const isFixed = (queue: string): boolean => !queue.includes("${");
  return Object.freeze({
    workflow,
    steps: steps.map(({ id }) => id),
    maps: new Set(steps.flatMap((step) => (step.kind === "map" ? step.id : []))),
    tasks: new Set(handed.map(({ task }) => task)),
    queues: new Set(queues.filter(isFixed)),
    findsQueues: !queues.every(isFixed),
    begins: new Set(steps.flatMap(startedBy)),
    approvers: new Map(
      steps.flatMap((step) => (step.kind === "approval" ? [[step.id, step.approvers]] : [])),
    ),
  });
}

interface HandedOut {
  readonly task: string;
  readonly queue: string | undefined;
}

function handedOut(step: StepDefinition): readonly HandedOut[] {
  const isTask = step.kind === undefined || step.kind === "task" || step.kind === "map";
  const own: HandedOut | null = isTask ? { task: step.task, queue: step.queue } : null;
  const others = (step.fallback ?? []).flatMap(({ task, queue }) =>
    own && (task ?? queue) !== undefined
      ? { task: task ?? own.task, queue: queue ?? own.queue }
      : [],
  );
  const beside = [step.verify, step.compensate, step.kind === "map" ? step.waves?.gate : undefined];
  // Verify, compensate and gate tasks are in the queue of their step, unless they set one.
  const named = beside.flatMap((one) =>
    one ? { task: one.task, queue: one.queue ?? own?.queue } : [],
  );
  return [...(own ? [own] : []), ...others, ...named];
}

function startedBy(step: StepDefinition): readonly string[] {
  if (step.kind !== "run") return [];
  return [step.workflow, ...(step.fallback ?? []).flatMap(({ workflow }) => workflow ?? [])];
}
