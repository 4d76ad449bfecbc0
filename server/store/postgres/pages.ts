// The pages that one transaction reads and writes. They are locked and read once, changed in memory
// by its passes and hand-outs, and written once, with the difference that they make in the derived
// rows. A task that is made ready and handed out in one transaction is never stored as a ready row.
//
//   locked → changed, by passes and hand-outs → written (flush), and perhaps changed again
import type { EpochMs } from "../../core/model/attempt.ts";
import { movingSide, type Step } from "../../core/model/model.ts";
import type { DerivedLease, DerivedReady } from "../../core/page/derived-rows.ts";
import { type HandOut, handOut } from "../../core/page/hand-out.ts";
import { firstPage, type PageHead, type PageStep, pageNoOf } from "../../core/page/page.ts";
import type { PassRecord } from "../pass-record.ts";
import type { NewRun, RunHead, RunId, RunRef, StepsWanted } from "../store.ts";
import { applyPasses } from "./apply-passes.ts";
import { type Cell, changesOf, createCells, isBlank, newCell } from "./cells.ts";
import { loadSteps, lockPages } from "./load-pages.ts";
import { lockRuns } from "./lock-runs.ts";
import type { KnownPage, PageCache } from "./page-cache.ts";
import { readSteps, uniquePages } from "./read-steps.ts";
import type { Transaction } from "./transaction.ts";
import { firstCell, headIn, type PageRow, stepIn, type TxPages, takeRow } from "./tx-pages.ts";
import { writePages } from "./write-pages.ts";

/** A ready row that this transaction has made and not written yet. */
interface MadeReady extends DerivedReady {
  readonly cell: RunRef;
  readonly priority: number;
}

export interface Pages {
  /** Locks open runs by id. Without `wait`, runs that another transaction holds are left out. */
  lockRuns(runs: readonly RunRef[], wait: boolean): Promise<readonly RunHead[]>;
  /** Locks runs that have ended. */
  lockEnded(runs: readonly RunRef[]): Promise<readonly RunHead[]>;
  loadSteps(wanted: readonly StepsWanted[]): Promise<ReadonlyMap<RunId, ReadonlyMap<number, Step>>>;
  /** As this transaction has them, else as they are stored; null: the step was never touched. */
  steps(keys: readonly { runId: RunId; step: number }[]): Promise<readonly (PageStep | null)[]>;
  begin(runs: readonly NewRun[]): void;
  /** Applies passes; returns for each the leases that it has ended. */
  apply(records: readonly PassRecord[]): Promise<readonly (readonly DerivedLease[])[]>;
  /** Whether its runs come from the cache: if one of them has changed, the transaction fails. */
  isFromCache(): boolean;
  /** Ready rows that are made and not written, in the order of their passes. */
  made(): readonly MadeReady[];
  /** Adds a page that a claim has locked; one that is here already stays as it is. */
  adopt(row: PageRow): void;
  ready(
    runId: RunId,
    step: number,
  ): { readonly of: PageStep; readonly head: PageHead | null } | null;
  handOut(runId: RunId, step: number, to: HandOut, now: EpochMs): PageStep;
  /** Locks pages that heartbeats change; pages that another transaction holds are left out. */
  lockPages(keys: readonly { runId: RunId; step: number }[]): Promise<void>;
  /** Changes a step of a locked page; null: the page is not locked, or has no such step. */
  change(runId: RunId, step: number, how: (was: PageStep) => PageStep): PageStep | null;
  /**
   * Sends what has changed. Returns the lanes of ready rows: of those that it has made, and of
   * others on the same pages, which claims have passed over while the pages were locked.
   */
  flush(): Promise<readonly number[]>;
  /** Puts the written pages into the cache: the transaction has committed. */
  committed(): void;
}

/** A step of a run, by its key. */
interface StepKey {
  readonly runId: RunId;
  readonly step: number;
}

/** A first page that was sent, as the cache gets it after the commit. */
type WrittenPage = KnownPage & { readonly runId: RunId };

export function createPages(transaction: Transaction, cache: PageCache): Pages {
  const pages: TxPages = { transaction, cache, cells: createCells(), isFromCache: false };
  const written: WrittenPage[] = [];
  return Object.freeze({
    lockRuns: (runs, wait) => lockRuns(pages, wait ? "lock_runs_wait" : "lock_runs_skip", runs),
    lockEnded: (runs) => lockRuns(pages, "lock_ended_runs", runs),
    loadSteps: (wanted) => loadSteps(pages, wanted),
    steps: (keys) => stepsOf(pages, keys),
    begin(runs) {
      for (const run of runs) pages.cells.add(newCell(run, firstPage(run, transaction.now), null));
    },
    apply: (records) => applyPasses(pages, records),
    isFromCache: () => pages.isFromCache,
    made: () => madeReady(pages),
    adopt: (row) => void takeRow(pages, row),
    ready: (runId, step) => readyStep(pages, runId, step),
    handOut(runId, step, to, now) {
      const next = change(pages, runId, step, (was) => handOut(was, to, now));
      if (!next) throw new Error(`step ${step} of run ${runId} is handed out and not locked`);
      return next;
    },
    lockPages: (keys) => lockPages(pages, uniquePages(keys)),
    change: (runId, step, how) => change(pages, runId, step, how),
    flush: () => flush(pages, written),
    committed() {
      for (const { runId, ...page } of written) cache.keep(runId, page);
    },
  } satisfies Pages);
}

async function stepsOf(
  pages: TxPages,
  keys: readonly StepKey[],
): Promise<readonly (PageStep | null)[]> {
  const { transaction, cache, cells } = pages;
  const missing = uniquePages(keys).filter(({ runId, no }) => !cells.at(runId, no));
  const read = await readSteps(transaction.query, cache, missing);
  return keys.map(({ runId, step }) => stepIn(pages, runId, step) ?? read(runId, step));
}

function readyStep(pages: TxPages, runId: RunId, step: number): ReturnType<Pages["ready"]> {
  const of = stepIn(pages, runId, step);
  if (!of || movingSide(of.step)?.state.kind !== "READY") return null;
  return { of, head: pages.cells.at(runId, 0)?.page.head ?? null };
}

function change(
  { cells }: TxPages,
  runId: RunId,
  step: number,
  how: (was: PageStep) => PageStep,
): PageStep | null {
  const cell = cells.at(runId, pageNoOf(step));
  const was = cell?.page.steps.get(step);
  if (!cell || !was) return null;
  const next = how(was);
  if (next !== was) cell.page = { ...cell.page, steps: new Map(cell.page.steps).set(step, next) };
  return next;
}

function madeReady(pages: TxPages): readonly MadeReady[] {
  return changed(pages).flatMap((cell) => {
    const { readyNew } = changesOf(cell);
    const priority = readyNew.length === 0 ? 0 : headIn(firstCell(pages, cell.runId)).priority;
    return readyNew.map((one) => ({ ...one, cell, priority }));
  });
}

/** Pages that are not as they are stored. */
function changed({ cells }: TxPages): readonly Cell[] {
  return [...cells.all()].filter(
    (cell) => cell.stored?.encoded.page !== cell.page && !isBlank(cell),
  );
}

function flush(pages: TxPages, written: WrittenPage[]): Promise<readonly number[]> {
  const dirty = changed(pages);
  if (dirty.length === 0) return Promise.resolve([]);
  const lanes = writePages(pages.transaction, dirty, (runId) => headIn(firstCell(pages, runId)));
  for (const { runId, no, stored } of dirty)
    if (no === 0 && stored) written.push({ runId, ...stored });
  return lanes;
}
