// The pages that one transaction reads and writes. They are locked and read once, changed in memory
// by its passes and hand-outs, and written once, with the difference that they make in the derived
// rows. A task that is made ready and handed out in one transaction is never stored as a ready row.
//
//   locked → changed, by passes and hand-outs → written (flush), and perhaps changed again
import type { EpochMs } from "../../core/model/attempt.ts";
import { isWanted } from "../../core/model/event.ts";
import { isEnded, movingSide, type Step } from "../../core/model/model.ts";
import { stepKeyOf } from "../../core/model/step-key.ts";
import { type AppliedPass, applyPass, pagesTouched } from "../../core/page/apply-pass.ts";
import type { DerivedLease, DerivedReady } from "../../core/page/derived-rows.ts";
import { type HandOut, handOut } from "../../core/page/hand-out.ts";
import {
  emptyPage,
  firstPage,
  type PageHead,
  type PageStep,
  pageNoOf,
} from "../../core/page/page.ts";
import type { PassRecord } from "../pass-record.ts";
import { endedRun } from "../run-head.ts";
import type { NewRun, RunHead, RunId, RunRef, StepsWanted } from "../store.ts";
import { type Cell, changesOf, createCells, isBlank, newCell } from "./cells.ts";
import { columns } from "./columns.ts";
import type { KnownPage, PageCache } from "./page-cache.ts";
import type { Begun, Query } from "./transaction.ts";
import { writeApplied } from "./write-attempts.ts";
import { writePages } from "./write-pages.ts";

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
type LockedPageRow = Omit<PageRow, "state"> & { readonly state: string | null };

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

/**
 * Most runs of a batch that is decided by the cache. If one of them has changed, all fail; so a
 * large batch, for which many calls wait, reads them first.
 */
const KNOWN_RUNS_MAX = 16;
/** How far the assumed time may be from the database's, in milliseconds. */
const NOW_OFF_MS_MAX = 2_000;

