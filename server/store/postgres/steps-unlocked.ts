// The steps of one run as people see them: one statement, no locks.
import type { Step } from "../../core/model.ts";
import { placeOf } from "../../core/place.ts";
import type { ItemPage } from "../reads.ts";
import { stored } from "../step-row.ts";
import { FORWARD_ENDS, forwards, UNDO_ENDS } from "./codes.ts";
import { type LeaseRow, leaseOf, readyOf, type StepRow, stepOf } from "./step-rows.ts";
import type { Query } from "./transaction.ts";

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null };

interface ReadySide {
  ready_kind: number;
  ready_fence: number;
  ready_attempt: number;
  ready_at: number;
  until: number | null;
  avoid_session: string | null;
  avoid_until: number | null;
  alarms: number;
  ready_wake_at: number;
}

type Row = StepRow & Nullable<LeaseRow> & Nullable<ReadySide>;

/** `page` null: its steps, and the items of maps that are not done for good. */
export async function loadStepsUnlocked(
  query: Query,
  runId: string,
  page: ItemPage | null,
): Promise<ReadonlyMap<number, Step>> {
  const rows = await query<Row>("run_steps", [
    ...[runId, FORWARD_ENDS, UNDO_ENDS],
    ...(page
      ? [page.map, placeOf(page.map, page.after), page.limit, storedForwards(page.forwards)]
      : [null, null, null, null]),
  ]);
  return new Map(rows.map((row) => [row.no, stepOf(row, openOf(row))]));
}

function storedForwards(kinds: ItemPage["forwards"]): readonly number[] | null {
  return kinds?.map((kind) => forwards.code(stored(kind))) ?? null;
}

function openOf(row: Row) {
  if (hasLease(row)) return leaseOf(row);
  if (!hasReady(row)) return null;
  return readyOf({
    ...row,
    step_no: row.no,
    kind: row.ready_kind,
    fence: row.ready_fence,
    attempt: row.ready_attempt,
    wake_at: row.ready_wake_at,
  });
}

function hasLease(row: Row): row is Row & LeaseRow {
  return row.lease_fence !== null;
}

function hasReady(row: Row): row is Row & ReadySide {
  return row.ready_fence !== null;
}
