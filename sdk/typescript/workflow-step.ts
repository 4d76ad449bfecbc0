/**
 * A step bound to the task that it performs: the compiler checks its input, the tasks that verify
 * and undo it, and its fallbacks.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Payload } from "./payload.ts";
import type { TaskDefinition } from "./task-definition.ts";
import type {
  CompensateSpec,
  FallbackSpec,
  StepSettings,
  StepSpec,
  VerifySpec,
} from "./workflow.ts";

/** An expression alone, `${...}`, which may give a value of any type. */
export type Expression = `\${${string}}`;

/** A text with an expression in it. */
type TextWithExpression = `${string}\${${string}}${string}`;

/** A value of the type, any part of which may be an expression instead. */
export type Mapping<T> = unknown extends T
  ? unknown
  : Expression | Payload | (T extends string ? T | TextWithExpression : MappingWithin<T>);

type MappingWithin<T> = T extends object ? { readonly [K in keyof T]: Mapping<T[K]> } : T;

/** A task by its definition alone, or with settings. */
type Served<Spec extends VerifySpec, Task> = Task | (Omit<Spec, "task"> & { readonly task: Task });

/** As StepSpec, with definitions of tasks instead of their names. */
export interface TaskStepSpec<Id extends string, In, Out, InRead, OutRead>
  extends Omit<StepSettings, "id" | "input" | "verify" | "compensate" | "fallback"> {
  readonly id: Id;
  readonly task: TaskDefinition<In, Out, InRead, OutRead, "perform">;
  /** Default: "default". */
  readonly queue?: string;
  /** The task that finds out whether a lost attempt took effect; only with `verifiable`. */
  readonly verify?: Served<VerifySpec, TaskDefinition<In, Out, InRead, OutRead, "verify">>;
  /** The task that undoes the step. */
  readonly compensate?: Served<
    CompensateSpec,
    TaskDefinition<In, Out, InRead, OutRead, "compensate">
  >;
  /** Other ways to try the step, in this order, by tasks with the same types. */
  readonly fallback?: readonly TaskFallback<In, Out, InRead, OutRead>[];
}

export interface TaskFallback<In, Out, InRead, OutRead>
  extends Omit<FallbackSpec, "task" | "run" | "input"> {
  readonly task?: TaskDefinition<In, Out, InRead, OutRead, "perform">;
  /** Merged over the step's input, key by key. */
  readonly input?: Partial<MappingWithin<In>>;
}

/** A step and what is known of it: `Takes` is what the input of the run must be. */
export interface BoundStep<Id extends string = string, Takes = never, Out = unknown> {
  readonly id: Id;
  readonly spec: StepSpec;
  readonly output: StandardSchemaV1<unknown, Out>;
  /** For the compiler alone: a step without a mapping gets the input of the run. */
  readonly takes?: (input: Takes) => void;
}

/**
 * A step that performs a defined task. Its `input` may have expressions in place of any part, which
 * the server checks; without `input` it gets the input of the run.
 */
export function step<const Id extends string, In, Out, InRead, OutRead>(
  spec: TaskStepSpec<Id, In, Out, InRead, OutRead> & { readonly input?: never },
): BoundStep<Id, In, OutRead>;
// The last one is what the compiler explains a mistake by.
export function step<const Id extends string, In, Out, InRead, OutRead>(
  spec: TaskStepSpec<Id, In, Out, InRead, OutRead> & { readonly input?: Mapping<NoInfer<In>> },
): BoundStep<Id, unknown, OutRead>;
export function step<OutRead>(
  spec: TaskStepSpec<string, unknown, unknown, unknown, OutRead> & { readonly input?: unknown },
): BoundStep<string, never, OutRead> {
  const { task, verify, compensate, fallback, ...settings } = spec;
  return Object.freeze({
    id: spec.id,
    spec: {
      ...settings,
      task: task.name,
      ...(verify && { verify: named(verify) }),
      ...(compensate && { compensate: named(compensate) }),
      ...(fallback && { fallback: fallback.map(fallbackOf) }),
    },
    output: task.output,
  });
}

function named<Settings>(
  served: TaskDefinition | (Settings & { readonly task: TaskDefinition }),
): string | (Settings & { readonly task: string }) {
  return "name" in served ? served.name : { ...served, task: served.task.name };
}

function fallbackOf({
  task,
  ...fallback
}: TaskFallback<unknown, unknown, unknown, unknown>): FallbackSpec {
  return task ? { ...fallback, task: task.name } : fallback;
}
