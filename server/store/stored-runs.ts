// Rows as they stand, for the integrity sweep: read without a judgement, and removed by name.
import type { Moment } from "../core/attempt.ts";
import type { Stray } from "../core/examine.ts";
import type { StoredRun } from "../core/stored.ts";
import type { RunHead, RunId, RunRef } from "./run-head.ts";
import type { ConcurrencyKey, LaneKey } from "./store.ts";

/** A run as its rows stand. What is left of a run that is not open has no namespace of its own. */
export interface StoredHead extends Omit<RunHead, "run"> {
  /** The store's time of the look. */
  readonly now: Moment;
  readonly stored: StoredRun;
  /** The concurrency key of its slot. */
  readonly slotOf: ConcurrencyKey | null;
}

/** An open run on the walk of the sweep. */
export interface WalkedRun extends RunRef {
  readonly version: number;
  /** Steps and items that have a row. */
  readonly rows: number;
}

export interface StrayRows extends RunRef {
  readonly strays: readonly Stray[];
  /** The run is not open: its open row goes, too, with all that waits for it. */
  readonly all: boolean;
}

/** What the integrity sweep does within a transaction. */
export interface SweepTx {
  /** Locks the open ones of these runs, waiting for others, and reads all rows as they stand. */
  lockStored(runs: readonly RunRef[]): Promise<ReadonlyMap<RunId, StoredHead>>;
  /** Of locked runs. Rows that are not there are none. */
  removeStrays(runs: readonly StrayRows[]): Promise<void>;
  /** Makes lanes that are gone again, under the numbers that they had. */
  restoreLanes(lanes: readonly (LaneKey & { readonly lane: number })[]): Promise<void>;
  /**
   * Makes open rows that are gone again, as is said. Of two who do it at once one fails: a run has
   * one open row.
   */
  reopenRuns(runs: readonly RunHead[]): Promise<void>;
}

/** What the integrity sweep reads without a lock. */
export interface SweptRows {
  /** Open runs of these partitions behind a place in their order, by partition and id. */
  openRuns(
    partitions: readonly number[],
    after: RunRef | null,
    limit: number,
  ): Promise<readonly WalkedRun[]>;
  storedRuns(runs: readonly RunRef[]): Promise<ReadonlyMap<RunId, StoredHead>>;
  /**
   * Runs that have not ended and have no open row, of the next `limit` runs of all; `last`: where
   * the next look begins, null: there are none any more.
   */
  unopenedRuns(
    after: RunId | null,
    limit: number,
  ): Promise<{ readonly runs: readonly RunRef[]; readonly last: RunId | null }>;
  /**
   * Runs that are not open, of the next `limit` rows of each table that belongs to open runs alone;
   * `last`: where the next look begins, null: it was the last.
   */
  strayRuns(
    after: RunId | null,
    limit: number,
  ): Promise<{ readonly runs: readonly RunRef[]; readonly last: RunId | null }>;
}
