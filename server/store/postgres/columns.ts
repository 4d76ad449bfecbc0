// Rows as arrays of columns, the form in which one statement takes a whole batch, and payloads as
// the three columns that hold them.
import type { Payload } from "../../core/payload.ts";

/** One array for each column, in the order of the statement's parameters. */
export function columns<Row>(
  rows: readonly Row[],
  ...of: readonly ((row: Row) => unknown)[]
): unknown[][] {
  return of.map((column) => rows.map(column));
}

export interface PayloadColumns {
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
