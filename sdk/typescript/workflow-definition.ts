/**
 * Workflows as the programs that share them know them: the name, what the input may be, and what
 * the outputs of the steps are. A caller that starts a run by the definition is checked by the
 * compiler, and its input before it is sent.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { anything, type Given, type Received, type Schema, standard } from "./schema.ts";
import type { StepSpec, WorkflowSpec } from "./workflow.ts";
import type { BoundStep } from "./workflow-step.ts";

/** `Outputs` are the types of the outputs of steps, by their ids. */
export interface WorkflowDefinition<In = unknown, Outputs = unknown> {
  readonly name: string;
  readonly input: StandardSchemaV1<In>;
  readonly outputs: { readonly [Id in keyof Outputs]: StandardSchemaV1<unknown, Outputs[Id]> };
}

/** With its steps: `client.registerWorkflow(trip.spec)` registers it. */
export interface WorkflowWithSteps<In = unknown, Outputs = unknown>
  extends WorkflowDefinition<In, Outputs> {
  readonly spec: WorkflowSpec;
}

/** The outputs of the steps that are bound to a task. */
export type OutputsOf<Steps extends readonly unknown[]> = {
  readonly [Step in Extract<Steps[number], BoundStep> as Step["id"]]: Step extends BoundStep<
    string,
    never,
    infer Out
  >
    ? Out
    : never;
};

interface StepsOf<I extends Schema, Steps> extends Omit<WorkflowSpec, "workflow" | "steps"> {
  /** What the input of a run may be. Default: anything. */
  readonly input?: I;
  /** Steps bound to their tasks, `step({ ... })`, and any others. */
  readonly steps: Steps;
}

interface TypesOf<I extends Schema, O> {
  readonly input?: I;
  /** By the id of the step. */
  readonly outputs?: O;
  readonly steps?: never;
}

/**
 * Names a workflow and its types: with its steps, or, if they are defined elsewhere, such as in a
 * file, with the outputs of those that the caller reads.
 *
 *     const trip = defineWorkflow("trip", {
 *       input: Trip,
 *       steps: [step({ id: "flight", task: bookFlight })],
 *     });
 *     const other = defineWorkflow("other", { input: Trip, outputs: { flight: Booking } });
 */
export function defineWorkflow<
  I extends Schema = Schema,
  O extends Readonly<Record<string, Schema>> = Record<never, never>,
>(
  name: string,
  of?: TypesOf<I, O>,
): WorkflowDefinition<Given<I>, { readonly [Id in keyof O]: Received<O[Id]> }>;
// The last one is what the compiler explains a mistake by.
export function defineWorkflow<
  const Steps extends readonly (StepSpec | BoundStep<string, Given<I>>)[],
  I extends Schema = Schema,
>(name: string, of: StepsOf<I, Steps>): WorkflowWithSteps<Given<I>, OutputsOf<Steps>>;
export function defineWorkflow(
  name: string,
  of:
    | StepsOf<Schema, readonly (StepSpec | BoundStep)[]>
    | TypesOf<Schema, Readonly<Record<string, Schema>>> = {},
): WorkflowDefinition {
  const { input = anything } = of;
  if (of.steps !== undefined) {
    const { input: _, steps, ...settings } = of;
    const bound = steps.filter((one) => "spec" in one);
    return Object.freeze({
      name,
      input: standard(input),
      outputs: Object.fromEntries(bound.map(({ id, output }) => [id, output])),
      spec: {
        ...settings,
        workflow: name,
        steps: steps.map((one) => ("spec" in one ? one.spec : one)),
      },
    });
  }
  const outputs = Object.entries(of.outputs ?? {});
  return Object.freeze({
    name,
    input: standard(input),
    outputs: Object.fromEntries(outputs.map(([id, schema]) => [id, standard(schema)])),
  });
}
