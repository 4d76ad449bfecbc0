// The consistency check of derived rows, over tables in memory.
import { derivedRows, wakeAtOf } from "../../core/page/derived-rows.ts";
import {
  type DifferingRuns,
  differencesOf,
  type RewrittenRun,
  type StoredDerived,
} from "../consistency.ts";
import type { RunId, RunRef } from "../run-head.ts";
import { insertLease, insertReady, type Writing } from "./pages.ts";
import { isOpen, openRunsOf, type PageRow, stepKey, type Tables } from "./tables.ts";

export function differingRuns(
  tables: Tables,
  partitions: readonly number[],
  after: RunRef | null,
  limit: number,
): DifferingRuns {
  const runs = partitions
    .flatMap((partition) => openRunsOf(tables, partition))
    .filter((run) => isAfter(run, after))
    .sort((a, b) => a.partition - b.partition || (a.runId < b.runId ? -1 : 1))
    .slice(0, limit)
    .map(({ runId, partition }): RunRef => ({ runId, partition }));
  return {
    runs: runs.filter(({ runId }) => differences(tables, runId).length > 0),
    last: runs.length < limit ? null : (runs.at(-1) ?? null),
  };
}

function isAfter({ runId, partition }: RunRef, after: RunRef | null): boolean {
  if (!after) return true;
  return partition > after.partition || (partition === after.partition && runId > after.runId);
}

export function rewriteDerived(writing: Writing, runs: readonly RunRef[]): readonly RewrittenRun[] {
  return runs.flatMap((run) => {
    const { tables } = writing;
    const saw = isOpen(tables, run.runId) ? differences(tables, run.runId) : [];
    if (saw.length === 0) return [];
    for (const { of, step } of storedDerived(tables, run.runId))
      tables[of].remove(stepKey(run.runId, step));
    for (const row of tables.page.where("run", run.runId)) rewritePage(writing, row);
    return [{ ...run, saw }];
  });
}

function rewritePage(writing: Writing, row: PageRow): void {
  const rows = derivedRows(row.page);
  for (const one of rows.ready) insertReady(writing, row, one);
  for (const one of rows.leases) insertLease(writing.tables, row, one);
  writing.tables.page.put({ ...row, wakeAt: wakeAtOf(row.page) });
}

function differences(tables: Tables, runId: RunId): readonly string[] {
  return differencesOf(tables.page.where("run", runId), storedDerived(tables, runId));
}

function storedDerived(tables: Tables, runId: RunId): readonly StoredDerived[] {
  const ready = tables.ready.where("run", runId).map(({ step, until }): StoredDerived => {
    return { of: "ready", step, until, secret: null, cancel: "none" };
  });
  const leases = tables.lease.where("run", runId).map(({ step, secret, cancel }): StoredDerived => {
    return { of: "lease", step, secret, cancel, until: null };
  });
  return [...ready, ...leases];
}
