/**
 * A list that is followed until Ctrl-C, which is the normal end and exits with 0. A terminal is
 * redrawn. Elsewhere each row that is new or has changed is a line, as the whole list again would
 * hide in a log what has changed; a row that has left the list is not mentioned, since a list with
 * a limit loses rows that still exist. If the server is away, the command waits for it.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { JsonValue } from "@bufbuild/protobuf";
import { isRetryable } from "./client.ts";
import { exitCodes, usageFailure } from "./failure.ts";
import type { Output } from "./output.ts";
import { endAtSignals } from "./screen.ts";
import { dimmed, tableLines } from "./table.ts";
import { counted } from "./words.ts";

interface Row {
  /** What other commands take for it; undefined: it has no name. */
  readonly name: string | undefined;
  readonly cells: readonly string[];
  json(): JsonValue;
}

interface Rows {
  readonly headers: readonly string[];
  readonly rows: readonly Row[];
}

const pollMs = 2_000;

export async function watchRows(read: () => Promise<Rows>, output: Output): Promise<never> {
  const { format, screen } = output;
  if (format === "json" || format === "yaml")
    throw usageFailure(
      `a watch has no end, and -o ${format} is one document`,
      "-o jsonl, a line for each item that is new or has changed",
    );
  let last = await read();
  let isLost = false;
  let seen: ReadonlySet<string> = new Set();
  endAtSignals(exitCodes.done);
  for (;;) {
    if (screen) screen.show((rows) => pictureOf(last, isLost, rows, output));
    else seen = writeChanges(last, seen, output);
    await delay(pollMs);
    try {
      last = await read();
      isLost = false;
    } catch (error) {
      if (!isRetryable(error)) throw error;
      if (!isLost && !screen) output.note("lost the server: trying again");
      isLost = true;
    }
  }
}

function pictureOf(
  { headers, rows }: Rows,
  isLost: boolean,
  rowsMax: number,
  output: Output,
): readonly string[] {
  const cells = rows.map((row) => row.cells);
  const table = tableLines(headers, cells, dimmed(output), output.columns);
  const lines = [
    ...(isLost ? [output.paint("red", "lost the server: trying again")] : []),
    ...(table.length > 0 ? table : ["none"]),
  ];
  if (lines.length <= rowsMax) return lines;
  const more = lines.length - rowsMax + 1;
  return [...lines.slice(0, rowsMax - 1), `and ${counted(more, "row")} more`];
}

/** The texts of all rows as they are now. */
function writeChanges(
  { rows }: Rows,
  seen: ReadonlySet<string>,
  output: Output,
): ReadonlySet<string> {
  const now = new Map(rows.map((row) => [textOf(row, output), row] as const));
  for (const [text, row] of now) {
    if (seen.has(text)) continue;
    output.names(row.name === undefined ? [] : [row.name]);
    if (output.format === "table") output.line(text);
    if (output.format === "jsonl") output.value(row.json());
  }
  return new Set(now.keys());
}

/** With `-o name` a name is one text, whatever changes beside it. */
function textOf({ name, cells, json }: Row, { format }: Output): string {
  if (format === "name") return name ?? "";
  if (format === "jsonl") return JSON.stringify(json());
  return cells.filter((cell) => cell !== "").join("  ");
}
