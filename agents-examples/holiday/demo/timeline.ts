/**
 * The live timeline: one line for each thing worth telling, with its moment since the start, the
 * run, who says so, and what happened -> what was done. Lines wait a moment, so that what happened
 * earlier stands above.
 *
 * A success at the first attempt is not worth a line, and neither is the end of a backoff: the
 * failure before it has said when the next attempt comes. The summary counts them.
 */
import { styleText } from "node:util";
import type { Attempt, Intervention, RunDetails, Step } from "@drover/sdk";
import type { News } from "./follow.ts";

export type Tone = "plain" | "good" | "trouble" | "rescue" | "undo" | "act";

export interface Timeline {
  /** Prints the names of the columns. */
  readonly head: () => void;
  /** What the demo itself does. */
  readonly act: (text: string) => void;
  readonly news: (news: News) => void;
  /** Prints what still waits. */
  readonly flush: () => void;
}

interface Line {
  readonly atMs: number;
  readonly run: string;
  readonly who: string;
  readonly text: string;
  readonly tone: Tone;
}

/** What is told of one moment by two answers arrives within this time. */
const holdMs = 300;
const flushEveryMs = 100;
/** Where the text begins. */
const indent = 36;
const textWidthMin = 40;

export function createTimeline(startedMs: number, print: (line: string) => void): Timeline {
  let waiting: Line[] = [];

  function flush(olderThanMs = Number.POSITIVE_INFINITY): void {
    const ripe = waiting.filter(({ atMs }) => atMs <= olderThanMs);
    waiting = waiting.filter(({ atMs }) => atMs > olderThanMs);
    for (const line of ripe.toSorted((a, b) => a.atMs - b.atMs)) print(format(line));
  }

  function format({ atMs, run, who, text, tone }: Line): string {
    const time = `${((atMs - startedMs) / 1000).toFixed(2).padStart(6)} s`;
    const columns = `${dim(time)}  ${run.padEnd(10)}  ${who.padEnd(12)}  `;
    return (
      columns +
      wrap(text, indent)
        .map((row) => paint(tone, row))
        .join(`\n${" ".repeat(indent)}`)
    );
  }

  setInterval(() => flush(Date.now() - holdMs), flushEveryMs).unref();

  return Object.freeze({
    head() {
      const names = [
        "time".padStart(8),
        "run".padEnd(10),
        "who".padEnd(12),
        "what → what was done",
      ];
      print(dim(names.join("  ")));
    },
    act: (text: string) =>
      void waiting.push({ atMs: Date.now(), run: "", who: "demo", text, tone: "act" }),
    news(news: News) {
      const told = tell(news);
      if (told !== null) waiting.push({ ...told, run: news.run, atMs: news.at.getTime() });
    },
    flush: () => flush(),
  });
}

type Told = Pick<Line, "who" | "text" | "tone">;

function tell(news: News): Told | null {
  switch (news.kind) {
    case "attempt":
      return tellAttempt(news.attempt, news.step);
    case "intervention":
      return tellIntervention(news.intervention);
    case "ended":
      return tellEnd(news.details);
  }
}

function tellAttempt(attempt: Attempt, step: Step | undefined): Told | null {
  const { stepId, kind, agentId, outcome, failure } = attempt;
  // The supervisor's own words say more of what it ended.
  if (failure?.code === "drover.lost" || failure?.code === "drover.timeout") return null;
  const who = agentId === "" ? "scheduler" : agentId;
  const undoing = kind === "COMPENSATE";
  if (outcome === "SUCCESS") {
    if (undoing) return { who, text: `${stepId} cancelled again`, tone: "undo" };
    if (attempt.fence < 2) return null;
    const which = attempt.attempt < 2 ? "after the lost attempt" : `at attempt ${attempt.attempt}`;
    return { who, text: `${stepId} booked ${which}`, tone: "good" };
  }
  const what = undoing ? `undoing ${stepId}` : stepId;
  const took = timeBetween(attempt.startedTime, attempt.endedTime);
  if (outcome === "CANCELLED") {
    return { who, text: `${what} stopped after ${took}, as it was told to`, tone: "undo" };
  }
  if (outcome !== "FAILURE" && outcome !== "UNKNOWN") {
    return { who, text: `${what} given back unstarted`, tone: "plain" };
  }
  const failed = failure?.class === "PERMANENT" ? "refused" : "failed";
  const how = outcome === "UNKNOWN" ? "outcome unknown" : failed;
  const why = failure === null ? "" : `: ${failure.message}`;
  const text = `${what} ${how} after ${took}${why}${nextOf(attempt, step)}`;
  return { who, text, tone: "trouble" };
}

/** What was decided about it. */
function nextOf(attempt: Attempt, step: Step | undefined): string {
  if (attempt.late) return " → too late, kept as evidence";
  if (attempt.failure?.class === "PERMANENT") return " → undo the holiday";
  if (step?.state !== "BACKOFF" || step.nextTime === null) return "";
  return ` → again in ${timeBetween(attempt.endedTime, step.nextTime)}`;
}

function tellIntervention({ rule, stepId, saw, did, dueTime, actedTime }: Intervention) {
  if (rule === "backoff") return null;
  const what = stepId === "" ? "" : `${stepId}: `;
  const late = timeBetween(dueTime, actedTime);
  const text = `${what}${saw} (acted ${late} after it was due) → ${did}`;
  return { who: "supervisor", text, tone: "rescue" } as const;
}

function tellEnd({ run, attempts, escalations }: RunDetails): Told {
  const who = "scheduler";
  const took = timeBetween(run.createdTime, run.endedTime);
  switch (run.state) {
    case "COMPLETED":
      return { who, text: `COMPLETED in ${took}, ${attempts.length} attempts`, tone: "good" };
    case "COMPENSATED":
      return { who, text: `COMPENSATED in ${took}: nothing is left of it`, tone: "undo" };
    case "ESCALATED": {
      const why = escalations.map(({ message }) => message).join("; ");
      return { who, text: `ESCALATED, a person is asked: ${why}`, tone: "trouble" };
    }
    default:
      return { who, text: `${run.state} in ${took}: ${run.reason}`, tone: "trouble" };
  }
}

function timeBetween(from: Date | null, to: Date | null): string {
  const ms = timeOf(to) - timeOf(from);
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function timeOf(date: Date | null): number {
  return date?.getTime() ?? 0;
}

/** On a terminal, rows that fit beside each other; in a pipe one line stays one line. */
function wrap(text: string, indent: number): string[] {
  const columns = process.stdout.columns ?? Number.POSITIVE_INFINITY;
  const width = Math.max(columns - indent, textWidthMin);
  const rows: string[] = [];
  let row = "";
  // A number and its unit stay together.
  for (const word of text.split(/ (?!m?s\b)/)) {
    if (row !== "" && row.length + 1 + word.length > width) {
      rows.push(row);
      row = word;
    } else {
      row = row === "" ? word : `${row} ${word}`;
    }
  }
  return [...rows, row];
}

export function dim(text: string): string {
  return styleText("dim", text);
}

export function paint(tone: Tone, text: string): string {
  switch (tone) {
    case "good":
      return styleText("green", text);
    case "trouble":
      return styleText("yellow", text);
    case "rescue":
      return styleText("cyan", text);
    case "undo":
      return styleText("magenta", text);
    case "act":
      return styleText("bold", text);
    case "plain":
      return text;
  }
}
