/** `drover run logs`: the lines that handlers have logged, printed as they come. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type ListLogsRequestSchema,
  ListLogsResponseSchema,
  type LogLine,
  LogLineSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { LogLevel, LogLevelSchema, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { Command } from "commander";
import type { Connection } from "../client.ts";
import { contextOf, parseDuration, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output, Style } from "../output.ts";
import { runRefOf } from "../run-ref.ts";
import { endAtSignals } from "../screen.ts";
import { stepRefOf } from "../step-ref.ts";
import { clean, timeWords, word } from "../words.ts";

const linesMax = 1_000_000;
const pollMs = 1_000;
/** Reads after the end of the run: agents send the last lines within a second. */
const pollsAfterEnd = 3;

interface LogsOptions {
  readonly attempt?: number;
  readonly since?: number;
  readonly limit: number;
  readonly follow?: boolean;
}

export function addRunLogs(run: Command, ended: Ended): void {
  run
    .command("logs")
    .description("print the lines that handlers logged for a run, a step or an item")
    .argument("<run>", "id of the run, or key:NAME")
    .argument("[step]", "id of a step, or of an item as deploy[3]")
    .option("--attempt <n>", "only this attempt, by its number", wholeNumber(1, 1_000_000))
    .option("--since <duration>", "only lines of the last 5m, 1h, ...", parseDuration)
    .option("--follow", "print further lines as they come, until the run has ended")
    .option("--limit <n>", "most lines to print without --follow", wholeNumber(1, linesMax), 10_000)
    .action(async (name: string, step: string | undefined, options: LogsOptions, command) => {
      const { output, connect } = contextOf(command);
      if (options.follow) endAtSignals();
      const found = await printLogs(connect(), { name, step }, options, output);
      if (found.lines === 0)
        output.note("no line is stored: none was logged, logs are off, or their time is over");
      if (found.hasMore) output.note(`these are the first ${found.lines} lines; see --limit`);
      ended(exitCodes.done);
    });
}

async function printLogs(
  { scheduler, namespace }: Connection,
  { name, step = "" }: { readonly name: string; readonly step: string | undefined },
  options: LogsOptions,
  output: Output,
): Promise<{ readonly lines: number; readonly hasMore: boolean }> {
  const request = { namespace, run: runRefOf(name, {}), ...stepRefOf(step) };
  const sinceMs = options.since === undefined ? 0 : Date.now() - options.since;
  const document: LogLine[] = [];
  let lines = 0;
  let hasMore = false;
  for await (const line of logLines(scheduler, request, options.follow ?? false)) {
    if (options.attempt !== undefined && line.attemptNumber !== options.attempt) continue;
    if (line.time === undefined || timestampMs(line.time) < sinceMs) continue;
    hasMore = !options.follow && lines === options.limit;
    if (hasMore) break;
    lines += 1;
    if (output.format === "table") output.line(lineText(line, output));
    else if (output.format === "jsonl") output.data(LogLineSchema, line);
    else document.push(line);
  }
  if (output.format !== "jsonl")
    output.data(ListLogsResponseSchema, create(ListLogsResponseSchema, { lines: document }));
  return { lines, hasMore };
}

/** Which lines are asked for. */
type Asked = Pick<MessageInitShape<typeof ListLogsRequestSchema>, "namespace" | "run" | "stepId">;

async function* logLines(
  scheduler: Connection["scheduler"],
  request: Asked,
  follow: boolean,
): AsyncGenerator<LogLine> {
  let pageToken = "";
  let polls = 0;
  for (;;) {
    const page = await scheduler.listLogs({ ...request, pageToken });
    yield* page.lines;
    pageToken = page.tailToken;
    if (page.nextPageToken !== "") continue;
    if (page.runEnded) polls += 1;
    if (!follow || polls >= pollsAfterEnd) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

const levelStyles: Readonly<Partial<Record<LogLevel, Style>>> = {
  [LogLevel.DEBUG]: "dim",
  [LogLevel.WARN]: "yellow",
  [LogLevel.ERROR]: "red",
};

const kindWords: Readonly<Partial<Record<TaskKind, string>>> = {
  [TaskKind.VERIFY]: " verify",
  [TaskKind.COMPENSATE]: " undo",
};

/** 2026-01-31 12:00:05Z warn  pay #2  the card was declined  card=42 */
function lineText(line: LogLine, output: Output): string {
  const { stepId, attempt, attemptNumber, level, message } = line;
  const style = levelStyles[level];
  const levelText = word(LogLevelSchema, level).toLowerCase().padEnd(5);
  const task = attempt ? (kindWords[attempt.kind] ?? "") : "";
  const fields = Object.entries(line.fields).map(([key, value]) => `${clean(key)}=${clean(value)}`);
  return [
    `${timeWords(line.time)} ${style ? output.paint(style, levelText) : levelText}`,
    `${clean(stepId)}${task} #${attemptNumber}`,
    clean(message),
    ...(fields.length > 0 ? [output.paint("dim", fields.join(" "))] : []),
  ].join("  ");
}
