/** `drover run pause` and `drover run resume`: pause and resume a run. */
import {
  PauseRunResponseSchema,
  ResumeRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { printRunState } from "../run-words.ts";

interface PauseOptions extends RunRefOptions, ReasonOptions {}

export function addRunPause(run: Command, ended: Ended): void {
  addChangeOptions(addRunRef(run.command("pause")), { reason: "optional" })
    .description("stop handing out tasks of a run; agents finish the tasks that they have")
    .action(async (name: string | undefined, options: PauseOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, run: runRefOf(name, options), reason: options.reason };
      const answer = await scheduler.pauseRun(request);
      output.data(PauseRunResponseSchema, answer);
      printRunState(answer.run, output, "resume");
      ended(exitCodes.done);
    });
  addChangeOptions(addRunRef(run.command("resume")), { reason: "optional" })
    .description("resume a paused run")
    .action(async (name: string | undefined, options: PauseOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, run: runRefOf(name, options), reason: options.reason };
      const answer = await scheduler.resumeRun(request);
      output.data(ResumeRunResponseSchema, answer);
      printRunState(answer.run, output, "watch");
      ended(exitCodes.done);
    });
}
