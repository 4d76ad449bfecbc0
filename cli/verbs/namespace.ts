/** `drover namespace pause` and `resume`: hold all queues of the namespace, and let them go on. */
import {
  PauseNamespaceResponseSchema,
  ResumeNamespaceResponseSchema,
} from "@drover/proto/drover/v1/queue_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { clean, pauseWords } from "../words.ts";

export function addNamespaceVerbs(noun: Command, ended: Ended): void {
  noun
    .command("pause")
    .description("hand out nothing new in the namespace; what is with an agent goes on")
    .option("--reason <text>", "why, for people", "")
    .action(async ({ reason }: { reason: string }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.pauseNamespace({ namespace, reason });
      output.data(PauseNamespaceResponseSchema, answer);
      const words = pauseWords(answer.pause);
      if (output.format === "table")
        output.line(`namespace ${clean(namespace)} is paused ${words}`);
      output.note("  next: drover namespace resume");
      ended(exitCodes.done);
    });
  noun
    .command("resume")
    .description("hand out again what waits in the namespace; queues paused by name stay so")
    .action(async (_options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.resumeNamespace({ namespace });
      output.data(ResumeNamespaceResponseSchema, answer);
      if (output.format === "table") output.line(`namespace ${clean(namespace)} is not paused`);
      ended(exitCodes.done);
    });
}
