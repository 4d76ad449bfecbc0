// The claims of one transaction. What its passes make ready is held back until its claims have
// scanned (pages.ts): a task that a claim hands out becomes a lease at once, and is never stored as
// a ready row.
//
// If the transaction is decided by what is known, and its lanes were empty a moment ago, a scan
// reads nothing: it sends a statement that fails the transaction if they are not empty
// (empty-lanes.ts).
//
// A scan returns what it would return if the rows were in the table already. If a pin or a paused
// workflow may change the lane of a row, the rows are written first, and the scan reads them there.
import { movingSide } from "../../core/model/model.ts";
import type { PageStep } from "../../core/page/page.ts";
import type { Grant, Granted, LockedReady, ReadyRow, RunRef, Tx } from "../store.ts";
import { type LaneRange, rangesOf, type Watermark } from "../watermarks.ts";
import { columns } from "./columns.ts";
import type { EmptyLanes } from "./empty-lanes.ts";
import type { Pages } from "./pages.ts";
import type { Transaction } from "./transaction.ts";
import type { PageRow } from "./tx-pages.ts";

type Lane = Parameters<Tx["lockReady"]>[0][number];

/** A task that the page of its step should say is READY. */
interface ReadyAt extends RunRef {
  readonly step: number;
  readonly lane: number;
  readonly priority: number;
}

interface ReadyRows extends Pick<Tx, "lockReady" | "grant" | "placeReady"> {}

interface State {
  readonly transaction: Transaction;
  readonly pages: Pages;
  readonly emptyLanes: EmptyLanes;
  /** The lanes of each flush. */
  readonly placed: Promise<readonly number[]>[];
}

export function createReadyRows(
  transaction: Transaction,
  pages: Pages,
  emptyLanes: EmptyLanes,
): ReadyRows {
  const state: State = { transaction, pages, emptyLanes, placed: [] };
  return Object.freeze({
    lockReady: (lanes, queuesLocked = false, marks = []) => lock(state, lanes, queuesLocked, marks),
    grant: async (grants) => grants.map((one) => handOut(state, one)),
    placeReady: () => place(state),
  } satisfies ReadyRows);
}

function place({ pages, emptyLanes, placed }: State): Promise<readonly number[]> {
  for (const { terms } of pages.made()) emptyLanes.filled(terms.lane);
  placed.push(pages.flush());
  const lanes = Promise.all(placed).then((all) => [...new Set(all.flat())]);
  // If the statement fails, so does its waiter.
  lanes.catch(() => undefined);
  return lanes;
}

async function lock(
  state: State,
  lanes: readonly Lane[],
  queuesLocked: boolean,
  marks: readonly Watermark[],
): Promise<LockedReady> {
  const { transaction, pages, emptyLanes } = state;
  if (pages.isFromCache() && emptyLanes.areEmpty(lanes.map(({ lane }) => lane)))
    return assertEmpty(state, lanes, marks);
  const found = await transaction.query<LockedReadyRow | LaneRow>("lock_ready", {
    ...columns(lanes, { lane: ({ lane }) => lane, most: ({ limit }) => limit }),
    queues_locked: queuesLocked,
    ...rangeArrays(lanes, marks),
  });
  note(emptyLanes, lanes, found);
  for (const row of found) if (row.run_id !== null) pages.adopt(row);
  const rows = found.flatMap((row) => (row.run_id === null ? [] : readyRowsOf(pages, row)));
  if (pages.made().length === 0) return { rows, limited: limitedOf(found) };
  if (found.some(({ has_overrides }) => has_overrides)) {
    await place(state);
    return lock(state, lanes, queuesLocked, marks);
  }
  const limited = limitedOf(found);
  const closed = new Set(limited.map(({ lane }) => lane));
  const open = new Set(found.flatMap(({ asked }) => (closed.has(asked) ? [] : asked)));
  return { rows: firstOf(lanes, [...rows, ...own(state, open)]), limited };
}

/** A scan that reads nothing: the lanes were empty a moment ago, so only its own rows are there. */
function assertEmpty(
  state: State,
  lanes: readonly Lane[],
  marks: readonly Watermark[],
): LockedReady {
  const { transaction, emptyLanes } = state;
  const asked = columns(lanes, { lane: ({ lane }) => lane });
  void transaction.send("assert_lanes_empty", { ...asked, ...rangeArrays(lanes, marks) });
  const rows = own(state, new Set(lanes.map(({ lane }) => lane)));
  for (const { lane, limit } of lanes)
    emptyLanes.scanned(lane, rows.filter((row) => row.lane === lane).length <= limit);
  return { rows: firstOf(lanes, rows), limited: [] };
}

