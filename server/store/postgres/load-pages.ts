// Loads and locks further pages: of locked runs, with the steps that a pass is decided by; and
// those that heartbeats change.

import { isWanted } from "../../core/model/event.ts";
import type { Step } from "../../core/model/model.ts";
import { stepKeyOf } from "../../core/model/step-key.ts";
import { emptyPage, pageNoOf } from "../../core/page/page.ts";
import type { RunId, RunRef, StepsWanted } from "../store.ts";
import { newCell } from "./cells.ts";
import { columns } from "./columns.ts";
import type { PageKey } from "./read-steps.ts";
import { firstCell, headIn, type PageRow, stepIn, type TxPages, takeRow } from "./tx-pages.ts";

/** A page that is wanted, of a run that is locked. */
interface PageWanted {
  readonly run: RunRef;
  readonly no: number;
}

/** Loads pages that are not here yet, in one statement; those that are not stored are empty. */
export async function loadPages(pages: TxPages, wanted: readonly PageWanted[]): Promise<void> {
  const { transaction, cells } = pages;
  const missing = wanted.filter(({ run, no }) => !cells.at(run.runId, no));
  if (missing.length === 0) return;
  const rows = await transaction.query<PageRow>(
    "load_pages",
    columns(missing, { run_id: ({ run }) => run.runId, no: ({ no }) => no }),
  );
  for (const row of rows) takeRow(pages, row);
  for (const { run, no } of missing)
    if (!cells.at(run.runId, no)) cells.add(newCell(run, emptyPage(no), null));
}

/** Locks these pages, and takes those that no other transaction holds. */
export async function lockPages(pages: TxPages, keys: readonly PageKey[]): Promise<void> {
  const rows = await pages.transaction.query<PageRow>(
    "lock_pages_skip",
    columns(keys, { run_id: ({ runId }) => runId, no: ({ no }) => no }),
  );
  for (const row of rows) takeRow(pages, row);
}

export async function loadSteps(
  pages: TxPages,
  wanted: readonly StepsWanted[],
): Promise<ReadonlyMap<RunId, ReadonlyMap<number, Step>>> {
  await loadWhole(
    pages,
    wanted.flatMap(({ runId, whole }) => (whole ? [runId] : [])),
  );
  await loadPages(
    pages,
    wanted.flatMap(({ runId, places }) =>
      pageNosOf(places).map((no) => ({ run: firstCell(pages, runId), no })),
    ),
  );
  await loadPages(
    pages,
    wanted.flatMap((one) =>
      itemsToUndo(pages, one).map((no) => ({ run: firstCell(pages, one.runId), no })),
    ),
  );
  return new Map(wanted.map((one) => [one.runId, stepsWanted(pages, one)]));
}

/** Loads every page of these runs except those of items that are done for good. */
async function loadWhole(pages: TxPages, runs: readonly RunId[]): Promise<void> {
  const { query } = pages.transaction;
  const more = runs.filter((runId) => headIn(firstCell(pages, runId)).hasMore);
  if (more.length === 0) return;
  for (const row of await query<PageRow>("load_whole_runs", { run_ids: more })) takeRow(pages, row);
}

function pageNosOf(places: readonly number[]): readonly number[] {
  return [...new Set(places.map(pageNoOf))];
}

/** The items that come next in maps that are being undone. */
function itemsToUndo(pages: TxPages, { runId, undoing }: StepsWanted): readonly number[] {
  return undoing.flatMap(({ map, most }) => {
    const from = stepIn(pages, runId, map)?.step.items?.undoFrom ?? 0;
    const least = Math.max(0, from - most);
    return Array.from({ length: from - least }, (_, back) => stepKeyOf(map, from - back));
  });
}

/** Of the pages that are here, the steps that are wanted, by step key. */
function stepsWanted({ cells }: TxPages, wanted: StepsWanted): ReadonlyMap<number, Step> {
  const found = new Map<number, Step>();
  for (const cell of cells.of(wanted.runId))
    for (const { step } of cell.page.steps.values()) found.set(step.no, step);
  const steps = [...found].filter(([, step]) => isWanted(wanted, step, found));
  return new Map(steps.sort(([a], [b]) => a - b));
}
