/**
 * `drover status --watch`: shows what needs attention, as it changes, until Ctrl-C, which is the
 * normal end and exits with 0. A terminal is redrawn; elsewhere each change is a line, and with `-o
 * jsonl` each state. If the server is away, the command waits for it.
 */
import {
  type Activity,
  type WatchOverviewResponse,
  WatchOverviewResponseSchema,
} from "@drover/proto/drover/v1/overview_pb.ts";
import { lateWords } from "../activity-words.ts";
import { type Connection, overviewsOf } from "../client.ts";
import { exitCodes, usageFailure } from "../failure.ts";
import type { Output } from "../output.ts";
import { endAtSignals } from "../screen.ts";
import { pairLines, tableLines } from "../table.ts";
import { clean, timeWords } from "../words.ts";
import { activityPairs, concernHeaders, concerns, type Row } from "./status.ts";

export async function watchStatus(
  connection: Connection,
  address: string,
  output: Output,
): Promise<never> {
  const { format, screen } = output;
  if (format === "json" || format === "yaml")
    throw usageFailure(
      `a watch has no end, and -o ${format} is one document`,
      "-o jsonl, a line for each state",
    );
  endAtSignals(exitCodes.done);
  const of = `${clean(connection.namespace)} at ${clean(address)}`;
  let last: WatchOverviewResponse | null = null;
  let isLost = false;
  const show = () => screen?.show(() => pictureOf(last, of, isLost, output));
  const onLost = () => {
    if (!isLost && !screen) output.note(`lost the server: trying ${clean(address)} again`);
    isLost = true;
    show();
  };
  for await (const state of overviewsOf(connection, onLost)) {
    if (format === "jsonl") output.data(WatchOverviewResponseSchema, state);
    else if (!screen)
      for (const line of changesOf(last, state, of, output.again)) output.line(line);
    [last, isLost] = [state, false];
    show();
  }
  throw new Error("a watch that has no end has ended");
}

function pictureOf(
  state: WatchOverviewResponse | null,
  of: string,
  isLost: boolean,
  output: Output,
): readonly string[] {
  const rows = rowsOf(state, output.again);
  const dim = (text: string) => output.paint("dim", text);
  return [
    `${output.paint("bold", of)}${isLost ? `  ${output.paint("red", "lost the server: trying again")}` : ""}`,
    "",
    ...(rows.length > 0 ? tableLines(concernHeaders, rows, dim) : ["nothing needs attention"]),
    ...(state?.activity ? ["", ...activityLines(state.activity, dim)] : []),
  ];
}

function activityLines(of: Activity, dim: (text: string) => string): readonly string[] {
  const pairs = [...activityPairs(of), ["interventions", lateWords(of)] as const];
  return pairLines(pairs, dim);
}

function rowsOf(state: WatchOverviewResponse | null, again: string): readonly Row[] {
  if (!state?.overview) return [];
  const { overview, activity } = state;
  return concerns({ ...overview, ...(activity && { activity }) }, again, timeWords);
}

function changesOf(
  before: WatchOverviewResponse | null,
  state: WatchOverviewResponse,
  of: string,
  again: string,
): readonly string[] {
  const old = new Map(keyed(before, again));
  const now = new Map(keyed(state, again));
  const come = [...now].filter(([key]) => !old.has(key));
  const gone = [...old].filter(([key]) => !now.has(key));
  const calm = now.size === 0 && (before === null || gone.length > 0);
  return [
    ...come.map(
      ([, [what, since, next]]) => `${what}${since && `, since ${since}`}; next: ${next}`,
    ),
    ...gone.map(([, [what]]) => `no longer: ${what}`),
    ...(calm ? [`nothing needs attention in ${of}`] : []),
  ];
}

/** The lag of late partitions changes with each read, and is no change to report. */
function keyed(
  state: WatchOverviewResponse | null,
  again: string,
): readonly (readonly [string, Row])[] {
  return rowsOf(state, again).map((row) => [row[0].replace(/ by up to \S+/, ""), row]);
}
