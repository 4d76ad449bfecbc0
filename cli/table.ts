/**
 * Tables for people: columns as wide as their widest cell, two spaces between, no borders. On a
 * terminal the widest columns are cut until the table fits, but none that people copy from.
 */
import { stripVTControlCharacters } from "node:util";
import type { Output } from "./output.ts";
import { cut } from "./screen.ts";

/** Columns that are never cut, beside the first. */
const COPIED: ReadonlySet<string> = new Set(["RUN", "SESSION", "NEXT"]);
/** A column is not cut below this. */
const columnLeast = 10;
const between = "  ";

/**
 * Cells may contain colours. Columns that are empty in every row are left out, and so is an empty
 * table.
 */
export function printTable(
  output: Output,
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  whole: readonly string[] = [],
): void {
  const lines = tableLines(headers, rows, dimmed(output), output.columns, whole);
  for (const line of lines) output.line(line);
}

/**
 * A table whose last column has messages. A message that does not fit beside its row is below it,
 * in full.
 */
export function printTexts(
  output: Output,
  headers: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const columns = output.columns ?? Number.POSITIVE_INFINITY;
  const others = rows.map((row) => row.slice(0, -1));
  const [head, ...lines] = tableLines(headers.slice(0, -1), others, dimmed(output), output.columns);
  if (head === undefined) return;
  const left = Math.max(...[head, ...lines].map(width));
  const beside = (line: string, text: string) => `${padded(line, left)}${between}${text}`;
  const written = lines.map((line, i) => {
    const message = rows[i]?.at(-1);
    if (!message) return line;
    const whole = beside(line, message);
    return width(whole) <= columns ? whole : `${line}\n${between}${message}`;
  });
  const isUsed = rows.some((row) => row.at(-1));
  output.line(isUsed ? beside(head, output.paint("dim", headers.at(-1) ?? "")) : head);
  for (const line of written) output.line(line);
}

export function dimmed(output: Output): (text: string) => string {
  return (text) => output.paint("dim", text);
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

/**
 * `columns`: the width that the table should fit in; null: it may have any. `whole`: headers of
 * further columns that are not cut.
 */
export function tableLines(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  paintHeader: (text: string) => string = (text) => text,
  columns: number | null = null,
  whole: readonly string[] = [],
): string[] {
  if (rows.length === 0) return [];
  const used = headers.map((_, column) => rows.some((row) => row[column]));
  const shown = headers.filter((_, column) => used[column]);
  const all = [headers.map(paintHeader), ...rows].map((row) => row.filter((_, i) => used[i]));
  const natural = shown.map((_, column) => Math.max(...all.map((row) => width(row[column] ?? ""))));
  const isWhole = (header: string, column: number) =>
    column === 0 || COPIED.has(header) || whole.includes(header);
  const widths = columns === null ? natural : fitted(shown.map(isWhole), natural, columns);
  return all.map((row) =>
    row
      .map((cell, i) => padded(cut(cell, widths[i] ?? 0), widths[i] ?? 0))
      .join(between)
      .trimEnd(),
  );
}

/** Takes from the widest column that may be cut, until all fit or none can give more. */
function fitted(
  whole: readonly boolean[],
  natural: readonly number[],
  columns: number,
): readonly number[] {
  const widths = [...natural];
  const leastOf = (i: number) => (whole[i] ? Number.POSITIVE_INFINITY : columnLeast);
  let excess = widths.reduce((sum, one) => sum + one + between.length, -between.length) - columns;
  while (excess > 0) {
    const able = widths.map((one, i) => (one > leastOf(i) ? one : 0));
    const most = Math.max(...able);
    if (most === 0) return widths;
    widths[able.indexOf(most)] = most - 1;
    excess -= 1;
  }
  return widths;
}

function padded(cell: string, columns: number): string {
  return cell + " ".repeat(Math.max(0, columns - width(cell)));
}

/** In columns of a terminal, except that wide characters count as one. */
export function width(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
