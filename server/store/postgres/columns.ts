// Rows as arrays of columns, the form in which one statement takes a whole batch, and payloads as
// the three columns that contain them. Also: the rows of a batch of passes, written with one
// statement for each table.
import type { Payload } from "../../core/model/payload.ts";
import type { RowsOfEffects } from "../rows-of-effects.ts";
import type { RunHead, RunId } from "../store.ts";
import type { Send } from "./transaction.ts";

/** The type of an element of an array. */
export type Value = string | number | boolean | Buffer | null;

/** The columns of a statement, by the names of its parameters. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Value>>;

/**
 * One array for each column, as text for PostgreSQL: the driver takes four times as long to write
 * the same.
 */
export function columns<Row>(
  rows: readonly Row[],
  of: Columns<Row>,
): Readonly<Record<string, string>> {
  const arrays: Record<string, string> = {};
  for (const [name, column] of Object.entries(of))
    arrays[name] = `{${rows.map((row) => element(column(row))).join(",")}}`;
  return arrays;
}

function element(value: Value): string | number {
  if (value === null) return "NULL";
  switch (typeof value) {
    case "number":
      return value;
    case "boolean":
      return value ? "t" : "f";
    case "string":
      return `"${/[\\"]/.test(value) ? value.replaceAll(/[\\"]/g, "\\$&") : value}"`;
    default:
      // A statement does not select what its row type promises.
      if (!Buffer.isBuffer(value)) throw new Error(`a column has no value, but ${String(value)}`);
      return `"\\\\x${value.toString("hex")}"`;
  }
}

interface PayloadColumns {
  readonly type: string | null;
  readonly json: string | null;
  readonly data: Buffer | null;
}

const JSON_TYPE = "application/json";

export function payloadColumns(payload: Payload | null): PayloadColumns {
  if (!payload) return { type: null, json: null, data: null };
  return payload.kind === "json"
    ? { type: JSON_TYPE, json: payload.json, data: null }
    : { type: payload.contentType, json: null, data: Buffer.from(payload.data) };
}

export function payloadOf(
  type: string | null,
  json: string | null,
  data: Uint8Array | null,
): Payload | null {
  if (type === null) return null;
  if (json !== null) return { kind: "json", json };
  return { kind: "data", contentType: type, data: data ?? new Uint8Array() };
}

/** Labels from a jsonb column. */
export function labelsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([key, label]) => [key, String(label)]));
}

/** Values from the rows of several runs, by run and in their order. */
export function byRun<Row extends { readonly run_id: RunId }, Value>(
  rows: readonly Row[],
  of: (row: Row) => Value,
): ReadonlyMap<RunId, readonly Value[]> {
  const found = new Map<RunId, Value[]>();
  for (const row of rows) {
    const values = found.get(row.run_id) ?? [];
    found.set(row.run_id, values);
    values.push(of(row));
  }
  return found;
}

interface Of<Row> {
  readonly head: RunHead;
  readonly actor: RowsOfEffects["actor"];
  readonly row: Row;
}

/**
 * The rows of a batch of passes, written with one statement for each table that is sent and not
 * waited for; and the guard that each row was met.
 *
 * The rows of all changes, each with its run.
 */
export function ofEach<Row>(
  changes: readonly RowsOfEffects[],
  rows: (change: RowsOfEffects) => readonly Row[],
): readonly Of<Row>[] {
  return changes.flatMap((change) =>
    rows(change).map((row) => ({ head: change.head, actor: change.actor, row })),
  );
}

/** Sends the statement for all rows, if there are any. */
export function writeRows<Row>(
  send: Send,
  name: string,
  rows: readonly Row[],
  of: Columns<Row>,
): void {
  if (rows.length > 0) void send(name, columns(rows, of));
}

/**
 * As `writeRows`, with a guard for each row: if the statement met fewer rows than the pass was
 * decided by, an invariant is broken, and the batch changes nothing.
 */
export function writeEach<Row>(
  send: Send,
  name: string,
  rows: readonly Row[],
  of: Columns<Row>,
): void {
  if (rows.length === 0) return;
  void send(name, columns(rows, of), (met) => {
    if (met.length !== rows.length)
      throw new Error(`${name} should have met ${rows.length} rows and met ${met.length}`);
  });
}
