// Writes what has no room in a page: large payloads, and the oldest attempts of a step.
import type { AppliedPass, LoggedAttempt, PayloadRow } from "../../core/page/apply-pass.ts";
import { encodeAttempt } from "../../core/page/attempt-codec.ts";
import { attemptNumber } from "../../core/page/page.ts";
import type { RunId } from "../store.ts";
import { type Columns, payloadColumns, writeEach, writeRows } from "./columns.ts";
import type { Send } from "./transaction.ts";

interface AppliedTo {
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
    attemptColumns,
  );
  writeEach(
    send,
    "settle_logged_attempts",
    all.flatMap(({ runId, applied }) => applied.updatedInLog.map((row) => ({ row, runId }))),
    attemptColumns,
  );
}

interface Logged {
  readonly runId: RunId;
  readonly row: LoggedAttempt;
}

const attemptColumns: Columns<Logged> = {
  run_id: ({ runId }) => runId,
  step_no: ({ row }) => row.step,
  fence: ({ row }) => row.fence,
  kind: ({ row }) => row.kind,
  n: ({ row }) => attemptNumber(row),
  attempt: ({ row }) => encodeAttempt(row),
};

export function writePayloads(
  send: Send,
  rows: readonly (PayloadRow & { readonly runId: RunId })[],
): void {
  writeRows(
    send,
    "write_payloads",
    rows.map((row) => ({ ...row, payload: payloadColumns(row.payload) })),
    {
      run_id: (row) => row.runId,
      step_no: (row) => row.step,
      fence: (row) => row.fence,
      kind: (row) => row.kind,
      n: (row) => row.n,
      what: (row) => row.what,
      type: (row) => row.payload.type,
      json: (row) => row.payload.json,
      data: (row) => row.payload.data,
    },
  );
}
