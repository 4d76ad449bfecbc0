// One claim's look: ready rows are locked for agents that wait, queues with limits before that, and
// it is said who gets which.
//
// Lanes without limits cost one statement. A queue with limits is locked, counted and asked by
// three more, so of two claims that want its last place the second counts what the first has taken.
// The rows of all queues that a transaction needs are locked in one statement, which locks them in
// one order: two transactions that lock one queue and then another deadlock. So agents that are
// known only after the first look are asked for (`later`) before any queue is locked.
import { opensAt, room, taken } from "../core/limits.ts";
import type { LimitedLane, LockedQueue } from "../store/queues.ts";
import type { LockedReady, ReadyRow, Tx } from "../store/store.ts";
import type { Watermark } from "../store/watermarks.ts";
import type { AdmittedWaiter } from "./admission.ts";
import { type Demand, fairShares } from "./fair-shares.ts";
import { type Match, match, type Room } from "./matching.ts";
import type { Watermarks } from "./watermarks.ts";

/** Rows locked of one lane at most, and of all lanes of a claim; the rest is for the next one. */
export const LANE_ROWS_MAX = 500;
const CLAIM_ROWS_MAX = 2_000;

export interface Assignment {
  readonly matches: readonly Match<AdmittedWaiter>[];
  /** Lanes that nobody needs to look at: see `Claim.drained`. */
  readonly drained: ReadonlySet<number>;
  /** Lanes that had their turn and may have more for their waiters. */
  readonly cut: ReadonlySet<number>;
  /** Queues that have given what they may. */
  readonly full: readonly FullQueue[];
  /** As they are once the matches are granted. */
  readonly queues: readonly LockedQueue[];
}

export interface FullQueue {
  readonly name: string;
  readonly lanes: ReadonlySet<number>;
  /** Milliseconds from the start of the transaction until time makes room; null: a task's end. */
  readonly opensInMs: number | null;
}

interface Asked {
  readonly lane: number;
  /** Of its waiters together. */
  readonly places: number;
  /** Of this claim. */
  readonly share: number;
  /** Rows kept for other sessions that stand before what these may take. */
  readonly kept: number;
}

/** A locked queue, its lanes that are asked, and how many it may give. */
interface Book extends Room {
  readonly queue: LockedQueue;
}

interface Look {
  readonly rows: readonly ReadyRow[];
  readonly books: readonly Book[];
  readonly matches: Assignment["matches"];
}

/**
 * Locks rows and says who gets which; null: nobody asks. Rows kept for other sessions hide nothing
 * that stands behind them: as many more are locked, once.
 */
export async function assign(
  tx: Tx,
  first: readonly AdmittedWaiter[],
  watermarks: Watermarks,
  later: () => Promise<readonly AdmittedWaiter[]> = async () => [],
): Promise<Assignment | null> {
  const early = await firstLook(tx, askedBy(first), watermarks);
  const second = await later();
  const takers = [...first, ...second];
  if (takers.length === 0) return null;
  const looked = second.length === 0 ? early : await alsoFor(tx, takers, early, watermarks);
  const { from, found } = looked;
  let { asked } = looked;
  const books = await openBooks(tx, found.limited);
  let look = await lookIntoBooks(tx, takers, { asked, from, found }, books);
  const kept = look.rows.filter(({ avoid }) => avoid !== null && tx.now < avoid.until);
  const places = takers.reduce((sum, taker) => sum + taker.places, 0);
  if (kept.length > 0 && look.matches.length < places) {
    const longer = asked.map((one) => {
      const isFull = countOf(look.rows, one.lane) === limitOf(one, books);
      return isFull ? { ...one, kept: countOf(kept, one.lane) } : one;
    });
    const grows = longer.some((one) => limitOf(one, books) > limitOf(one, books, 0));
    if (grows) {
      asked = longer;
      const again = await tx.lockReady(withLimits(asked, []), false, from);
      look = await lookIntoBooks(tx, takers, { asked, from, found: again }, books);
    }
  }
  return assignment(tx, asked, look);
}

/** What a look found without any lock of a queue. */
interface Looked {
  readonly asked: readonly Asked[];
  readonly from: readonly Watermark[];
  readonly found: LockedReady;
}

/** Lanes without limits give their rows, the others say of which queues they are. */
async function firstLook(tx: Tx, asked: readonly Asked[], watermarks: Watermarks): Promise<Looked> {
  if (asked.length === 0) return { asked, from: [], found: { rows: [], limited: [] } };
  const from = watermarks.of(asked.map(({ lane }) => lane));
  return { asked, from, found: await tx.lockReady(withLimits(asked, []), false, from) };
}

