/** `drover run pause` and `drover run resume`: pause and resume a run. */
import {
  PauseRunResponseSchema,
  ResumeRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { printRunState } from "../run-words.ts";

interface PauseOptions extends RunRefOptions {
  readonly reason?: string;
}

const why = "the reason";

export function addRunPause(run: Command, ended: Ended): void {
  addRunRef(run.command("pause"))
    .description("stop handing out tasks of a run; agents finish the tasks that they have")
    .option("--reason <text>", why)
    .action(async (name: string | undefined, options: PauseOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, run: runRefOf(name, options), reason: options.reason ?? "" };
      const answer = await scheduler.pauseRun(request);
      output.data(PauseRunResponseSchema, answer);
      printRunState(answer.run, output, "resume");
      ended(exitCodes.done);
    });
  addRunRef(run.command("resume"))
    .description("resume a paused run")
    .option("--reason <text>", why)
    .action(async (name: string | undefined, options: PauseOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, run: runRefOf(name, options), reason: options.reason ?? "" };
      const answer = await scheduler.resumeRun(request);
      output.data(ResumeRunResponseSchema, answer);
      printRunState(answer.run, output, "watch");
      ended(exitCodes.done);
    });
}
