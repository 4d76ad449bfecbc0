/**
 * `drover status --watch`: what needs a person, as it comes and goes, until Ctrl-C, which is its
 * usual end and exits with 0. A terminal is drawn anew; elsewhere each change is a line, with
 * `-o jsonl` each state. A server that is away is waited for.
 */
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  type Activity,
  type WatchOverviewResponse,
  WatchOverviewResponseSchema,
} from "@drover/proto/drover/v1/overview_pb.ts";
import { RunStateSchema } from "@drover/proto/drover/v1/run_pb.ts";
import { type Connection, overviewsOf } from "../client.ts";
import { exitCodes, usageFailure } from "../failure.ts";
import type { Output } from "../output.ts";
import { endAtSignals } from "../screen.ts";
import { tableLines } from "../table.ts";
import { clean, durationWords, phrase } from "../words.ts";
import { concernHeaders, concerns, type Row } from "./status.ts";

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
    if (!isLost && !screen) output.note(`the server has gone: trying ${clean(address)} again`);
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
  const lately = latelyWords(state?.activity);
  return [
    `${output.paint("bold", of)}${isLost ? `  ${output.paint("red", "the server has gone: trying again")}` : ""}`,
    "",
    ...(rows.length > 0 ? tableLines(concernHeaders, rows, dim) : ["nothing needs a person"]),
    ...(lately === "" ? [] : ["", `${dim("runs of the last 30 minutes")}  ${lately}`]),
  ];
}

function rowsOf(state: WatchOverviewResponse | null, again: string): readonly Row[] {
  return state?.overview ? concerns(state.overview, again) : [];
}

/** `12 completed, 3 running; what was late was found after 1.2s typically, 3.4s at most times` */
function latelyWords(activity: Activity | undefined): string {
  const { states = [], moreRuns = false, detectTypical, detectSlow } = activity ?? {};
  const runs = states.map(({ state, count }) => `${count} ${phrase(RunStateSchema, state)}`);
  if (runs.length === 0) return "";
  const found =
    detectTypical && detectSlow
      ? `; half of what was late was found within ${durationWords(durationMs(detectTypical))}, ` +
        `95 of 100 within ${durationWords(durationMs(detectSlow))}`
      : "";
  return `${runs.join(", ")}${moreRuns ? ", and more" : ""}${found}`;
}

function changesOf(
  before: WatchOverviewResponse | null,
  state: WatchOverviewResponse,
  of: string,
  again: string,
): readonly string[] {
  const [old, now] = [new Map(keyed(before, again)), new Map(keyed(state, again))];
  const come = [...now].filter(([key]) => !old.has(key));
  const gone = [...old].filter(([key]) => !now.has(key));
  const calm = now.size === 0 && (before === null || gone.length > 0);
  return [
    ...come.map(
      ([, [what, since, next]]) => `${what}${since && `, since ${since}`}; next: ${next}`,
    ),
    ...gone.map(([, [what]]) => `no longer: ${what}`),
    ...(calm ? [`nothing needs a person in ${of}`] : []),
  ];
}

/** How late the late are moves with each look, and is no news. */
function keyed(
  state: WatchOverviewResponse | null,
  again: string,
): readonly (readonly [string, Row])[] {
  return rowsOf(state, again).map((row) => [row[0].replace(/ by up to \S+/, ""), row]);
}
