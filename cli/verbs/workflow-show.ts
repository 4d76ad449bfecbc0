/** `drover workflow show`: a version as YAML, or what changed since another; its runs of a day. */
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import {
  type GetWorkflowResponse,
  GetWorkflowResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { clean, durationWords, timeWords } from "../words.ts";

const versionMax = 2 ** 31 - 1;
const none = 0;

interface Options {
  readonly version: number;
  readonly diff: number;
  readonly stats?: boolean;
}

export function addWorkflowShow(workflow: Command, ended: Ended): void {
  const version = wholeNumber(1, versionMax);
  workflow
    .command("show")
    .description("print the definition of a workflow as YAML, which workflow apply accepts")
    .argument("<name>", "name of the workflow")
    .option("--version <version>", "as 3; left out: the default", version, none)
    .option("--diff <version>", "print what changed since this version instead", version, none)
    .option("--stats", "also print the runs of 24 hours to standard error, as on a terminal")
    .action(async (name: string, options: Options, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const asked = { namespace, name, version: options.version, includeText: true };
      const answer = await scheduler.getWorkflow({ ...asked, includeStatistics: true });
      output.data(GetWorkflowResponseSchema, answer);
      if (output.format === "table") {
        if (options.stats || output.screen) printStatistics(answer, output);
        if (options.diff === none) output.line(answer.definitionText.trimEnd());
        else {
          const before = await scheduler.getWorkflow({ ...asked, version: options.diff });
          await printDiff(before, answer, output);
        }
      }
      ended(exitCodes.done);
    });
}

async function printDiff(
  before: GetWorkflowResponse,
  after: GetWorkflowResponse,
  output: Output,
): Promise<void> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import("diff");
  const nameOf = ({ workflow }: GetWorkflowResponse) =>
    `${workflow?.name ?? ""} v${workflow?.version ?? 0}`;
  const a = before.definitionText;
  const b = after.definitionText;
  if (a === b) {
    output.note(`${nameOf(before)} and v${after.workflow?.version ?? 0} have the same definition`);
    return;
  }
  const headers = { headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(nameOf(before), nameOf(after), a, b, "", "", headers);
  for (const line of patch.trimEnd().split("\n")) output.line(painted(line, output));
}

function painted(line: string, output: Output): string {
  if (line.startsWith("+")) return output.paint("green", line);
  return line.startsWith("-") ? output.paint("red", line) : line;
}

function printStatistics(answer: GetWorkflowResponse, output: Output): void {
  const { statistics: of, failingSteps, moreFailingSteps, workflow } = answer;
  if (!of) return;
  const ended = of.completed + of.failed + of.compensated + of.cancelled;
  const name = `${clean(workflow?.name ?? "")} v${workflow?.version ?? 0}`;
  output.note(
    `# ${name}; runs of all versions that ended since ${timeWords(of.sinceTime)}: ${ended}`,
  );
  if (ended > 0) {
    const share = (Math.floor((of.completed / ended) * 1_000) / 10).toFixed(1);
    output.note(
      `#   completed ${of.completed} (${share} %), failed ${of.failed}, compensated ${of.compensated}, cancelled ${of.cancelled}`,
    );
  }
  if (of.p50)
    output.note(`#   p50 ${words(of.p50)}, p95 ${words(of.p95)} of completed runs, within 10 %`);
  for (const { stepId, undo, code, failedSteps, failedAttempts, lastTime } of failingSteps)
    output.note(
      `#   ${undo ? "compensation of " : ""}${clean(stepId)}: ${clean(code)}, failed ${failedSteps}, failed attempts ${failedAttempts}, last ${timeWords(lastTime)}`,
    );
  if (moreFailingSteps) output.note("#   more steps fail, less often");
}

function words(duration: Duration | undefined): string {
  return duration ? durationWords(durationMs(duration)) : "";
}
