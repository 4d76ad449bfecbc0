/** Tables of a summary: what failed, what the supervisor did, and how they are printed. */
import { stripVTControlCharacters, styleText } from "node:util";
import type { Intervention, RunDetails } from "@drover/sdk";
import { dim } from "./timeline.ts";

/** `meanings` by code of the failure. */
export function failureTable(
  details: ReadonlyMap<string, RunDetails>,
  meanings: Readonly<Record<string, string>>,
): string {
  const codes = [...details.values()].flatMap(({ attempts }) =>
    attempts.flatMap(({ failure }) => (failure === null ? [] : [failure.code])),
  );
  const rows = [...countBy(codes)].map(([code, count]) => [
    code,
    String(count),
    meanings[code] ?? "",
  ]);
  const head = ["kind", "number", "what it was"];
  return `${title("Failures", "of attempts, by kind")}\n${table(head, rows)}`;
}

export function interventionTable(details: ReadonlyMap<string, RunDetails>): string {
  const all = [...details.values()].flatMap(({ interventions }) => interventions);
  const rows = [...Map.groupBy(all, ({ rule }) => rule)].map(([rule, group]) => {
    const lateMs = group.map(timeToDetectMs).sort((a, b) => a - b);
    const median = lateMs[Math.floor(lateMs.length / 2)] ?? 0;
    return [rule, String(group.length), `${median} ms`, `${lateMs.at(-1) ?? 0} ms`];
  });
  const note = "of the supervisor: time to detect, from due to acted";
  return `${title("Interventions", note)}\n${table(["rule", "number", "median", "longest"], rows)}`;
}

/** The judgement of the ledgers: good news in one line, or each thing that is wrong. */
export function conclusionLines(
  problems: readonly { readonly run: string; readonly message: string }[],
  good: string,
): readonly string[] {
  if (problems.length === 0) return [styleText(["bold", "green"], `RIGHT: ${good}`)];
  const bad = `WRONG: ${problems.length} thing(s) are not as they must be:`;
  const lines = problems.map(({ run, message }) => `  ${run}  ${message}`);
  return [styleText(["bold", "red"], bad), ...lines];
}

export function timeToDetectMs({ dueTime, actedTime }: Intervention): number {
  return msBetween(dueTime, actedTime);
}

export function msBetween(from: Date | null, to: Date | null): number {
  return (to?.getTime() ?? 0) - (from?.getTime() ?? 0);
}

/** The most frequent first. */
export function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const groups = [...Map.groupBy(names, (name) => name)];
  return new Map(
    groups
      .map(([name, { length }]): [string, number] => [name, length])
      .sort(([, a], [, b]) => b - a),
  );
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export function title(name: string, note: string): string {
  return note === "" ? styleText("bold", name) : `${styleText("bold", name)}  ${dim(note)}`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => visibleLength(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]) => {
    const padded = cells.map(
      (cell, column) => cell + " ".repeat((widths[column] ?? 0) - visibleLength(cell)),
    );
    return `  ${padded.join("  ")}`.trimEnd();
  };
  return [dim(line(head)), ...rows.map(line)].join("\n");
}

function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}
