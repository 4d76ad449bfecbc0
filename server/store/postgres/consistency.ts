// The consistency check of derived rows in PostgreSQL. A scan reads in one snapshot, without locks;
// runs that differ are compared again under the locks of all their pages.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { LeaseCancel } from "../../core/model/model.ts";
import { derivedRows, wakeAtOf } from "../../core/page/derived-rows.ts";
import {
  type DifferingRuns,
  differencesOf,
  type RewrittenRun,
  type StoredDerived,
  type StoredPage,
} from "../consistency.ts";
import type { RunHead, RunId, RunRef } from "../store.ts";
import { columns } from "./columns.ts";
import type { PageCache } from "./page-cache.ts";
import type { Query } from "./transaction.ts";
import type { PageRow } from "./tx-pages.ts";
import { leaseColumns, readyColumns } from "./write-pages.ts";

interface DerivedRow {
  run_id: RunId;
  of: "ready" | "lease";
  step_no: number;
  secret: string | null;
  until: EpochMs | null;
  cancel: LeaseCancel["kind"];
}

/** `query` must read in one snapshot: a claim moves a page and its rows together. */
export async function differingRuns(
  query: Query,
  cache: PageCache,
  partitions: readonly number[],
  after: RunRef | null,
  limit: number,
): Promise<DifferingRuns> {
  const rows = await query<{ run_id: RunId; partition: number }>("open_runs_after", {
    partitions,
    partition: after?.partition ?? null,
    run_id: after?.runId ?? null,
    limit,
  });
  const runs = rows.map(({ run_id: runId, partition }): RunRef => ({ runId, partition }));
  const found = await compared(query, cache, runs);
  return {
    runs: runs.filter(({ runId }) => found.get(runId)?.saw.length !== 0),
    last: runs.length < limit ? null : (runs.at(-1) ?? null),
  };
}

/**
 * The runs must be locked. Claims and heartbeats lock no run, only the page that they change, so
 * the other pages are locked too before anything is compared. No page is added meanwhile, since
 * only a pass of the run does so.
 */
export async function rewriteDerived(
  query: Query,
  cache: PageCache,
  heads: readonly RunHead[],
): Promise<readonly RewrittenRun[]> {
  await query("load_whole_runs", { run_ids: heads.map(({ runId }) => runId) });
  const found = await compared(query, cache, heads);
  const rewritten = heads.flatMap((head) => {
    const of = found.get(head.runId);
    if (!of) throw new Error(`the pages of run ${head.runId} cannot be read`);
    return of.saw.length === 0 ? [] : [{ head, ...of }];
  });
  if (rewritten.length === 0) return [];
  await query("remove_derived_rows", { run_ids: rewritten.map(({ head }) => head.runId) });
  const all = rewritten.flatMap(({ head, pages }) => pages.map(({ page }) => ({ head, page })));
  const ready = all.flatMap(({ head, page }) =>
    derivedRows(page).ready.map((row) => ({ head, row })),
  );
  const leases = all.flatMap(({ head, page }) =>
    derivedRows(page).leases.map((row) => ({ head, row })),
  );
  if (ready.length > 0) await query("insert_ready", columns(ready, readyColumns));
  if (leases.length > 0) await query("insert_leases", columns(leases, leaseColumns));
  await query(
    "set_wake_ups",
    columns(all, {
      run_id: ({ head }) => head.runId,
      no: ({ page }) => page.no,
      wake_at: ({ page }) => wakeAtOf(page),
    }),
  );
  return rewritten.map(({ head: { runId, partition }, saw }) => ({ runId, partition, saw }));
}

interface Compared {
  readonly pages: readonly StoredPage[];
  /** What differs, in one sentence each. */
  readonly saw: readonly string[];
}

/** By run; a run whose pages cannot be read is left out. */
async function compared(
  query: Query,
  cache: PageCache,
  runs: readonly RunRef[],
): Promise<ReadonlyMap<RunId, Compared>> {
  if (runs.length === 0) return new Map();
  const ids = { run_ids: runs.map(({ runId }) => runId) };
  const stored = Map.groupBy(await query<PageRow>("pages_of_runs", ids), (row) => row.run_id);
  const derived = Map.groupBy(
    await query<DerivedRow>("derived_rows_of_runs", ids),
    (row) => row.run_id,
  );
  return new Map(
    runs.flatMap(({ runId }) => {
      const pages = pagesOf(stored.get(runId) ?? [], cache);
      if (!pages) return [];
      const rows = (derived.get(runId) ?? []).map(({ run_id: _, step_no: step, ...row }) => {
        return { ...row, step } satisfies StoredDerived;
      });
      return [[runId, { pages, saw: differencesOf(pages, rows) }] as const];
    }),
  );
}

/** null: the pages cannot be read. */
function pagesOf(rows: readonly PageRow[], cache: PageCache): readonly StoredPage[] | null {
  try {
    return rows.map(({ run_id: runId, no, version, state, wake_at: wakeAt }) => {
      const { page } = cache.decoded(runId, no, version, state);
      return { page, wakeAt };
    });
  } catch {
    return null;
  }
}
