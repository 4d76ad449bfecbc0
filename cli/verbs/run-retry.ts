/** `drover run retry` and `drover run rerun`: repeat a run that has ended, as a new run. */
import {
  RerunFromResponseSchema,
  RerunVersion,
  RetryRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { readPayload } from "../input.ts";
import type { Output } from "../output.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { clean } from "../words.ts";

interface RetryOptions extends RunRefOptions {
  readonly version: "same" | "newest";
  readonly requestId?: string;
}

interface RerunOptions extends RetryOptions {
  readonly from?: string;
  readonly input?: string;
}

const versions = { same: RerunVersion.SAME, newest: RerunVersion.NEWEST };

export function addRunRetry(run: Command, ended: Ended): void {
  addAgain(addRunRef(run.command("retry")))
    .description("do a run again from what failed, as a new run that keeps what succeeded")
    .action(async (name: string | undefined, options: RetryOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const asked = { namespace, run: runRefOf(name, options), ...askedBy(options) };
      const answer = await scheduler.retryRun(asked);
      output.data(RetryRunResponseSchema, answer);
      tell(answer, output);
      ended(exitCodes.done);
    });
  addAgain(addRunRef(run.command("rerun")))
    .description("do a run again from a step, as a new run that keeps what came before")
    .option("--from <step>", "the step; left out: from the start, and nothing is kept")
    .option("--input <json>", "another input: JSON, or @FILE, or @- for a pipe")
    .action(async (name: string | undefined, options: RerunOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const { from: stepId = "" } = options;
      const input = readPayload(options.input, "--input");
      const asked = { namespace, run: runRefOf(name, options), stepId, ...askedBy(options) };
      const answer = await scheduler.rerunFrom({ ...asked, ...(input && { input }) });
      output.data(RerunFromResponseSchema, answer);
      tell(answer, output);
      ended(exitCodes.done);
    });
}

function addAgain(command: Command): Command {
  return command
    .addOption(
      new Option("--version <which>", "the version of the run, or the newest of its workflow")
        .choices(["same", "newest"])
        .default("same"),
    )
    .option("--request-id <name>", "your own name for this; makes repeating the command safe");
}

function askedBy({ version, requestId }: RetryOptions) {
  return { requestId: requestId ?? crypto.randomUUID(), version: versions[version] };
}

function tell(
  { runId, created }: { readonly runId: string; readonly created: boolean },
  output: Output,
): void {
  const id = clean(runId);
  if (output.format === "table")
    output.line(created ? `started run ${id}` : `run ${id} was started before by this request`);
  output.next(`drover run watch ${id}`);
}
