/** `drover workflow pause` and `resume`: pause and resume the tasks of all runs of a workflow. */
import {
  PauseWorkflowResponseSchema,
  ResumeWorkflowResponseSchema,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { clean, pauseWords } from "../words.ts";

export function addWorkflowPause(noun: Command, ended: Ended): void {
  noun
    .command("pause")
    .description("hand out nothing new for the runs of a workflow, also of those to come")
    .argument("<name>", "name of the workflow")
    .option("--reason <text>", "why, for people", "")
    .action(async (workflow: string, { reason }: { reason: string }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.pauseWorkflow({ namespace, workflow, reason });
      output.data(PauseWorkflowResponseSchema, answer);
      const words = pauseWords(answer.pause);
      if (output.format === "table") output.line(`workflow ${clean(workflow)} is paused ${words}`);
      output.next(`drover workflow resume ${clean(workflow)}`);
      ended(exitCodes.done);
    });
  noun
    .command("resume")
    .description("hand out again what waits of the runs of a workflow")
    .argument("<name>", "name of the workflow")
    .action(async (workflow: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.resumeWorkflow({ namespace, workflow });
      output.data(ResumeWorkflowResponseSchema, answer);
      if (output.format === "table") output.line(`workflow ${clean(workflow)} is not paused`);
      ended(exitCodes.done);
    });
}
