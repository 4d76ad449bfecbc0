// Cron schedules in words: when they run, and the results of their occurrences.
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  type Occurrence,
  OccurrenceCause,
  OccurrenceOutcome,
  OverlapPolicy,
  type Schedule,
} from "@drover/proto/drover/v1/schedule_pb.ts";
import type { Status } from "../parts/badge.tsx";
import { counted } from "./counts.ts";
import { durationWords } from "./time-words.ts";

/** `30 2 * * * Europe/Berlin`, `every 15 min` */
export function calendarWords({ spec }: Pick<Schedule, "spec">): string {
  const { calendar } = spec ?? {};
  if (calendar?.case === "cron")
    return `${calendar.value.expression} ${calendar.value.timeZone || "UTC"}`;
  if (calendar?.case !== "interval") return "";
  const { every, offset } = calendar.value;
  const offsetMs = offset ? durationMs(offset) : 0;
  const from = offsetMs === 0 ? "" : `, offset ${durationWords(offsetMs)}`;
  return `every ${durationWords(every ? durationMs(every) : 0)}${from}`;
}

/** `2026-03-29T02:30:00[Europe/Berlin]` as `2026-03-29 02:30:00 Europe/Berlin`. */
export function nominalTimeWords(nominalTime: string): string {
  return nominalTime
    .replace("T", " ")
    .replace(/\.\d+/, "")
    .replace(/\[(.+)\]$/, " $1")
    .replace(/Z$/, " UTC");
}

export function scheduleStatus({ pause, workflowPause, next }: Schedule): Status {
  if (pause) return { tone: "paused", word: "paused" };
  if (workflowPause) return { tone: "paused", word: "held: workflow is paused" };
  return next.length === 0 ? { tone: "idle", word: "no time left" } : { tone: "ok", word: "on" };
}

const overlaps: Readonly<Record<number, string>> = {
  [OverlapPolicy.UNSPECIFIED]: "skip the next run",
  [OverlapPolicy.SKIP]: "skip the next run",
  [OverlapPolicy.BUFFER_ONE]: "queue at most one run",
  [OverlapPolicy.BUFFER_ALL]: "queue the next runs",
  [OverlapPolicy.CANCEL_OTHER]: "cancel and compensate it, then start the next run",
  [OverlapPolicy.ALLOW_ALL]: "start the next run in parallel",
};

/** What happens to an occurrence while a run of the schedule is still open. */
export function overlapWords(overlap: OverlapPolicy): string {
  return overlaps[overlap] ?? "unknown";
}

const outcomes: Readonly<Record<number, Status>> = {
  [OccurrenceOutcome.STARTED]: { tone: "ok", word: "started" },
  [OccurrenceOutcome.OVERLAPPED]: { tone: "idle", word: "skipped" },
  [OccurrenceOutcome.MISSED]: { tone: "warning", word: "missed" },
  [OccurrenceOutcome.PAUSED]: { tone: "paused", word: "paused" },
  [OccurrenceOutcome.REFUSED]: { tone: "bad", word: "refused" },
};

export function occurrenceStatus({ outcome, missed }: Occurrence): Status {
  const { tone, word } = outcomes[outcome] ?? { tone: "idle", word: "unknown" };
  return { tone, word: missed > 1 ? `${word}: ${counted(missed, "time")}` : word };
}

const causes: Readonly<Record<number, string>> = {
  [OccurrenceCause.CALENDAR]: "schedule",
  [OccurrenceCause.BACKFILL]: "backfill",
  [OccurrenceCause.TRIGGER]: "person",
};

export function causeWords(cause: OccurrenceCause): string {
  return causes[cause] ?? "unknown";
}