/** What a scan says of lanes: those that gave as many rows as were asked for may have more. */
function note(
  emptyLanes: EmptyLanes,
  lanes: readonly Lane[],
  found: readonly (LockedReadyRow | LaneRow)[],
): void {
  const byLane = Map.groupBy(found, ({ asked }) => asked);
  for (const { lane, limit } of lanes) {
    const rows = byLane.get(lane) ?? [];
    const isOpen = rows.length > 0 && rows.every(({ has_overrides }) => !has_overrides);
    if (!isOpen || limitedOf(rows).length > 0) emptyLanes.drop(lane);
    else emptyLanes.scanned(lane, rows.filter((row) => row.run_id !== null).length < limit);
  }
}

/** What the transaction has made ready in these lanes. */
function own({ transaction, pages }: State, open: ReadonlySet<number>): readonly ReadyRow[] {
  return pages
    .made()
    .flatMap(({ cell, step, terms, priority }) =>
      open.has(terms.lane) ? claimable(pages, { ...cell, step, lane: terms.lane, priority }) : [],
    )
    .filter(({ until }) => until === null || until > transaction.now);
}

/** Of each lane as many rows as are asked for, in the order of dispatch. */
function firstOf(lanes: readonly Lane[], rows: readonly ReadyRow[]): readonly ReadyRow[] {
  const byLane = Map.groupBy(rows, ({ lane }) => lane);
  return lanes.flatMap(({ lane, limit }) =>
    (byLane.get(lane) ?? []).sort((a, b) => a.priority - b.priority).slice(0, limit),
  );
}

function readyRowsOf(pages: Pages, row: LockedReadyRow): readonly ReadyRow[] {
  const { run_id: runId, partition, step_no: step, lane, priority } = row;
  return claimable(pages, { runId, partition, step, lane, priority });
}

/** None if the page does not say that the step is READY: the consistency check rewrites it. */
function claimable(pages: Pages, at: ReadyAt): readonly ReadyRow[] {
  const { runId, partition, step, lane, priority } = at;
  const found = pages.ready(runId, step);
  const row = found && taskOf(found.of);
  return row ? [{ runId, partition, step, lane, priority, ...row }] : [];
}

function handOut({ transaction, pages }: State, grant: Grant): Granted {
  const { secret, session, agentId, pollSeq } = grant;
  const { runId, step, lane } = grant.ready;
  const to = { secret, session, agentId, pollSeq, lane };
  const after = movingSide(pages.handOut(runId, step, to, transaction.now).step)?.state;
  if (after?.kind !== "LEASED") throw new Error(`step ${step} was handed out and is not leased`);
  return { ...grant, grantedAt: transaction.now, attemptBy: after.attemptBy };
}

function taskOf({ step, terms }: PageStep) {
  const ready = movingSide(step)?.state;
  if (ready?.kind !== "READY" || !terms) return null;
  const { attemptMs, heartbeatMs, cancelMs, stallMs, isFirstTry } = terms;
  const { task, fence, attempt, readyAt, until, avoid } = ready;
  return {
    task,
    fence,
    attempt,
    readyAt,
    until,
    avoid,
    attemptMs,
    heartbeatMs,
    cancelMs,
    stallMs,
    isFirstTry,
  };
}

/** What the statement says of a lane, in each of its rows. */
interface OfLane {
  asked: number;
  /** A pin or a pause may put ready rows of its namespace into another lane. */
  has_overrides: boolean;
}

/** A lane that gives no row: it has none, or its queue has limits (`queue`) and is not locked. */
interface LaneRow extends OfLane {
  namespace_id: number | null;
  queue: string | null;
  run_id: null;
}

interface LockedReadyRow extends OfLane, PageRow {
  step_no: number;
  lane: number;
  priority: number;
}

function limitedOf(found: readonly (LockedReadyRow | LaneRow)[]): LockedReady["limited"] {
  return found.flatMap((row) => {
    if (row.run_id !== null || row.namespace_id === null || row.queue === null) return [];
    return [{ lane: row.asked, namespaceId: row.namespace_id, queue: row.queue }];
  });
}

/**
 * Watermarks in the form in which the statements that scan ready rows take them.
 *
 * The ranges in which each lane is scanned, as arrays within three columns.
 */
function rangeArrays(
  lanes: readonly { readonly lane: number }[],
  marks: readonly Watermark[],
): Readonly<Record<string, string>> {
  const arrayOf = (ranges: readonly LaneRange[], value: (range: LaneRange) => unknown): string =>
    `{${ranges.map(value).join()}}`;
  const all = rangesOf(
    lanes.map(({ lane }) => lane),
    marks,
  );
  return columns(all, {
    priorities: (ranges) => arrayOf(ranges, ({ priority }) => priority),
    firsts: (ranges) => arrayOf(ranges, ({ from }) => from),
    lasts: (ranges) => arrayOf(ranges, ({ lastPriority }) => lastPriority),
  });
}
