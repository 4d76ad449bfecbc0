/** The outputs of a run, with the types of its definition. */
import type { CallControl } from "./call.ts";
import type { RunName } from "./run-name.ts";
import type { RunQueries } from "./run-queries.ts";
import type { RunWatch } from "./run-watch.ts";
import type { Run } from "./runs.ts";
import { check, textOf } from "./schema.ts";
import type { WorkflowDefinition } from "./workflow-definition.ts";

/** By the ids of steps; absent: the step was skipped, or has no output. */
export type RunOutputs<Outputs> = { readonly [Id in keyof Outputs]?: Outputs[Id] };

/** A run ended in another way than with success. */
export class RunNotCompletedError extends Error {
  override readonly name = "RunNotCompletedError";
  readonly run: Run;

  constructor(run: Run) {
    super(`The run ${run.runId} of ${run.workflow} ended as ${run.state}: ${run.summary}`);
    this.run = run;
  }
}

export interface OutputQueries {
  /**
   * Waits without a limit until the run has ended or the signal is aborted, and returns the outputs
   * of the steps that the definition names. Throws RunNotCompletedError if the run did not
   * complete, and TypeError for an output that its schema does not allow.
   */
  waitOutputs<Outputs>(
    workflow: WorkflowDefinition<unknown, Outputs>,
    run: RunName,
    options?: CallControl,
  ): Promise<RunOutputs<Outputs>>;
}

export function createOutputQueries({ waitRun }: RunWatch, { getRun }: RunQueries): OutputQueries {
  return Object.freeze({
    async waitOutputs<Outputs>(
      { outputs }: WorkflowDefinition<unknown, Outputs>,
      name: RunName,
      control: CallControl = {},
    ): Promise<RunOutputs<Outputs>> {
      const run = await waitRun(name, control);
      if (run.state !== "COMPLETED") throw new RunNotCompletedError(run);
      const { steps } = await getRun(run.runId, control);
      const read: { [Id in keyof Outputs]?: Outputs[Id] } = {};
      for (const id in outputs) {
        const output = steps.find((one) => one.id === id)?.output;
        if (output === undefined) continue;
        const checked = await check(outputs[id], output);
        if (checked.kind === "invalid")
          throw new TypeError(
            `The output of ${id} in run ${run.runId} is not as expected: ${textOf(checked.problems)}`,
          );
        read[id] = checked.value;
      }
      return read;
    },
  });
}
