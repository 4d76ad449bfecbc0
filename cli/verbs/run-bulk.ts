/**
 * `drover run bulk cancel|pause|resume|retry|signal|rerun|erase`: one action on all runs that match
 * a filter. It counts the runs first and asks; the server then refuses if it finds another number.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type BulkActionRequestSchema,
  BulkKind,
  type BulkResult,
  BulkResultSchema,
  RerunVersion,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Argument, type Command, Option } from "commander";
import { addChangeOptions, type ReasonOptions } from "../change-options.ts";
import { confirm } from "../confirm.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import type { Output } from "../output.ts";
import { clean } from "../words.ts";
import { addRunFilter, type FilterOptions, filterOf, QUERY_WORDS } from "./run-list.ts";

interface BulkOptions extends FilterOptions, ReasonOptions {
  readonly leave?: boolean;
  readonly version: "same" | "newest";
  readonly name?: string;
  readonly payload?: string;
  readonly from?: string;
  readonly input?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly requestId?: string;
}

const kinds = {
  cancel: BulkKind.CANCEL,
  pause: BulkKind.PAUSE,
  resume: BulkKind.RESUME,
  retry: BulkKind.RETRY,
  signal: BulkKind.SIGNAL,
  rerun: BulkKind.RERUN,
  erase: BulkKind.ERASE,
};
type Action = keyof typeof kinds;
type Given = readonly [options: BulkOptions, command: Command];
const versions = { same: RerunVersion.SAME, newest: RerunVersion.NEWEST };
const runsMax = 10_000;
/** A page is up to 100 runs. */
const callMsMax = 60_000;

export function addRunBulk(run: Command, ended: Ended): void {
  addChangeOptions(addRunFilter(run.command("bulk")), { reason: "optional" })
    .description(
      "cancel, pause, resume, retry, signal, rerun or erase all runs that match a filter; asks first",
    )
    .addArgument(new Argument("<action>", "what to do").choices(Object.keys(kinds)))
    .argument("[filter...]", QUERY_WORDS)
    .option("--leave", "cancel: do not compensate completed steps")
    .addOption(
      new Option("--version <which>", "retry, rerun: the version of the run, or the newest")
        .choices(["same", "newest"])
        .default("same"),
    )
    .option("--name <name>", "signal: its name")
    .option("--payload <json>", "signal: its payload: JSON, or @FILE, or @- for a pipe")
    .option("--from <step>", "rerun: the step to start from; default: the start of the run")
    .option("--input <json>", "rerun: another input for all runs: JSON, or @FILE, or @- for a pipe")
    .option("--dry-run", "count, and change nothing")
    .option("--yes", "do not ask")
    .option("--request-id <name>", "your own id of this request; makes repeating the command safe")
    .action(async (action: Action, query: readonly string[], ...[options, command]: Given) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const request = { namespace, ...askedBy(action, { ...options, query }) };
      const { count } = await scheduler.bulkAction({ ...request, dryRun: true });
      const found = `${count > runsMax ? "more than 10000" : count} ${count === 1 ? "run" : "runs"}`;
      if (options.dryRun || count === 0) {
        output.line(`${action}: ${found}`);
        ended(exitCodes.done);
        return;
      }
      await confirm(`${action} ${found}?`, options);
      const requestId = options.requestId ?? crypto.randomUUID();
      if (options.requestId === undefined)
        output.note(`if it is interrupted: repeat it with --request-id ${requestId}`);
      const counts = { done: 0, refused: 0 };
      let pageToken = "";
      do {
        const page = await scheduler.bulkAction(
          { ...request, requestId, expectedCount: count, pageToken },
          { timeoutMs: callMsMax },
        );
        for (const result of page.results) printResult(result, counts, output);
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      if (output.format === "table")
        output.line(`${action}: ${counts.done} done, ${counts.refused} refused`);
      ended(counts.refused === 0 ? exitCodes.done : exitCodes.failed);
    });
}

function askedBy(
  action: Action,
  { leave, version, reason, name = "", from = "", ...options }: BulkOptions,
): MessageInitShape<typeof BulkActionRequestSchema> {
  // The dry run does not check the name, so it is checked before the user is asked to confirm.
  if (action === "signal" && name === "") throw usageFailure("a signal has a name", "--name NAME");
  if (action === "erase" && reason === "" && !options.dryRun)
    throw usageFailure("the audit keeps why runs were erased", "--reason TEXT");
  const { payload: carried, input: changed, ...filter } = options;
  const payload = readPayload(carried, "--payload");
  const input = readPayload(changed, "--input");
  return {
    filter: filterOf(filter),
    kind: kinds[action],
    undo: leave ? Undo.LEAVE : Undo.COMPENSATE,
    version: versions[version],
    reason,
    signalName: name,
    stepId: from,
    ...(payload && { payload }),
    ...(input && { input }),
  };
}

function printResult(
  result: BulkResult,
  counts: { done: number; refused: number },
  output: Output,
): void {
  output.data(BulkResultSchema, result);
  const done = result.status?.code === 0;
  counts[done ? "done" : "refused"] += 1;
  if (!done) output.note(`${clean(result.runId)}: ${clean(result.status?.message ?? "refused")}`);
}
