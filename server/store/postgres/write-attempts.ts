// Writes what has no room in a page: large payloads, and the oldest attempts of a step.
import type { AppliedPass, LoggedAttempt, PayloadRow } from "../../core/page/apply-pass.ts";
import { encodeAttempt } from "../../core/page/attempt-codec.ts";
import { attemptNumber } from "../../core/page/attempts.ts";
import type { RunId } from "../store.ts";
import { writeEach, writeRows } from "./batch.ts";
import { payloadColumns } from "./columns.ts";
import type { Send } from "./transaction.ts";

export interface AppliedTo {
  readonly runId: RunId;
  readonly applied: AppliedPass;
}

export function writeApplied(send: Send, all: readonly AppliedTo[]): void {
  writePayloads(
    send,
    all.flatMap(({ runId, applied }) => applied.payloads.map((row) => ({ ...row, runId }))),
  );
  writeRows(
    send,
    "insert_logged_attempts",
    all.flatMap(({ runId, applied }) => applied.logged.map((row) => ({ row, runId }))),
    ...attemptColumns,
  );
  writeEach(
    send,
    "settle_logged_attempts",
    all.flatMap(({ runId, applied }) => applied.settledInLog.map((row) => ({ row, runId }))),
    ...attemptColumns,
  );
}

interface Logged {
  readonly runId: RunId;
  readonly row: LoggedAttempt;
}

const attemptColumns: readonly ((of: Logged) => string | number)[] = [
  ({ runId }) => runId,
  ({ row }) => row.step,
  ({ row }) => row.fence,
  ({ row }) => row.kind,
  ({ row }) => attemptNumber(row),
  ({ row }) => encodeAttempt(row),
];

export function writePayloads(
  send: Send,
  rows: readonly (PayloadRow & { readonly runId: RunId })[],
): void {
  writeRows(
    send,
    "write_payloads",
    rows.map((row) => ({ ...row, payload: payloadColumns(row.payload) })),
    (row) => row.runId,
    (row) => row.step,
    (row) => row.fence,
    (row) => row.kind,
    (row) => row.n,
    (row) => row.what,
    (row) => row.payload.type,
    (row) => row.payload.json,
    (row) => row.payload.data,
  );
}