export function createPages(begun: Begun, cache: PageCache): Pages {
  const { query, send } = begun;
  const cells = createCells();
  let isFromCache = false;
  const written: (KnownPage & { readonly runId: RunId })[] = [];

  /** `known`: the page whose version the statement named. The cache may drop it meanwhile. */
  function take(row: LockedPageRow, known: KnownPage | null = null): Cell {
    const { run_id: runId, partition, no, version, state, wake_at: wakeAt } = row;
    const here = cells.at(runId, no);
    if (here) return here;
    const encoded = state === null ? known?.encoded : cache.decoded(runId, no, version, state);
    if (!encoded) throw new Error(`page ${no} of run ${runId} came without its text`);
    return cells.add(newCell({ runId, partition }, encoded.page, { version, encoded, wakeAt }));
  }

  async function lock(name: string, runs: readonly RunRef[]): Promise<readonly Cell[]> {
    if (runs.length === 0) return [];
    const known = new Map(runs.map(({ runId }) => [runId, cache.known(runId)]));
    const held = name === "lock_runs_skip" ? holdKnown(runs, known) : null;
    if (held) return held;
    const rows = await query<LockedPageRow>(
      name,
      columns(runs, {
        partition: (run) => run.partition,
        run_id: (run) => run.runId,
        known: (run) => known.get(run.runId)?.version ?? 0,
      }),
    );
    const locked = rows.map((row) => take(row, known.get(row.run_id)));
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
    runs: readonly RunRef[],
    known: ReadonlyMap<RunId, KnownPage | null>,
  ): readonly Cell[] | null {
    if (!begun.optimistic || runs.length > KNOWN_RUNS_MAX) return null;
    const held = runs.flatMap((run) => {
      const page = known.get(run.runId);
      return page ? [newCell(run, page.encoded.page, page)] : [];
    });
    if (held.length < runs.length || !begun.assumeNow()) return null;
    void send("hold_known_runs", {
      ...columns(held, {
        partition: ({ partition }) => partition,
        run_id: ({ runId }) => runId,
        known: ({ stored }) => stored?.version ?? 0,
      }),
      now: begun.now,
      off_max: NOW_OFF_MS_MAX,
    });
    isFromCache = true;
    return held.map((cell) => cells.add(cell));
  }

  /** Loads pages that are not here yet, in one statement; those that are not stored are empty. */
  async function load(wanted: readonly { readonly run: RunRef; readonly no: number }[]) {
    const missing = wanted.filter(({ run, no }) => !cells.at(run.runId, no));
    if (missing.length === 0) return;
    const rows = await query<PageRow>(
      "load_pages",
      columns(missing, { run_id: ({ run }) => run.runId, no: ({ no }) => no }),
    );
    for (const row of rows) take(row);
    for (const { run, no } of missing)
      if (!cells.at(run.runId, no)) cells.add(newCell(run, emptyPage(no), null));
  }

  function first(runId: RunId): Cell {
    const cell = cells.at(runId, 0);
    if (!cell) throw new Error(`run ${runId} must be locked before`);
    return cell;
  }

  function headIn(cell: Cell): PageHead {
    const { head } = cell.page;
    if (!head) throw new Error(`the first page of run ${cell.runId} has no head`);
    return head;
  }

  function stepIn(runId: RunId, place: number): PageStep | null {
    return cells.at(runId, pageNoOf(place))?.page.steps.get(place) ?? null;
  }

  function runHead(cell: Cell): RunHead {
    const { namespaceId, definitionId, priority, run } = headIn(cell);
    const { runId, partition } = cell;
    const known = isEnded(run.state) ? endedRun(run.state, run) : run;
    return { runId, partition, namespaceId, definitionId, priority, run: known };
  }

  /** Loads every page of these runs except those of items that are done for good. */
  async function loadWhole(runs: readonly RunId[]): Promise<void> {
    const more = runs.filter((runId) => headIn(first(runId)).hasMore);
    if (more.length === 0) return;
    for (const row of await query<PageRow>("load_whole_runs", { run_ids: more })) take(row);
  }

  async function loadSteps(wanted: readonly StepsWanted[]) {
    await loadWhole(wanted.flatMap(({ runId, whole }) => (whole ? [runId] : [])));
    await load(
      wanted.flatMap(({ runId, places }) =>
        placesOf(places).map((no) => ({ run: first(runId), no })),
      ),
    );
    await load(
      wanted.flatMap((one) => itemsToUndo(one).map((no) => ({ run: first(one.runId), no }))),
    );
    return new Map(
      wanted.map(({ runId, ...of }) => {
        const found = new Map<number, Step>();
        for (const cell of cells.of(runId))
          for (const { step } of cell.page.steps.values()) found.set(step.no, step);
        const steps = [...found].filter(([, step]) => isWanted(of, step, found));
        return [runId, new Map(steps.sort(([a], [b]) => a - b))] as const;
      }),
    );
  }

  /** The items that come next in maps that are being undone. */
  function itemsToUndo({ runId, undoing }: StepsWanted): readonly number[] {
    return undoing.flatMap(({ map, most }) => {
      const from = stepIn(runId, map)?.step.items?.undoFrom ?? 0;
      const least = Math.max(0, from - most);
      return Array.from({ length: from - least }, (_, back) => stepKeyOf(map, from - back));
    });
  }

  async function apply(records: readonly PassRecord[]) {
    const touched = records.map((record) => ({ record, numbers: pagesTouched(record) }));
    await load(
      touched.flatMap(({ record, numbers }) => numbers.map((no) => ({ run: record.head, no }))),
    );
    const { now } = begun;
    const applied = touched.map(({ record, numbers }): AppliedPass => {
      const { runId } = record.head;
      const pages = new Map(
        numbers.flatMap((no) => {
          const cell = cells.at(runId, no);
          return cell ? [[no, cell.page] as const] : [];
        }),
      );
      const ends = isEnded(record.after.run.state) && !isEnded(record.before.run.state);
      const done = applyPass(pages, { ...record, endedAt: ends ? now : null });
      for (const page of done.pages) {
        const cell = cells.at(runId, page.no);
        if (cell) cell.page = page;
      }
      return done;
    });
    writeApplied(
      send,
      applied.flatMap((one, at) => {
        const record = records[at];
        return record ? [{ runId: record.head.runId, applied: one }] : [];
      }),
    );
    return records.map(({ head: { runId } }) => leasesGone(runId));
  }

  /** Leases of a run whose rows are still stored, and whose tasks have ended. */
  function leasesGone(runId: RunId): readonly DerivedLease[] {
    return [...cells.of(runId)].flatMap((cell) => {
      if (cell.stored?.encoded.page === cell.page) return [];
      const { leasesGone: gone } = changesOf(cell);
      const fresh = gone.filter(({ lease }) => !cell.ended.has(lease.secret));
      for (const { lease } of fresh) cell.ended.add(lease.secret);
      return fresh;
    });
  }

  function change(runId: RunId, step: number, how: (was: PageStep) => PageStep): PageStep | null {
    const cell = cells.at(runId, pageNoOf(step));
    const was = cell?.page.steps.get(step);
    if (!cell || !was) return null;
    const next = how(was);
    if (next !== was) cell.page = { ...cell.page, steps: new Map(cell.page.steps).set(step, next) };
    return next;
  }

  function changed(): readonly Cell[] {
    return [...cells.all()].filter(
      (cell) => cell.stored?.encoded.page !== cell.page && !isBlank(cell),
    );
  }

  function flush(): Promise<readonly number[]> {
    const dirty = changed();
    if (dirty.length === 0) return Promise.resolve([]);
    const lanes = writePages(begun, dirty, (runId) => headIn(first(runId)));
    for (const { runId, no, stored } of dirty)
      if (no === 0 && stored) written.push({ runId, ...stored });
    return lanes;
  }

  return Object.freeze({
    async lockRuns(runs, wait) {
      const locked = await lock(wait ? "lock_runs_wait" : "lock_runs_skip", runs);
      return locked.map(runHead);
    },
    lockEnded: async (runs) => (await lock("lock_ended_runs", runs)).map(runHead),
    loadSteps,
    async steps(keys) {
      const missing = uniquePages(keys).filter(({ runId, no }) => !cells.at(runId, no));
      const read = await readSteps(query, cache, missing);
      return keys.map(({ runId, step }) => stepIn(runId, step) ?? read(runId, step));
    },
    begin(runs) {
      for (const run of runs) cells.add(newCell(run, firstPage(run, begun.now), null));
    },
    apply,
    isFromCache: () => isFromCache,
    made: () =>
      changed().flatMap((cell) => {
        const { readyNew } = changesOf(cell);
        const priority = readyNew.length === 0 ? 0 : headIn(first(cell.runId)).priority;
        return readyNew.map((one) => ({ ...one, cell, priority }));
      }),
    adopt: (row) => void take(row),
    ready(runId, step) {
      const of = stepIn(runId, step);
      if (!of || movingSide(of.step)?.state.kind !== "READY") return null;
      return { of, head: cells.at(runId, 0)?.page.head ?? null };
    },
    handOut(runId, step, to, now) {
      const next = change(runId, step, (was) => handOut(was, to, now));
      if (!next) throw new Error(`step ${step} of run ${runId} is handed out and not locked`);
      return next;
    },
    async lockPages(keys) {
      const rows = await query<PageRow>(
        "lock_pages_skip",
        columns(uniquePages(keys), { run_id: ({ runId }) => runId, no: ({ no }) => no }),
      );
      for (const row of rows) take(row);
    },
    change,
    flush,
    committed() {
      for (const { runId, ...page } of written) cache.keep(runId, page);
    },
  } satisfies Pages);
}

