/**
 * `drover workflow check`, without a server; `apply`, which registers a version; `versions`,
 * `default`.
 */
import {
  type GetWorkflowResponse,
  GetWorkflowResponseSchema,
  RegisterWorkflowResponseSchema,
  SetDefaultVersionResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  WorkflowDefinitionSchema,
  WorkflowVersionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Command } from "commander";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { failureOf } from "../failure-of.ts";
import { readText } from "../input.ts";
import { writeList } from "../lists.ts";
import type { Output } from "../output.ts";
import { printTable } from "../table.ts";
import { textRefusal } from "../text-refusal.ts";
import { clean, pauseWords } from "../words.ts";
import { checkedFile } from "../workflow-file.ts";
import { addWorkflowGraph } from "./graph.ts";
import { addWorkflowDurations } from "./workflow-durations.ts";
import { addWorkflowList } from "./workflow-list.ts";
import { addWorkflowPause } from "./workflow-pause.ts";
import { addWorkflowShow } from "./workflow-show.ts";
import { addWorkflowTest } from "./workflow-test.ts";

export function addWorkflowVerbs(workflow: Command, ended: Ended): void {
  workflow
    .command("check")
    .description(
      "check a workflow file, without a server; problems are listed with line and column",
    )
    .argument("<file>", "a workflow in YAML or JSON; - for a pipe")
    .action(async (file: string, _options: unknown, command: Command) => {
      const { output } = contextOf(command);
      const { definition, notes } = await checkedFile(file);
      output.data(WorkflowDefinitionSchema, definition);
      const count = definition.steps.length === 1 ? "1 step" : `${definition.steps.length} steps`;
      if (output.format === "table")
        output.line(`${file}: ${definition.workflow}, ${count}, is valid`);
      for (const { path, message } of notes) output.note(`  note: ${path}: ${message}`);
      output.next(`drover workflow apply ${file}`);
      ended(exitCodes.done);
    });
  workflow
    .command("apply")
    .description("register a workflow file; unchanged content keeps its version")
    .argument("<file>", "a workflow in YAML or JSON; - for a pipe")
    .option("--keep-default", "do not change the default version")
    .action(async (file: string, options: { keepDefault?: boolean }, command: Command) => {
      const context = contextOf(command);
      const { output } = context;
      const { scheduler, namespace } = context.connect();
      const source = { case: "text" as const, value: readText(file) };
      const keepDefault = options.keepDefault ?? false;
      const answer = await scheduler
        .registerWorkflow({ namespace, source, keepDefault })
        .catch((error: unknown) => {
          const failure = failureOf(error, context.address);
          throw failure.fields.length > 0 ? textRefusal(file, failure.fields) : failure;
        });
      output.data(RegisterWorkflowResponseSchema, answer);
      const name = clean(answer.name);
      const did = answer.created ? "registered" : "was already registered";
      if (output.format === "table") output.line(`${name} v${answer.version} ${did}`);
      output.next(`drover run start ${name} --watch`);
      ended(exitCodes.done);
    });
  addWorkflowList(workflow, ended);
  addWorkflowShow(workflow, ended);
  addWorkflowGraph(workflow, ended);
  addWorkflowTest(workflow, ended);
  addVersions(workflow, ended);
  addWorkflowDurations(workflow, ended);
  addDefault(workflow, ended);
  addWorkflowPause(workflow, ended);
}

function addVersions(workflow: Command, ended: Ended): void {
  workflow
    .command("versions")
    .description("list the versions of a workflow, and the number of open runs of each")
    .argument("<name>", "name of the workflow")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.getWorkflow({ namespace, name, includeVersions: true });
      const items = [WorkflowVersionSchema, answer.versions] as const;
      writeList(output, [GetWorkflowResponseSchema, answer], items);
      if (output.format === "table") printVersions(answer, output);
      ended(exitCodes.done);
    });
}

function printVersions({ workflow, versions }: GetWorkflowResponse, output: Output): void {
  const rows = versions.map(({ version, createdTime, openRuns }) => [
    `v${version}`,
    version === workflow?.defaultVersion ? "default" : "",
    `${openRuns}${openRuns === openRunsMax ? " or more" : ""}`,
    output.when(createdTime),
  ]);
  printTable(output, ["VERSION", "DEFAULT", "OPEN RUNS", "REGISTERED"], rows);
  if (workflow?.pause) output.note(`paused ${pauseWords(workflow.pause)}`);
  output.next(`drover workflow default ${clean(workflow?.name ?? "")} VERSION`);
}

/** The server counts up to this number. */
const openRunsMax = 10_000;
const versionMax = 2 ** 31 - 1;

function addDefault(workflow: Command, ended: Ended): void {
  workflow
    .command("default")
    .description("set the default version of a workflow, forward or back")
    .argument("<name>", "name of the workflow")
    .argument("<version>", "the version, as 3", wholeNumber(1, versionMax))
    .action(async (name: string, version: number, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.setDefaultVersion({ namespace, name, version });
      output.data(SetDefaultVersionResponseSchema, answer);
      const moved = answer.previousVersion !== answer.version;
      if (output.format === "table")
        output.line(
          `the default of ${clean(name)} is v${answer.version}, ${moved ? `was v${answer.previousVersion}` : "unchanged"}`,
        );
      if (moved)
        output.note(`  back: drover workflow default ${clean(name)} ${answer.previousVersion}`);
      ended(exitCodes.done);
    });
}
