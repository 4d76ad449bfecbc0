// A run with everything about it, from its pages.
import { isFinal, isUndoLeft, type Step } from "../../core/model/model.ts";
import { itemOf, stepKeyOf } from "../../core/model/step-key.ts";
import type { PageStep } from "../../core/page/page.ts";
import type { AttemptRecord, DetailWanted, ItemPage, RunDetail } from "../reads.ts";
import { type InterventionRow, interventionOf } from "./intervention-rows.ts";
import { decisionsOf, type EscalationRow, escalationRecord, signalsOf } from "./people.ts";
import {
  attemptRecords,
  headIn,
  inOrderOfEnd,
  newestAttempts,
  type PageRow,
  stepsIn,
} from "./read-pages.ts";
import type { Query } from "./transaction.ts";

/** Most history of each kind that one read of a run returns: the newest. */
const HISTORY_MAX = 1_000;
/** Items that are read at once if only some of them are asked for. */
const ITEMS_READ = 500;
/** Settled items, beside those that are read, whose attempts are counted. */
const ITEMS_COUNTED_MAX = 10_000;

export async function runDetailOf(
  query: Query,
  runId: string,
  wanted: DetailWanted,
): Promise<Omit<RunDetail, "run">> {
  const pages = await query<PageRow>("run_pages", { run_id: runId });
  const { run, hasMore } = headIn(runId, pages);
  const found = stepsIn(pages);
  const steps = found
    .filter(({ step }) => isShown(step))
    .map(({ step }) => [step.no, step] as const);
  const interventions = wanted.interventions
    ? await query<InterventionRow & { total: number }>("run_interventions", {
        run_id: runId,
        limit: HISTORY_MAX,
      })
    : [];
  const reused = await query<{ step_no: number; of_run: string }>("run_reused", { run_id: runId });
  const escalations = wanted.escalations
    ? await query<EscalationRow>("run_escalations", { run_id: runId, limit: HISTORY_MAX })
    : [];
  const { attempts, total } = wanted.attempts
    ? await history(query, runId, { found, hasMore })
    : { attempts: [], total: null };
  return {
    state: run.state,
    pivoted: run.pivoted,
    steps: new Map(steps),
    attempts,
    interventions: interventions.map((row) => ({ runId, ...interventionOf(row) })),
    escalations: escalations.map(escalationRecord),
    signals: (await signalsOf(query, [runId])).get(runId) ?? [],
    decisions: (await decisionsOf(query, [runId])).get(runId) ?? [],
    reused: new Map(reused.map((row) => [row.step_no, row.of_run])),
    totals: {
      attempts: total,
      interventions: wanted.interventions ? (interventions[0]?.total ?? 0) : null,
    },
  };
}

/** Items of a map are shown only while they are not done for good. */
function isShown({ no, forward, undo }: Step): boolean {
  return itemOf(no) === 0 || !isFinal(forward) || isUndoLeft(undo);
}

/**
 * The newest attempts at steps, and the newest at items. Of the items that are done for good only
 * the last ones are read: a map may have ten thousand. `total`: how many there are; null: unknown.
 */
async function history(
  query: Query,
  runId: string,
  { found, hasMore }: { readonly found: readonly PageStep[]; readonly hasMore: boolean },
): Promise<{ readonly attempts: readonly AttemptRecord[]; readonly total: number | null }> {
  const settled = hasMore
    ? await query<PageRow>("settled_items", { run_id: runId, limit: HISTORY_MAX })
    : [];
  const read = [...found, ...stepsIn(settled)];
  const attempts = await newestAttempts(query, runId, read, HISTORY_MAX);
  const inOrder = attempts.toSorted(inOrderOfEnd);
  const newest = (areItems: boolean) =>
    inOrder.filter(({ step }) => itemOf(step) > 0 === areItems).slice(-HISTORY_MAX);
  const shown = [...newest(false), ...newest(true)].sort(inOrderOfEnd);
  const unread = await settledAttempts(query, runId, settled);
  const total = unread === null ? null : unread + attemptsOf(read);
  return { attempts: await attemptRecords(query, runId, shown), total };
}

function attemptsOf(steps: readonly PageStep[]): number {
  return steps.reduce((sum, { attempts, logged }) => sum + attempts.length + logged, 0);
}

/** The attempts at settled items that were not read; null: there are more than are counted. */
async function settledAttempts(
  query: Query,
  runId: string,
  read: readonly PageRow[],
): Promise<number | null> {
  const before = read.at(-1)?.no;
  if (before === undefined || read.length < HISTORY_MAX) return 0;
  const [counted] = await query<{ items: number; attempts: number }>("count_settled_attempts", {
    run_id: runId,
    before,
    limit: ITEMS_COUNTED_MAX,
  });
  if (counted === undefined || counted.items === ITEMS_COUNTED_MAX) return null;
  return counted.attempts;
}

export async function runItemsOf(
  query: Query,
  runId: string,
  page: ItemPage,
): Promise<Pick<RunDetail, "steps" | "attempts">> {
  const found = await itemsOf(query, runId, page);
  const attempts = await newestAttempts(query, runId, found, HISTORY_MAX);
  return {
    steps: new Map(found.map(({ step }) => [step.no, step])),
    attempts: await attemptRecords(query, runId, attempts.toSorted(inOrderOfEnd)),
  };
}

/** One page after the other: if few items of a map are asked for, none of the others stays here. */
async function itemsOf(
  query: Query,
  runId: string,
  { map, after, limit, forwards }: ItemPage,
): Promise<readonly PageStep[]> {
  const found: PageStep[] = [];
  const read = forwards === null ? limit : Math.max(limit, ITEMS_READ);
  const settled = settledOf(forwards);
  let last = stepKeyOf(map, after);
  while (found.length < limit) {
    const rows = await query<PageRow>("item_pages", {
      run_id: runId,
      map,
      after: last,
      limit: read,
      settled,
    });
    for (const of of stepsIn(rows))
      if (found.length < limit && (forwards?.includes(of.step.forward.kind) ?? true))
        found.push(of);
    last = rows.at(-1)?.no ?? last;
    if (rows.length < read) break;
  }
  return found;
}

/** Whether items with these forward states may be done for good. false: none; null: some may. */
function settledOf(forwards: ItemPage["forwards"]): boolean | null {
  const mayBe = forwards?.some((kind) => FINAL.includes(kind)) ?? true;
  return mayBe ? null : false;
}

const FINAL: readonly Step["forward"]["kind"][] = ["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"];
