// Locks the first pages of runs: by a statement that returns them, or, for a small batch whose
// pages are all cached, by a statement that is sent and not waited for.
import { isEnded } from "../../core/model/model.ts";
import { endedRun } from "../run-head.ts";
import type { RunHead, RunId, RunRef } from "../store.ts";
import { type Cell, newCell } from "./cells.ts";
import { columns } from "./columns.ts";
import type { KnownPage } from "./page-cache.ts";
import { headIn, type LockedPageRow, type TxPages, takeRow } from "./tx-pages.ts";

/** The statement that locks: open runs, with or without a wait for others, or ended ones. */
type LockStatement = "lock_runs_wait" | "lock_runs_skip" | "lock_ended_runs";

/** What the cache has of each run. */
type KnownPages = ReadonlyMap<RunId, KnownPage | null>;

/**
 * Most runs of a batch that is decided by the cache. If one of them has changed, all fail; so a
 * large batch, for which many calls wait, reads them first.
 */
const KNOWN_RUNS_MAX = 16;
/** How far the assumed time may be from the database's, in milliseconds. */
const NOW_OFF_MS_MAX = 2_000;

/** Returns the heads of those that it has locked. */
export async function lockRuns(
  pages: TxPages,
  statement: LockStatement,
  runs: readonly RunRef[],
): Promise<readonly RunHead[]> {
  return (await lock(pages, statement, runs)).map(runHead);
}

async function lock(
  pages: TxPages,
  statement: LockStatement,
  runs: readonly RunRef[],
): Promise<readonly Cell[]> {
  if (runs.length === 0) return [];
  const { transaction, cache } = pages;
  const known = new Map(runs.map(({ runId }) => [runId, cache.known(runId)]));
  const held = statement === "lock_runs_skip" ? holdKnown(pages, runs, known) : null;
  if (held) return held;
  const rows = await transaction.query<LockedPageRow>(
    statement,
    columns(runs, {
      partition: (run) => run.partition,
      run_id: (run) => run.runId,
      known: (run) => known.get(run.runId)?.version ?? 0,
    }),
  );
  const locked = rows.map((row) => takeRow(pages, row, known.get(row.run_id)));
  const found = new Map(locked.map(({ runId, stored }) => [runId, stored?.version]));
  for (const { runId } of runs)
    if (known.get(runId)?.version !== found.get(runId)) cache.drop(runId);
  return locked;
}

/**
 * Runs whose first pages are all known: the lock is sent, and not waited for. If one of them has
 * changed, or another transaction holds it, the transaction fails as outdated.
 */
function holdKnown(
  pages: TxPages,
  runs: readonly RunRef[],
  known: KnownPages,
): readonly Cell[] | null {
  const { transaction, cells } = pages;
  if (!transaction.optimistic || runs.length > KNOWN_RUNS_MAX) return null;
  const held = runs.flatMap((run) => {
    const page = known.get(run.runId);
    return page ? [newCell(run, page.encoded.page, page)] : [];
  });
  if (held.length < runs.length || !transaction.assumeNow()) return null;
  void transaction.send("hold_known_runs", {
    ...columns(held, {
      partition: ({ partition }) => partition,
      run_id: ({ runId }) => runId,
      known: ({ stored }) => stored?.version ?? 0,
    }),
    now: transaction.now,
    off_max: NOW_OFF_MS_MAX,
  });
  pages.isFromCache = true;
  return held.map((cell) => cells.add(cell));
}

function runHead(first: Cell): RunHead {
  const { namespaceId, definitionId, priority, run } = headIn(first);
  const { runId, partition } = first;
  const known = isEnded(run.state) ? endedRun(run.state, run) : run;
  return { runId, partition, namespaceId, definitionId, priority, run: known };
}
