/**
 * Cron schedules in words: when they run, their next occurrences, and the results of the past ones.
 */
import { durationMs } from "@bufbuild/protobuf/wkt";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type Occurrence,
  OccurrenceOutcome,
  OccurrenceOutcomeSchema,
  OverlapPolicySchema,
  type Schedule,
} from "@drover/proto/drover/v1/schedule_pb.ts";
import type { Output } from "./output.ts";
import { runStateWord } from "./state-words.ts";
import { printPairs, printTable } from "./table.ts";
import {
  clean,
  counted,
  durationWords,
  labelWords,
  pauseWords,
  payloadWords,
  phrase,
  timeWords,
} from "./words.ts";

/** `30 2 * * * Europe/Berlin`, `every 15m00s` */
export function calendarWords({ spec }: Pick<Schedule, "spec">): string {
  const { calendar } = spec ?? {};
  if (calendar?.case === "cron")
    return `${clean(calendar.value.expression)} ${clean(calendar.value.timeZone)}`;
  if (calendar?.case !== "interval") return "";
  const { every, offset } = calendar.value;
  const offsetMs = offset ? durationMs(offset) : 0;
  const at = offsetMs === 0 ? "" : `, ${durationWords(offsetMs)} behind`;
  return `every ${durationWords(every ? durationMs(every) : 0)}${at}`;
}

export function stateWords({ pause, workflowPause }: Schedule): string {
  if (pause) return "paused";
  return workflowPause ? "held: workflow is paused" : "on";
}

/** Time, result, run, state of the run, cause and reason. */
export function occurrenceRows(occurrences: readonly Occurrence[]): string[][] {
  return occurrences.map((occurrence) => [
    timeWords(occurrence.time),
    outcomeWords(occurrence),
    clean(occurrence.runId),
    occurrence.runState === RunState.UNSPECIFIED ? "" : runStateWord(occurrence.runState),
    clean(occurrence.nominalTime),
    clean(occurrence.message),
  ]);
}

function outcomeWords({ outcome, missed }: Occurrence): string {
  if (outcome === OccurrenceOutcome.OVERLAPPED) return "skipped";
  const words = phrase(OccurrenceOutcomeSchema, outcome);
  const many = outcome === OccurrenceOutcome.MISSED || outcome === OccurrenceOutcome.PAUSED;
  return many && missed > 1 ? `${words}: ${counted(missed, "time")}` : words;
}

export function printSchedule(schedule: Schedule, output: Output): void {
  const { name, spec, pause, workflowPause, next, last } = schedule;
  const catchUp = spec?.catchUp ? durationMs(spec.catchUp) : 0;
  const jitter = spec?.jitter ? durationMs(spec.jitter) : 0;
  printPairs(output, [
    ["schedule", clean(name)],
    ["workflow", `${clean(spec?.workflow ?? "")}${spec?.version ? ` ${spec.version}` : ""}`],
    ["when", calendarWords(schedule)],
    ["overlap", phrase(OverlapPolicySchema, spec?.overlap ?? 0)],
    ["catch-up", durationWords(catchUp ?? 0)],
    ["jitter", jitter ? durationWords(jitter) : ""],
    ["input", payloadWords(spec?.input)],
    ["labels", labelWords(spec?.labels ?? {})],
    ["paused", pauseWords(pause)],
    ["held", workflowPause ? `workflow is paused, ${pauseWords(workflowPause)}` : ""],
    ["created", timeWords(schedule.createdTime)],
    ["changed", timeWords(schedule.changedTime)],
  ]);
  if (next.length > 0) {
    output.line("");
    const rows = next.map((one) => [timeWords(one.time), clean(one.nominalTime)]);
    printTable(output, ["NEXT", "NOMINAL TIME"], rows);
  }
  if (last.length === 0) return;
  output.line("");
  printTable(
    output,
    ["LAST", "OUTCOME", "RUN", "STATE", "NOMINAL TIME", "REASON"],
    occurrenceRows(last),
  );
}