/** The same for all takers, of whom some were not known then: only their lanes are looked at. */
async function alsoFor(
  tx: Tx,
  takers: readonly AdmittedWaiter[],
  early: Looked,
  watermarks: Watermarks,
): Promise<Looked> {
  const all = askedBy(takers);
  const known = new Map(early.asked.map((one) => [one.lane, one]));
  const added = all.filter(({ lane }) => !known.has(lane));
  const late = await firstLook(tx, added, watermarks);
  const limited = [...early.found.limited, ...late.found.limited];
  const closed = new Set(limited.map(({ lane }) => lane));
  // A lane that has given rows has given as many as it was asked for then.
  const asked = all.map((one) => {
    const given = closed.has(one.lane) ? undefined : known.get(one.lane);
    return { ...one, share: given?.share ?? one.share };
  });
  const rows = [...early.found.rows, ...late.found.rows];
  return { asked, from: [...early.from, ...late.from], found: { rows, limited } };
}

/** The lanes of locked queues give their rows, too. */
async function lookIntoBooks(
  tx: Tx,
  takers: readonly AdmittedWaiter[],
  { asked, from, found }: Looked,
  books: readonly Book[],
): Promise<Look> {
  const lanes = new Set(found.limited.map(({ lane }) => lane));
  const open = asked.filter((one) => lanes.has(one.lane) && limitOf(one, books) > 0);
  const more =
    open.length === 0 ? [] : (await tx.lockReady(withLimits(open, books), true, from)).rows;
  const rows = [...found.rows, ...more];
  return { rows, books, matches: match(rows, takers, tx.now, books) };
}

async function openBooks(tx: Tx, limited: readonly LimitedLane[]): Promise<readonly Book[]> {
  if (limited.length === 0) return [];
  const queues = new Map(limited.map((of) => [keyOf(of), of]));
  const locked = await tx.lockQueues([...queues.values()]);
  return locked.map((queue) => {
    const own = limited.filter((of) => keyOf(of) === keyOf(queue)).map(({ lane }) => lane);
    return { queue, lanes: new Set(own), places: room(queue, tx.now) };
  });
}

function assignment(tx: Tx, asked: readonly Asked[], { rows, books, matches }: Look): Assignment {
  const given = new Set(matches.map(({ row }) => row));
  const left = new Set(rows.filter((row) => !given.has(row)).map(({ lane }) => lane));
  const after = books.map(({ queue, lanes }) => {
    const count = matches.filter(({ row }) => lanes.has(row.lane)).length;
    return { lanes, count, queue: { ...queue, ...taken(queue, count, tx.now) } };
  });
  const full = after.filter(({ queue }) => room(queue, tx.now) === 0);
  const isFull = (lane: number) => full.some(({ lanes }) => lanes.has(lane));
  const cut = asked.filter((one) => {
    const limit = limitOf(one, books);
    return limit < one.places && countOf(rows, one.lane) >= limit && !isFull(one.lane);
  });
  const drained = asked.filter(
    (one) => countOf(rows, one.lane) < limitOf(one, books) && !left.has(one.lane),
  );
  return {
    matches,
    drained: new Set([
      ...drained.map(({ lane }) => lane),
      ...full.flatMap(({ lanes }) => [...lanes]),
    ]),
    // A look that gave nothing is not worth another.
    cut: new Set(matches.length === 0 ? [] : cut.map(({ lane }) => lane)),
    full: full.map(({ queue, lanes }) => {
      const at = opensAt(queue, tx.now);
      return { name: keyOf(queue), lanes, opensInMs: at === null ? null : at - tx.now };
    }),
    queues: after.filter(({ count }) => count > 0).map(({ queue }) => queue),
  };
}

/** What the waiters of each lane could take together. */
function askedBy(takers: readonly AdmittedWaiter[]): readonly Asked[] {
  const demands = new Map<number, Demand>();
  for (const { lanes, places, waiter } of takers)
    for (const { lane } of lanes) {
      const rows = (demands.get(lane)?.rows ?? 0) + places;
      demands.set(lane, { lane, namespaceId: waiter.namespaceId, rows });
    }
  const shares = fairShares([...demands.values()], CLAIM_ROWS_MAX);
  return [...demands.values()]
    .sort((a, b) => a.lane - b.lane)
    .map(({ lane, rows }) => ({ lane, places: rows, share: shares.get(lane) ?? 1, kept: 0 }));
}

/** Rows of a lane that are locked, at most. */
function limitOf({ lane, share, kept }: Asked, books: readonly Book[], more = kept): number {
  const book = books.find(({ lanes }) => lanes.has(lane));
  if (book && book.places === 0) return 0;
  return Math.min(Math.min(share, book?.places ?? share) + more, LANE_ROWS_MAX);
}

function withLimits(asked: readonly Asked[], books: readonly Book[]) {
  return asked.map((one) => ({ lane: one.lane, limit: limitOf(one, books) }));
}

function countOf(rows: readonly ReadyRow[], lane: number): number {
  return rows.filter((row) => row.lane === lane).length;
}

function keyOf({ namespaceId, queue }: Pick<LockedQueue, "namespaceId" | "queue">): string {
  return `${namespaceId}/${queue}`;
}
