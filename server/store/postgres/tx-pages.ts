// The pages that one transaction has locked or looked up, as its parts share them: they are locked
// in lock-runs.ts and load-pages.ts, and changed in pages.ts and apply-passes.ts.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { PageHead, PageStep } from "../../core/page/page.ts";
import { pageNoOf } from "../../core/page/page.ts";
import type { RunId } from "../store.ts";
import { type Cell, type Cells, newCell } from "./cells.ts";
import type { KnownPage, PageCache } from "./page-cache.ts";
import type { Transaction } from "./transaction.ts";

export interface TxPages {
  readonly transaction: Transaction;
  readonly cache: PageCache;
  readonly cells: Cells;
  /** Runs are held by what the cache has: if one of them has changed, the transaction fails. */
  isFromCache: boolean;
}

/** A page as statements return it. */
export interface PageRow {
  run_id: RunId;
  no: number;
  partition: number;
  version: number;
  wake_at: EpochMs | null;
  state: string;
}

/** A page locked by id. `state` null: it has the version that the statement named. */
export type LockedPageRow = Omit<PageRow, "state"> & { readonly state: string | null };

/**
 * Adds a page that a statement has returned; one that is here already stays as it is. `known`: the
 * page whose version the statement named. The cache may drop it meanwhile.
 */
export function takeRow(
  { cells, cache }: TxPages,
  row: LockedPageRow,
  known: KnownPage | null = null,
): Cell {
  const { run_id: runId, partition, no, version, state, wake_at: wakeAt } = row;
  const here = cells.at(runId, no);
  if (here) return here;
  const encoded = state === null ? known?.encoded : cache.decoded(runId, no, version, state);
  if (!encoded) throw new Error(`page ${no} of run ${runId} came without its text`);
  return cells.add(newCell({ runId, partition }, encoded.page, { version, encoded, wakeAt }));
}

/** The first page of a run, which must be locked before. */
export function firstCell({ cells }: TxPages, runId: RunId): Cell {
  const cell = cells.at(runId, 0);
  if (!cell) throw new Error(`run ${runId} must be locked before`);
  return cell;
}

/** The head in a first page. */
export function headIn(first: Cell): PageHead {
  const { head } = first.page;
  if (!head) throw new Error(`the first page of run ${first.runId} has no head`);
  return head;
}

/** null: its page is not here, or the step was never touched. */
export function stepIn({ cells }: TxPages, runId: RunId, step: number): PageStep | null {
  return cells.at(runId, pageNoOf(step))?.page.steps.get(step) ?? null;
}
