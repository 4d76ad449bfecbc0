/**
 * The live timeline: one line for each thing worth reporting, with its time since the start, the
 * run, the actor, and what happened -> what was done. Lines wait a little, so that what
 * happened earlier is above.
 */
import { styleText } from "node:util";
import type { News } from "./follow.ts";
import { describe, type NewsLine } from "./news-lines.ts";

export interface Timeline {
  /** Prints the names of the columns. */
  readonly head: () => void;
  /** What the story itself does, or a person in it. */
  readonly act: (text: string, actor?: string) => void;
  readonly news: (news: News) => void;
  /** Prints what still waits. */
  readonly flush: () => void;
}

interface Line extends NewsLine {
  readonly atMs: number;
  readonly run: string;
}

export type Tone = NewsLine["tone"];

/** What is reported of one time by two answers arrives within this time. */
const holdMs = 300;
const flushEveryMs = 100;
const runWidth = 12;
const actorWidth = 15;
/** Where the text starts: after the time and three gaps. */
const indent = 8 + runWidth + actorWidth + 6;
const textWidthMin = 40;

/** `narrator` is the actor of a line that names none. */
export function createTimeline(
  startedMs: number,
  narrator: string,
  print: (line: string) => void,
): Timeline {
  let waiting: Line[] = [];

  function flush(olderThanMs = Number.POSITIVE_INFINITY): void {
    const ripe = waiting.filter(({ atMs }) => atMs <= olderThanMs);
    waiting = waiting.filter(({ atMs }) => atMs > olderThanMs);
    for (const line of ripe.toSorted((a, b) => a.atMs - b.atMs)) print(format(line));
  }

  function format({ atMs, run, actor, text, tone }: Line): string {
    const time = `${((atMs - startedMs) / 1000).toFixed(2).padStart(6)} s`;
    const columns = `${dim(time)}  ${run.padEnd(runWidth)}  ${actor.padEnd(actorWidth)}  `;
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
        "run".padEnd(runWidth),
        "actor".padEnd(actorWidth),
        "what → what was done",
      ];
      print(dim(names.join("  ")));
    },
    act: (text: string, actor = narrator) =>
      void waiting.push({ atMs: Date.now(), run: "", actor, text, tone: "act" }),
    news(news: News) {
      const entry = describe(news);
      if (entry !== null) waiting.push({ ...entry, run: news.run, atMs: news.at.getTime() });
    },
    flush: () => flush(),
  });
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
