/** `drover run pause` and `drover run resume`: hold a run, and let it go on. */

import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import {
  PauseRunResponseSchema,
  ResumeRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { runVerdict } from "../run-words.ts";
import { clean } from "../words.ts";

interface PauseOptions extends RunRefOptions {
  readonly reason?: string;
}

const why = "why, for people";

export function addRunPause(run: Command, ended: Ended): void {
  addRunRef(run.command("pause"))
    .description("hold a run: nothing new is handed out; what is with an agent goes on")
    .option("--reason <text>", why)
    .action(async (name: string | undefined, options: PauseOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, run: runRefOf(name, options), reason: options.reason ?? "" };
      const answer = await scheduler.pauseRun(request);
      output.data(PauseRunResponseSchema, answer);
      tell(answer.run, "resume", output);
      ended(exitCodes.done);
    });
  addRunRef(run.command("resume"))
    .description("let a paused run go on")
    .option("--reason <text>", why)
    .action(async (name: string | undefined, options: PauseOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, run: runRefOf(name, options), reason: options.reason ?? "" };
      const answer = await scheduler.resumeRun(request);
      output.data(ResumeRunResponseSchema, answer);
      tell(answer.run, "watch", output);
      ended(exitCodes.done);
    });
}

function tell(run: Run | undefined, next: string, output: Output): void {
  if (output.format !== "table" || run === undefined) return;
  const id = clean(run.runId);
  output.line(`run ${id} is ${runVerdict(run, output)}`);
  output.note(`  next: drover run ${next} ${id}`);
}
