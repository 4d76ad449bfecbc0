/** `drover workflow pause` and `resume`: pause and resume the tasks of all runs of a workflow. */
import {
  PauseWorkflowResponseSchema,
  ResumeWorkflowResponseSchema,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Command } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { clean, pauseWords } from "../words.ts";

export function addWorkflowPause(noun: Command, ended: Ended): void {
  addChangeOptions(noun.command("pause"), { reason: "optional" })
    .description("stop handing out tasks of all runs of a workflow, including future runs")
    .argument("<name>", "name of the workflow")
    .action(async (workflow: string, { reason }: ReasonOptions, command: Command) => {
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
    .description("hand out tasks of the runs of a workflow again")
    .argument("<name>", "name of the workflow")
    .action(async (workflow: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.resumeWorkflow({ namespace, workflow });
      output.data(ResumeWorkflowResponseSchema, answer);
      if (output.format === "table") output.line(`workflow ${clean(workflow)} resumed`);
      ended(exitCodes.done);
    });
}
