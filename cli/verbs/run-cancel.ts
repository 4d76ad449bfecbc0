/** `drover run cancel`: stops a run, and undoes or leaves what it has done. */
import { CancelRunResponseSchema, Undo } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { printRunState } from "../run-words.ts";

interface CancelOptions extends RunRefOptions, ReasonOptions {
  readonly leave?: boolean;
}

export function addRunCancel(run: Command, ended: Ended): void {
  addChangeOptions(addRunRef(run.command("cancel")), { reason: "optional" })
    .description("stop a run, and compensate completed steps in reverse order")
    .option("--leave", "do not compensate; this also ends an escalated run")
    .action(async (name: string | undefined, options: CancelOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.cancelRun({
        namespace,
        run: runRefOf(name, options),
        undo: options.leave ? Undo.LEAVE : Undo.COMPENSATE,
        reason: options.reason,
      });
      output.data(CancelRunResponseSchema, answer);
      printRunState(answer.run, output);
      ended(exitCodes.done);
    });
}
