/** Tables for people: columns as wide as their widest cell, two spaces between, no borders. */
import { stripVTControlCharacters } from "node:util";
import type { Output } from "./output.ts";

/**
 * Cells may contain colours. Columns that are empty in every row are left out, and so is an empty
 * table.
 */
export function printTable(
  output: Output,
  headers: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  for (const line of tableLines(headers, rows, (text) => output.paint("dim", text)))
    output.line(line);
}

/** Names and texts, one pair a line; a pair without a text is left out. */
type Pairs = readonly (readonly [name: string, text: string])[];

export function printPairs(output: Output, pairs: Pairs): void {
  for (const line of pairLines(pairs, (name) => output.paint("dim", name))) output.line(line);
}

/** One pair a line; pairs without a text are left out. */
export function pairLines(pairs: Pairs, paintName: (name: string) => string): readonly string[] {
  const most = Math.max(...pairs.map(([name]) => name.length));
  return pairs.flatMap(([name, text]) =>
    text ? [`${paintName(name.padEnd(most))}  ${text}`] : [],
  );
}

export function tableLines(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  paintHeader: (text: string) => string = (text) => text,
): string[] {
  if (rows.length === 0) return [];
  const used = headers.map((_, column) => rows.some((row) => row[column]));
  const all = [headers.map(paintHeader), ...rows].map((row) => row.filter((_, i) => used[i]));
  const widths = (all[0] ?? []).map((_, column) =>
    Math.max(...all.map((row) => width(row[column] ?? ""))),
  );
  return all.map((row) =>
    row
      .map((cell, i) => cell + " ".repeat((widths[i] ?? 0) - width(cell)))
      .join("  ")
      .trimEnd(),
  );
}

/** In columns of a terminal, except that wide characters count as one. */
export function width(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
