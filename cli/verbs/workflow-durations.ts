/** `drover workflow durations`: how long the steps of a version take, and when one is slow. */
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import { GetWorkflowResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type StepDurations, StepDurationsSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Command } from "commander";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { writeList } from "../lists.ts";
import { printTable } from "../table.ts";
import { clean, durationWords } from "../words.ts";

const versionMax = 2 ** 31 - 1;

export function addWorkflowDurations(workflow: Command, ended: Ended): void {
  workflow
    .command("durations")
    .description("show how long the steps of a workflow take, and when an attempt is suspect")
    .argument("<name>", "name of the workflow")
    .option("--version <version>", "as 3; left out: the default", wholeNumber(1, versionMax), 0)
    .action(async (name: string, { version }: { version: number }, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const asked = { namespace, name, version, includeDurations: true };
      const answer = await scheduler.getWorkflow(asked);
      const items = [StepDurationsSchema, answer.durations] as const;
      writeList(output, [GetWorkflowResponseSchema, answer], items);
      if (output.format === "table") {
        const headers = ["STEP", "ATTEMPTS", "P50", "P90", "P99", "SUSPECT AFTER"];
        printTable(output, headers, answer.durations.map(cells));
        const what = `${clean(name)} v${answer.workflow?.version ?? version}`;
        if (answer.durations.length === 0)
          output.note(`no attempt of ${what} has succeeded more than a minute ago`);
      }
      ended(exitCodes.done);
    });
}

function cells(of: StepDurations): string[] {
  const step = `${clean(of.stepId)}${of.ofItems ? "[]" : ""}`;
  return [step, String(of.samples), ...[of.p50, of.p90, of.p99, of.slowAfter].map(words)];
}

function words(duration: Duration | undefined): string {
  return duration ? durationWords(durationMs(duration)) : "";
}
