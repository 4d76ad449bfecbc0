/** `drover run list`: runs by filter, newest first, page by page up to a limit. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type Run, RunSchema, RunState, type RunSubstate } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type ListRunsResponse,
  ListRunsResponseSchema,
  type RunFilterSchema,
  RunOrder,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import type { Connection } from "../client.ts";
import { addLabel, contextOf, parseTime, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { limitMax, noteMore, readPages, stateOption, substateOption, writeList } from "../lists.ts";
import type { Output } from "../output.ts";
import { runStatus, workflowWords } from "../run-words.ts";
import { printTable } from "../table.ts";
import { between, clean, labelWords, timeWords } from "../words.ts";

export interface FilterOptions {
  /** Conditions in the text form of the server. */
  readonly query?: readonly string[];
  readonly state?: readonly RunState[];
  readonly substate?: readonly RunSubstate[];
  readonly workflow?: string;
  readonly parent?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly createdAfter?: Timestamp;
  readonly createdBefore?: Timestamp;
}

interface ListOptions extends FilterOptions {
  readonly order: "newest" | "oldest";
  readonly limit: number;
}

export function addRunList(run: Command, ended: Ended): void {
  addRunFilter(run.command("list"))
    .description("list runs")
    .addOption(
      new Option("--order <order>", "the order of the list")
        .choices(["newest", "oldest"])
        .default("newest"),
    )
    .option("--limit <n>", "most runs to list", wholeNumber(1, limitMax), 50)
    .argument("[filter...]", QUERY_WORDS)
    .action(async (query: readonly string[], options: ListOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const answer = await listRuns({ ...options, query }, connect());
      print(answer, options, output);
      ended(exitCodes.done);
    });
}

export const QUERY_WORDS =
  "conditions, all of which a run must meet: state:failed waits:approval workflow:NAME step:ID error:CODE key:KEY key^:BEGINNING label.NAME=VALUE created>2026-01-31 ended<now-2h";

/** The options of the filter. */
export function addRunFilter(command: Command): Command {
  return command
    .addOption(stateOption("only runs in this state", RunState))
    .addOption(substateOption())
    .option("--workflow <name>", "only runs of this workflow")
    .option("--parent <run>", "only child runs of this run")
    .option("--label <key=value>", "only runs with this label; may be given again", addLabel)
    .option(
      "--created-after <time>",
      "only runs created from this time on, as 2026-01-31",
      parseTime,
    )
    .option(
      "--created-before <time>",
      "only runs created before this time, as 2026-01-31T12:00Z",
      parseTime,
    );
}

export function filterOf(options: FilterOptions): MessageInitShape<typeof RunFilterSchema> {
  const {
    query = [],
    state,
    substate,
    workflow,
    parent,
    label,
    createdAfter,
    createdBefore,
  } = options;
  return {
    query: query.map(quotedValue).join(" "),
    states: [...(state ?? [])],
    substates: [...(substate ?? [])],
    workflow: workflow ?? "",
    parentRunId: parent ?? "",
    labels: { ...label },
    ...(createdAfter ? { createdAfter } : {}),
    ...(createdBefore ? { createdBefore } : {}),
  };
}

/** A shell takes the quotes from `key:"two words"`. */
function quotedValue(condition: string): string {
  const [, head = "", value = ""] = /^([^:<>=^]+(?:\^:|[<>]=|[:<>=]))(.*)$/s.exec(condition) ?? [];
  if (!/\s/.test(value) || value.startsWith('"')) return condition;
  return `${head}"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

async function listRuns(
  options: ListOptions,
  { scheduler, namespace }: Connection,
): Promise<ListRunsResponse> {
  const { order, limit } = options;
  const request = {
    namespace,
    filter: filterOf(options),
    order: order === "oldest" ? RunOrder.CREATED_ASC : RunOrder.CREATED_DESC,
  };
  const { items: runs, nextPageToken } = await readPages<Run>(limit, async (page) => {
    const answer = await scheduler.listRuns({ ...request, ...page });
    return { items: answer.runs, nextPageToken: answer.nextPageToken };
  });
  return create(ListRunsResponseSchema, { runs, nextPageToken });
}

function print(answer: ListRunsResponse, { limit }: ListOptions, output: Output): void {
  const { runs } = answer;
  writeList(output, [ListRunsResponseSchema, answer], [RunSchema, runs]);
  if (output.format === "table" && runs.length > 0) {
    const headers = ["RUN", "WORKFLOW", "STATE", "CREATED", "TOOK", "KEY", "LABELS"];
    printTable(
      output,
      headers,
      runs.map((run) => [
        clean(run.runId),
        workflowWords(run),
        runStatus(run, output),
        timeWords(run.createdTime),
        between(run.createdTime, run.endedTime),
        clean(run.key),
        labelWords(run.labels),
      ]),
    );
  }
  if (runs.length === 0) output.note("no runs\n  next: drover run start WORKFLOW");
  noteMore(answer, limit, output);
}
