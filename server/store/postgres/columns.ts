// Rows as arrays of columns, the form in which one statement takes a whole batch, and payloads as
// the three columns that contain them.
import type { Payload } from "../../core/model/payload.ts";
import type { RunId } from "../store.ts";

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
