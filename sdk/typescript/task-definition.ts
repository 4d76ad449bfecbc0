/**
 * Tasks as the programs that share them know them: the name, and what input and output may be. The
 * handler, the step of a workflow and the test of a handler take the same definition, so that the
 * compiler finds where they differ.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { anything, type Given, type Received, type Schema, standard } from "./schema.ts";

/** What a task does for its step: the work, finding out whether it was done, or undoing it. */
export type TaskKind = "perform" | "verify" | "compensate";

/**
 * `In` and `Out` are the types of values as they are given, `InRead` and `OutRead` as they are
 * read, which differ where a schema converts. For a task that verifies or compensates, they are
 * those of the task that it serves.
 */
export interface TaskDefinition<
  In = unknown,
  Out = unknown,
  InRead = unknown,
  OutRead = unknown,
  Kind extends TaskKind = TaskKind,
> {
  readonly name: string;
  readonly kind: Kind;
  readonly input: StandardSchemaV1<In, InRead>;
  readonly output: StandardSchemaV1<Out, OutRead>;
}

/** What may be known of a task; without a schema a value may be anything. */
export interface TaskSchemas<I extends Schema, O extends Schema> {
  readonly input?: I;
  readonly output?: O;
  readonly verifies?: never;
  readonly compensates?: never;
}

/**
 * Names a task and its types.
 *
 *     const bookFlight = defineTask("book-flight", { input: Trip, output: Booking });
 *     const findFlight = defineTask("find-flight", { verifies: bookFlight });
 *     const cancelFlight = defineTask("cancel-flight", { compensates: bookFlight });
 *
 * `Trip` and `Booking` are schemas, functions that read a value, or `unchecked<Trip>()` for a type
 * that is not checked at run time.
 */
export function defineTask<In, Out, InRead, OutRead>(
  name: string,
  of: { readonly verifies: TaskDefinition<In, Out, InRead, OutRead, "perform"> },
): TaskDefinition<In, Out, InRead, OutRead, "verify">;
export function defineTask<In, Out, InRead, OutRead>(
  name: string,
  of: { readonly compensates: TaskDefinition<In, Out, InRead, OutRead, "perform"> },
): TaskDefinition<In, Out, InRead, OutRead, "compensate">;
// The last one is what the compiler explains a mistake by.
export function defineTask<I extends Schema = Schema, O extends Schema = Schema>(
  name: string,
  schemas?: TaskSchemas<I, O>,
): TaskDefinition<Given<I>, Given<O>, Received<I>, Received<O>, "perform">;
export function defineTask(
  name: string,
  of:
    | TaskSchemas<Schema, Schema>
    | { readonly verifies: TaskDefinition; readonly compensates?: never }
    | { readonly compensates: TaskDefinition; readonly verifies?: never } = {},
): TaskDefinition {
  if (of.verifies) return Object.freeze({ ...of.verifies, name, kind: "verify" });
  if (of.compensates) return Object.freeze({ ...of.compensates, name, kind: "compensate" });
  const { input = anything, output = anything } = of;
  return Object.freeze({
    name,
    kind: "perform",
    input: standard(input),
    output: standard(output),
  });
}
