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
    .description("start a new run that reuses the steps that succeeded, and repeats the others")
    .action(async (name: string | undefined, options: RetryOptions, command: Command) => {
      const { output, connect } = contextOf(command, { names: true });
      const { scheduler, namespace } = connect();
      const asked = { namespace, run: runRefOf(name, options), ...askedBy(options) };
      const answer = await scheduler.retryRun(asked);
      output.data(RetryRunResponseSchema, answer);
      printStarted(answer, output);
      ended(exitCodes.done);
    });
  addAgain(addRunRef(run.command("rerun")))
    .description("start a new run that repeats a run from a step on, and reuses earlier steps")
    .option("--from <step>", "the step to start from; default: the start of the run")
    .option("--input <json>", "another input: JSON, or @FILE, or @- for a pipe")
    .action(async (name: string | undefined, options: RerunOptions, command: Command) => {
      const { output, connect } = contextOf(command, { names: true });
      const { scheduler, namespace } = connect();
      const { from: stepId = "" } = options;
      const input = readPayload(options.input, "--input");
      const asked = { namespace, run: runRefOf(name, options), stepId, ...askedBy(options) };
      const answer = await scheduler.rerunFrom({ ...asked, ...(input && { input }) });
      output.data(RerunFromResponseSchema, answer);
      printStarted(answer, output);
      ended(exitCodes.done);
    });
}

function addAgain(command: Command): Command {
  return command
    .addOption(
      new Option("--version <which>", "the version of the old run, or the newest of its workflow")
        .choices(["same", "newest"])
        .default("same"),
    )
    .option("--request-id <name>", "your own id of this request; makes repeating the command safe");
}

function askedBy({ version, requestId }: RetryOptions) {
  return { requestId: requestId ?? crypto.randomUUID(), version: versions[version] };
}

function printStarted(
  { runId, created }: { readonly runId: string; readonly created: boolean },
  output: Output,
): void {
  const id = clean(runId);
  output.names([runId]);
  if (output.format === "table")
    output.line(created ? `started run ${id}` : `run ${id} was already started by this request`);
  output.next(`drover run watch ${id}`);
}
