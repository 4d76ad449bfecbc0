// The steps of locked runs, with what moves of them, locked. Locking and loading are two
// statements: the second sees what the lock has waited for. A step that is OPEN and shows neither
// lease nor ready row was claimed between two looks; the ready look waited for that claim, so the
// last look finds the lease.
import type { Lease, Ready, Step } from "../../core/model.ts";
import type { RunId, StepsWanted } from "../store.ts";
import { FORWARD_ENDS, UNDO_ENDS } from "./codes.ts";
import { columns } from "./columns.ts";
import {
  isOpen,
  type LeaseRow,
  leaseOf,
  type ReadyColumns,
  readyOf,
  type StepRow,
  stepOf,
} from "./step-rows.ts";
import type { Query } from "./transaction.ts";

interface LoadedStepRow extends StepRow, NullableLease {}
type NullableLease = { [Column in keyof LeaseRow]: LeaseRow[Column] | null };

export async function loadSteps(
  query: Query,
  wanted: readonly StepsWanted[],
): Promise<ReadonlyMap<RunId, ReadonlyMap<number, Step>>> {
  const whole = wanted.filter((run) => run.whole).map(({ runId }) => runId);
  const named = [
    ...wanted.flatMap(({ runId, places }) => places.map((no) => ({ runId, no }))),
    ...(await itemsToUndo(query, wanted)),
  ];
  const rows = await query<LoadedStepRow>("load_steps", [
    whole,
    ...columns(
      named,
      (row) => row.runId,
      (row) => row.no,
    ),
    FORWARD_ENDS,
    UNDO_ENDS,
  ]);
  const open = await loadOpen(query, rows);
  const byRun = new Map<RunId, Map<number, Step>>(wanted.map(({ runId }) => [runId, new Map()]));
  for (const row of rows)
    byRun.get(row.run_id)?.set(row.no, stepOf(row, open.get(keyOf(row.run_id, row.no)) ?? null));
  return byRun;
}

/** Asked for only where a map is being undone. */
async function itemsToUndo(
  query: Query,
  wanted: readonly StepsWanted[],
): Promise<readonly { readonly runId: RunId; readonly no: number }[]> {
  const maps = wanted.flatMap(({ runId, undoing }) => undoing.map((one) => ({ runId, ...one })));
  if (maps.length === 0) return [];
  const rows = await query<{ run_id: RunId; no: number }>(
    "items_to_undo",
    columns(
      maps,
      (row) => row.runId,
      (row) => row.map,
      (row) => row.most,
    ),
  );
  return rows.map((row) => ({ runId: row.run_id, no: row.no }));
}

/** What each OPEN step is: its lease, or its ready row, or the lease that a claim has just made. */
async function loadOpen(
  query: Query,
  rows: readonly LoadedStepRow[],
): Promise<ReadonlyMap<string, Ready | Lease>> {
  const open = new Map<string, Ready | Lease>();
  for (const row of rows) if (hasLease(row)) open.set(keyOf(row.run_id, row.no), leaseOf(row));
  const missing = () => rows.filter((row) => isOpen(row) && !open.has(keyOf(row.run_id, row.no)));
  const keys = () =>
    columns(
      missing(),
      (row) => row.run_id,
      (row) => row.no,
    );
  if (missing().length > 0)
    for (const row of await query<ReadyColumns>("lock_ready_rows", keys()))
      open.set(keyOf(row.run_id, row.step_no), readyOf(row));
  if (missing().length > 0)
    for (const row of await query<LeaseRow & { run_id: string; step_no: number }>(
      "lock_leases",
      keys(),
    ))
      open.set(keyOf(row.run_id, row.step_no), leaseOf(row));
  return open;
}

function hasLease(row: LoadedStepRow): row is LoadedStepRow & LeaseRow {
  return row.lease_fence !== null;
}

function keyOf(runId: RunId, step: number): string {
  return `${runId}/${step}`;
}
