/** `drover schedule backfill`: starts the runs of past occurrences that have none. */
import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type BackfillOccurrence,
  BackfillOccurrenceSchema,
  type BackfillScheduleResponse,
  BackfillScheduleResponseSchema,
} from "@drover/proto/drover/v1/schedule_pb.ts";
import type { Command } from "commander";
import type { Connection } from "../client.ts";
import { contextOf, parseTime, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { writeList } from "../lists.ts";
import { printTable } from "../table.ts";
import { clean, counted, timeWords } from "../words.ts";

interface BackfillOptions {
  readonly from: Timestamp;
  readonly to: Timestamp;
  readonly concurrency: number;
  readonly dryRun?: boolean;
}

const concurrencyMax = 1_000;
const shownMax = 50;

export function addScheduleBackfill(schedule: Command, ended: Ended): void {
  schedule
    .command("backfill")
    .description("start runs for past times of the schedule that have none")
    .argument("<schedule>", "name of the schedule")
    .requiredOption("--from <time>", "times from this one on, as 2026-01-31T12:00Z", parseTime)
    .requiredOption("--to <time>", "times before this one, as 2026-02-28T12:00Z", parseTime)
    .option(
      "--concurrency <n>",
      "most open runs of the schedule at a time",
      wholeNumber(1, concurrencyMax),
      1,
    )
    .option("--dry-run", "list what would be started, and start nothing")
    .action(async (name: string, options: BackfillOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const whole = await backfill(connect(), name, options);
      const { occurrences } = whole;
      writeList(
        output,
        [BackfillScheduleResponseSchema, whole],
        [BackfillOccurrenceSchema, occurrences],
      );
      const rows = occurrences
        .slice(0, shownMax)
        .map((one) => [
          timeWords(one.time),
          clean(one.nominalTime),
          clean(one.runId),
          outcomeOf(one, options),
          clean(one.message),
        ]);
      if (output.format === "table") {
        printTable(output, ["TIME", "NOMINAL TIME", "RUN", "RESULT", "REASON"], rows);
        const more = occurrences.length - rows.length;
        if (more > 0) output.line(`and ${counted(more, "time")} more`);
      }
      output.note(summary(whole, options));
      const isRefused = occurrences.some(({ message }) => message !== "");
      ended(isRefused ? exitCodes.failed : exitCodes.done);
    });
}

/** Page by page; a dry run reads only the first page, which has the total count. */
async function backfill(
  { scheduler, namespace }: Connection,
  name: string,
  { from, to, concurrency, dryRun = false }: BackfillOptions,
): Promise<BackfillScheduleResponse> {
  const occurrences: BackfillOccurrence[] = [];
  let count = 0;
  let startTime: Timestamp | undefined = from;
  while (startTime) {
    const asked = { namespace, name, startTime, endTime: to, concurrency, dryRun };
    const page: BackfillScheduleResponse = await scheduler.backfillSchedule(asked);
    occurrences.push(...page.occurrences);
    count ||= page.count;
    startTime = dryRun ? undefined : page.nextStartTime;
  }
  return create(BackfillScheduleResponseSchema, { occurrences, count });
}

function outcomeOf(
  { runId, created, message }: BackfillOccurrence,
  { dryRun }: BackfillOptions,
): string {
  if (message !== "") return "refused";
  if (created) return "started";
  if (runId !== "") return "has a run";
  return dryRun ? "would start" : "";
}

function summary(
  { occurrences, count }: BackfillScheduleResponse,
  { dryRun = false }: BackfillOptions,
): string {
  const started = occurrences.filter(({ created }) => created).length;
  if (!dryRun)
    return `${counted(started, "run")} started for ${counted(occurrences.length, "time")}`;
  return `${counted(count, "time")}; nothing was started\n  next: repeat without --dry-run`;
}