interface PageKey {
  readonly runId: RunId;
  readonly no: number;
}

/** Steps of these pages, by a plain read; null: the step was never touched. */
export async function readSteps(
  query: Query,
  cache: PageCache,
  pages: readonly PageKey[],
): Promise<(runId: RunId, step: number) => PageStep | null> {
  if (pages.length === 0) return () => null;
  const rows = await query<PageRow>(
    "read_pages",
    columns(pages, { run_id: ({ runId }) => runId, no: ({ no }) => no }),
  );
  const read = new Map(
    rows.map(({ run_id: runId, no, version, state }) => {
      return [keyOf(runId, no), cache.decoded(runId, no, version, state).page];
    }),
  );
  return (runId, step) => read.get(keyOf(runId, pageNoOf(step)))?.steps.get(step) ?? null;
}

export function uniquePages(
  keys: readonly { readonly runId: RunId; readonly step: number }[],
): readonly PageKey[] {
  const found = new Map(
    keys.map(({ runId, step }) => [keyOf(runId, pageNoOf(step)), { runId, no: pageNoOf(step) }]),
  );
  return [...found.values()];
}

function placesOf(places: readonly number[]): readonly number[] {
  return [...new Set(places.map(pageNoOf))];
}

function keyOf(runId: RunId, no: number): string {
  return `${runId}/${no}`;
}
