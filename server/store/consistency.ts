// Derived rows (`ready`, `lease` and the `wake_at` of a page) compared with the pages that they are
// computed from. A write changes both in one transaction, so only a defect can make them differ.
import type { EpochMs } from "../core/model/attempt.ts";
import type { LeaseCancel } from "../core/model/model.ts";
import { derivedRows } from "../core/page/derived-rows.ts";
import type { Page } from "../core/page/page.ts";
import type { RunRef } from "./run-head.ts";

/** A run whose derived rows were rewritten from its pages. */
export interface RewrittenRun extends RunRef {
  /** One sentence for each row that was missing, superfluous or different. */
  readonly saw: readonly string[];
}

export interface DifferingRuns {
  readonly runs: readonly RunRef[];
  /** The last run that was checked: the next call begins behind it. null: there are no more. */
  readonly last: RunRef | null;
}

/** What the consistency check reads, without locks. */
export interface Consistency {
  /**
   * Checks the next `limit` open runs of these partitions behind `after`, in the order of partition
   * and id. Returns those whose derived rows differ from their pages. A run whose pages cannot be
   * read is returned too: `rewriteDerived` then throws for it, and every other run is still
   * checked.
   */
  differingRuns(
    partitions: readonly number[],
    after: RunRef | null,
    limit: number,
  ): Promise<DifferingRuns>;
}

/** What the consistency check does within a transaction. */
export interface ConsistencyTx {
  /**
   * Locks those of these runs that are open, and all of their pages, and waits for other
   * transactions that hold them. Compares again under these locks, and rewrites the derived rows
   * that differ. Pages keep their state and their version. Returns the runs in which something
   * differed. In the order of locks this call takes the place of `lockRuns`.
   */
  rewriteDerived(runs: readonly RunRef[]): Promise<readonly RewrittenRun[]>;
}

/** A derived row as it is stored. */
export interface StoredDerived {
  readonly of: "ready" | "lease";
  readonly step: number;
  /** The secret of a lease; null: the row is a ready row. */
  readonly secret: string | null;
  /** Of a ready row: no attempt may run past this time; null: no bound, or the row is a lease. */
  readonly until: EpochMs | null;
  /** Of a lease: whether its agent has to stop. */
  readonly cancel: LeaseCancel["kind"];
}

export interface StoredPage {
  readonly page: Page;
  readonly wakeAt: EpochMs | null;
}

/**
 * Each difference between the pages of an open run and the derived rows that are stored beside
 * them, in one sentence. Lanes of ready rows are not compared, since pins and pauses change them.
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
        saw.push(`the lease row of step ${step} differs in whether its agent has to stop`);
    }
    if (rows.wakeAt !== null && (wakeAt === null || wakeAt > rows.wakeAt))
      saw.push(`page ${page.no} wakes later than its earliest timer`);
  }
  for (const { of, step } of left.values()) saw.push(`step ${step} has a ${of} row and is not so`);
  return saw;
}

function take(rows: Map<string, StoredDerived>, key: string): StoredDerived | undefined {
  const row = rows.get(key);
  rows.delete(key);
  return row;
}
