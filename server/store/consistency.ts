// Derived rows and the pages that they are computed from: `ready`, `lease` and a page's `wake_at`.
// A write changes both in one transaction, so only a defect can make them differ.
import type { EpochMs } from "../core/attempt.ts";
import type { LeaseCancel } from "../core/model.ts";
import { derivedRows } from "../core/page/derived-rows.ts";
import type { Page } from "../core/page/page.ts";
import type { RunRef } from "./run-head.ts";

/** A run whose derived rows were rewritten from its pages. */
export interface RewrittenRun extends RunRef {
  /** One sentence for each row that was missing, should not have been there, or said otherwise. */
  readonly saw: readonly string[];
}

export interface DifferingRuns {
  readonly runs: readonly RunRef[];
  /** Where the next call begins; null: there are no more. */
  readonly last: RunRef | null;
}

/** What the consistency check reads without a lock. */
export interface Consistency {
  /**
   * Of the next `limit` open runs of these partitions behind `after`, in the order of partition and
   * id, those whose derived rows differ from what their pages say. A run whose pages cannot be read
   * is one of them: `rewriteDerived` then throws for it, and every other run is still checked.
   */
  differingRuns(
    partitions: readonly number[],
    after: RunRef | null,
    limit: number,
  ): Promise<DifferingRuns>;
}

/** What it does within a transaction. */
export interface ConsistencyTx {
  /**
   * Locks the open ones of these runs, waiting for others; compares again under the lock; rewrites
   * the derived rows that differ. A page keeps its state and its version. Returns the runs in which
   * something differed. It takes the place of `lockRuns` in the order of locks.
   */
  rewriteDerived(runs: readonly RunRef[]): Promise<readonly RewrittenRun[]>;
}

/** A derived row as it is stored. */
export interface StoredDerived {
  readonly of: "ready" | "lease";
  readonly step: number;
  /** Of a lease; null: of a ready row. */
  readonly secret: string | null;
  /** Of a ready row: it may not run past this time; null: no bound, or a lease. */
  readonly until: EpochMs | null;
  /** Of a lease: whether its agent has to stop. */
  readonly cancel: LeaseCancel["kind"];
}

export interface StoredPage {
  readonly page: Page;
  readonly wakeAt: EpochMs | null;
}

/**
 * What differs between the pages of an open run and what is stored beside them, a sentence each.
 * The lane of a ready row is not compared: pins and pauses have a say in it.
 */
export function differencesOf(
  pages: readonly StoredPage[],
  stored: readonly StoredDerived[],
): readonly string[] {
  const saw: string[] = [];
  const left = new Map(stored.map((row) => [`${row.of}/${row.step}`, row]));
  for (const { page, wakeAt } of pages) {
    const rows = derivedRows(page);
    for (const { step, ready } of rows.ready) {
      const row = take(left, `ready/${step}`);
      if (!row) saw.push(`step ${step} is ready and has no ready row`);
      else if (row.until !== ready.until)
        saw.push(`the ready row of step ${step} ends at another time than its task`);
    }
    for (const { step, lease } of rows.leases) {
      const row = take(left, `lease/${step}`);
      if (!row) saw.push(`step ${step} is with ${lease.agentId} and has no lease row`);
      else if (row.secret !== lease.secret)
        saw.push(`the lease row of step ${step} is of another hand-out`);
      else if (row.cancel !== lease.cancel.kind)
        saw.push(`the lease row of step ${step} says otherwise whether its agent has to stop`);
    }
    if (rows.wakeAt !== null && (wakeAt === null || wakeAt > rows.wakeAt))
      saw.push(`page ${page.no} is looked at later than its earliest timer`);
  }
  for (const { of, step } of left.values()) saw.push(`step ${step} has a ${of} row and is not so`);
  return saw;
}

function take(rows: Map<string, StoredDerived>, key: string): StoredDerived | undefined {
  const row = rows.get(key);
  rows.delete(key);
  return row;
}
