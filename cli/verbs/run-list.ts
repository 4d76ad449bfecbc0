/** `drover run list`: runs by filter, newest first, page by page up to a limit. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type Run, RunSchema, RunState, type RunSubstate } from "@drover/proto/drover/v1/run_pb.ts";
import {
  ListRunsResponseSchema,
  type RunFilterSchema,
  RunOrder,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import type { Connection } from "../client.ts";
import { addLabel, parseTime, wholeNumber } from "../context.ts";
import type { Ended } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, type Page, readPages, stateOption, substateOption } from "../lists.ts";
import { runStatus, workflowWords } from "../run-words.ts";
import { runStateWord } from "../state-words.ts";
import { between, clean, labelWords } from "../words.ts";

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
  const verb = addRunFilter(run.command("list"))
    .description("list runs")
    .addOption(
      new Option("--order <order>", "the order of the list")
        .choices(["newest", "oldest"])
        .default("newest"),
    )
    .option("--limit <n>", "most runs to list", wholeNumber(1, limitMax), 50)
    .argument("[filter...]", QUERY_WORDS);
  addList(verb, ended, {
    headers: ["RUN", "WORKFLOW", "STATE", "CREATED", "TOOK", "KEY", "LABELS"],
    read: readRuns,
    item: RunSchema,
    document: ({ items: runs, nextPageToken }) =>
      documentOf(ListRunsResponseSchema, { runs, nextPageToken }),
    row: (run, output) => [
      clean(run.runId),
      workflowWords(run),
      runStatus(run, output),
      output.when(run.createdTime),
      between(run.createdTime, run.endedTime),
      clean(run.key),
      labelWords(run.labels),
    ],
    nameOf: ({ runId }) => runId,
    none: "no runs\n  next: drover run start WORKFLOW",
  });
}

export const QUERY_WORDS =
  "conditions, all of which a run must meet: state:failed waits:approval workflow:NAME step:ID error:CODE key:KEY key^:BEGINNING label.NAME=VALUE created>2026-01-31 ended<now-2h";

/** The options of the filter. */
export function addRunFilter(command: Command): Command {
  return command
    .addOption(stateOption("only runs in this state", RunState, runStateWord))
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

function readRuns(
  { scheduler, namespace }: Connection,
  options: ListOptions,
  query: readonly string[],
): Promise<Page<Run>> {
  const { order, limit } = options;
  const request = {
    namespace,
    filter: filterOf({ ...options, query }),
    order: order === "oldest" ? RunOrder.CREATED_ASC : RunOrder.CREATED_DESC,
  };
  return readPages<Run>(limit, async (page) => {
    const answer = await scheduler.listRuns({ ...request, ...page });
    return { items: answer.runs, nextPageToken: answer.nextPageToken };
  });
}
