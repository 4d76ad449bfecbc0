// The queries of one claim: they lock the queues with limits, then ready rows for the waiters, and
// decide which waiter gets which row.
//
// Lanes without limits cost one statement. A queue with limits takes three more: to lock the queue,
// to count its leases, and to lock ready rows. So of two claims that want the last free capacity of
// a queue, the second counts what the first has taken. One statement locks all queues that a
// transaction needs, in one order: two transactions that locked one queue after the other would
// deadlock. Therefore waiters that are known only after the first query are requested (`later`)
// before any queue is locked.
import { afterGranting, opensAt, room } from "../core/model/limits.ts";
import type { LimitedLane, LockedQueue } from "../store/queues.ts";
import type { LockedReady, ReadyRow, Tx } from "../store/store.ts";
import type { Watermark } from "../store/watermarks.ts";
import type { AdmittedWaiter } from "./admission.ts";
import { type Match, match, type Room } from "./matching.ts";
import type { Watermarks } from "./watermarks.ts";

/** Most rows that a claim locks of one lane, and of all lanes. The next claim takes the rest. */
export const LANE_ROWS_MAX = 500;
const CLAIM_ROWS_MAX = 2_000;

export interface Assignment {
  readonly matches: readonly Match<AdmittedWaiter>[];
  /** Lanes that no claim needs to query now: see `Claim.drained`. */
  readonly drained: ReadonlySet<number>;
  /** Lanes that have given their share and may have more rows for their waiters. */
  readonly cut: ReadonlySet<number>;
  /** Queues that have reached a limit. */
  readonly full: readonly FullQueue[];
  /** The locked queues from which rows are assigned, as they are once the matches are granted. */
  readonly queues: readonly LockedQueue[];
}

export interface FullQueue {
  readonly name: string;
  readonly lanes: ReadonlySet<number>;
  /**
   * Milliseconds from the start of the transaction until the rate allows another task; null: only
   * the end of a task frees capacity.
   */
  readonly opensInMs: number | null;
}

/** The part of a namespace where several want more than there is. */
export type WeightOf = (namespaceId: number) => number;

interface AssignOptions {
  readonly watermarks: Watermarks;
  readonly weightOf: WeightOf;
}

interface LaneRequest {
  readonly lane: number;
  /** The capacity of its waiters together. */
  readonly places: number;
  /** The lane's share of this claim, in rows. */
  readonly share: number;
  /**
   * The number of rows that are withheld from a session, because it lost them (`avoid`). They may
   * come before the rows for these waiters, so this many more rows are locked.
   */
  readonly withheld: number;
}

/** A locked queue, those of its lanes that are queried, and how many tasks it may hand out. */
interface QueueBudget extends Room {
  readonly queue: LockedQueue;
}

interface LockedQuery {
  readonly rows: readonly ReadyRow[];
  readonly budgets: readonly QueueBudget[];
  readonly matches: Assignment["matches"];
}

/**
 * Locks ready rows and assigns them to waiters; null: there is no waiter. Rows that have to go to
 * another session must not hide the rows behind them: as many more rows are locked, once.
 */
export async function assign(
  tx: Tx,
  first: readonly AdmittedWaiter[],
  { watermarks, weightOf }: AssignOptions,
  later: () => Promise<readonly AdmittedWaiter[]> = async () => [],
): Promise<Assignment | null> {
  const early = await queryLanes(tx, askedBy(first, weightOf), watermarks);
  const second = await later();
  const takers = [...first, ...second];
  if (takers.length === 0) return null;
  const both =
    second.length === 0 ? early : await alsoFor(tx, askedBy(takers, weightOf), early, watermarks);
  const { from, found } = both;
  let { asked } = both;
  const budgets = await lockQueues(tx, found.limited);
  let queried = await queryLockedQueues(tx, takers, { asked, from, found }, budgets);
  const withheld = queried.rows.filter(({ avoid }) => avoid !== null && tx.now < avoid.until);
  const places = takers.reduce((sum, taker) => sum + taker.places, 0);
  if (withheld.length > 0 && queried.matches.length < places) {
    const longer = asked.map((one) => {
      const isFull = countOf(queried.rows, one.lane) === limitOf(one, budgets);
      return isFull ? { ...one, withheld: countOf(withheld, one.lane) } : one;
    });
    const grows = longer.some((one) => limitOf(one, budgets) > limitOf(one, budgets, 0));
    if (grows) {
      asked = longer;
      const again = await tx.lockReady(withLimits(asked, []), false, from);
      queried = await queryLockedQueues(tx, takers, { asked, from, found: again }, budgets);
    }
  }
  return assignment(tx, asked, queried);
}

/** What a query has found without the lock of any queue. */
interface QueryResult {
  readonly asked: readonly LaneRequest[];
  readonly from: readonly Watermark[];
  readonly found: LockedReady;
}

/** Lanes without limits return rows. For the others, the query returns their queues. */
async function queryLanes(
  tx: Tx,
  asked: readonly LaneRequest[],
  watermarks: Watermarks,
): Promise<QueryResult> {
  if (asked.length === 0) return { asked, from: [], found: { rows: [], limited: [] } };
  const from = watermarks.of(asked.map(({ lane }) => lane));
  return { asked, from, found: await tx.lockReady(withLimits(asked, []), false, from) };
}

/**
 * The same for all waiters, once the later ones are known. It queries only the lanes that are new.
 */
async function alsoFor(
  tx: Tx,
  all: readonly LaneRequest[],
  early: QueryResult,
  watermarks: Watermarks,
): Promise<QueryResult> {
  const known = new Map(early.asked.map((one) => [one.lane, one]));
  const added = all.filter(({ lane }) => !known.has(lane));
  const late = await queryLanes(tx, added, watermarks);
  const limited = [...early.found.limited, ...late.found.limited];
  const closed = new Set(limited.map(({ lane }) => lane));
  // A lane that has returned rows was queried with the share that it had then.
  const asked = all.map((one) => {
    const given = closed.has(one.lane) ? undefined : known.get(one.lane);
    return { ...one, share: given?.share ?? one.share };
  });
  const rows = [...early.found.rows, ...late.found.rows];
  return { asked, from: [...early.from, ...late.from], found: { rows, limited } };
}

/** Adds the rows of the lanes whose queues are locked. */
async function queryLockedQueues(
  tx: Tx,
  takers: readonly AdmittedWaiter[],
  { asked, from, found }: QueryResult,
  budgets: readonly QueueBudget[],
): Promise<LockedQuery> {
  const lanes = new Set(found.limited.map(({ lane }) => lane));
  const open = asked.filter((one) => lanes.has(one.lane) && limitOf(one, budgets) > 0);
  const more =
    open.length === 0 ? [] : (await tx.lockReady(withLimits(open, budgets), true, from)).rows;
  const rows = [...found.rows, ...more];
  return { rows, budgets, matches: match(rows, takers, tx.now, budgets) };
}

async function lockQueues(
  tx: Tx,
  limited: readonly LimitedLane[],
): Promise<readonly QueueBudget[]> {
  if (limited.length === 0) return [];
  const queues = new Map(limited.map((of) => [keyOf(of), of]));
  const locked = await tx.lockQueues([...queues.values()]);
  return locked.map((queue) => {
    const own = limited.filter((of) => keyOf(of) === keyOf(queue)).map(({ lane }) => lane);
    return { queue, lanes: new Set(own), places: room(queue, tx.now) };
  });
}

function assignment(
  tx: Tx,
  asked: readonly LaneRequest[],
  { rows, budgets, matches }: LockedQuery,
): Assignment {
  const given = new Set(matches.map(({ row }) => row));
  const left = new Set(rows.filter((row) => !given.has(row)).map(({ lane }) => lane));
  const after = budgets.map(({ queue, lanes }) => {
    const count = matches.filter(({ row }) => lanes.has(row.lane)).length;
    return { lanes, count, queue: { ...queue, ...afterGranting(queue, count, tx.now) } };
  });
  const full = after.filter(({ queue }) => room(queue, tx.now) === 0);
  const isFull = (lane: number) => full.some(({ lanes }) => lanes.has(lane));
  const cut = asked.filter((one) => {
    const limit = limitOf(one, budgets);
    return limit < one.places && countOf(rows, one.lane) >= limit && !isFull(one.lane);
  });
  const drained = asked.filter(
    (one) => countOf(rows, one.lane) < limitOf(one, budgets) && !left.has(one.lane),
  );
  return {
    matches,
    drained: new Set([
      ...drained.map(({ lane }) => lane),
      ...full.flatMap(({ lanes }) => [...lanes]),
    ]),
    // A claim that has matched nothing is not worth a repetition.
    cut: new Set(matches.length === 0 ? [] : cut.map(({ lane }) => lane)),
    full: full.map(({ queue, lanes }) => {
      const at = opensAt(queue, tx.now);
      return { name: keyOf(queue), lanes, opensInMs: at === null ? null : at - tx.now };
    }),
    queues: after.filter(({ count }) => count > 0).map(({ queue }) => queue),
  };
}

/** For each lane, what its waiters could take together, and its share of the claim. */
function askedBy(takers: readonly AdmittedWaiter[], weightOf: WeightOf): readonly LaneRequest[] {
  const demands = new Map<number, Demand>();
  for (const { lanes, places, waiter } of takers)
    for (const { lane } of lanes) {
      const rows = (demands.get(lane)?.rows ?? 0) + places;
      demands.set(lane, { lane, namespaceId: waiter.namespaceId, rows });
    }
  const shares = fairShares([...demands.values()], CLAIM_ROWS_MAX, weightOf);
  return [...demands.values()]
    .sort((a, b) => a.lane - b.lane)
    .map(({ lane, rows }) => ({ lane, places: rows, share: shares.get(lane) ?? 1, withheld: 0 }));
}

/** Most rows of a lane that are locked. */
function limitOf(
  { lane, share, withheld }: LaneRequest,
  budgets: readonly QueueBudget[],
  more = withheld,
): number {
  const budget = budgets.find(({ lanes }) => lanes.has(lane));
  if (budget && budget.places === 0) return 0;
  return Math.min(Math.min(share, budget?.places ?? share) + more, LANE_ROWS_MAX);
}

function withLimits(asked: readonly LaneRequest[], budgets: readonly QueueBudget[]) {
  return asked.map((one) => ({ lane: one.lane, limit: limitOf(one, budgets) }));
}

function countOf(rows: readonly ReadyRow[], lane: number): number {
  return rows.filter((row) => row.lane === lane).length;
}

function keyOf({ namespaceId, queue }: Pick<LockedQueue, "namespaceId" | "queue">): string {
  return `${namespaceId}/${queue}`;
}

export interface Demand {
  readonly lane: number;
  readonly namespaceId: number;
  /** Rows that the waiters of the lane could take; at least 1. */
  readonly rows: number;
}

/**
 * How the rows of one claim are shared. Each namespace gets a part by its weight, or all that it
 * wants if that is less; within a namespace, its lanes share in equal parts. So a namespace with a
 * hundred thousand tasks cannot starve a namespace with one task, and a claim stays small.
 *
 * Rows by lane: at least one each, even where the sum is then more than `rowsMax`.
 */
export function fairShares(
  demands: readonly Demand[],
  rowsMax: number,
  weightOf: WeightOf = () => 1,
): ReadonlyMap<number, number> {
  const namespaces = [...Map.groupBy(demands, ({ namespaceId }) => namespaceId)];
  const wanted = namespaces.map(([namespaceId, of]) => ({
    rows: of.reduce((sum, { rows }) => sum + rows, 0),
    weight: weightOf(namespaceId),
  }));
  const given = fill(wanted, rowsMax);
  return new Map(
    namespaces.flatMap(([, of], position) => {
      const rows = fill(
        of.map((one) => ({ rows: one.rows, weight: 1 })),
        given[position] ?? 0,
      );
      return of.map(({ lane }, index) => [lane, Math.max(1, rows[index] ?? 0)] as const);
    }),
  );
}

interface Wanted {
  readonly rows: number;
  readonly weight: number;
}

/**
 * Parts by weight, none larger than what is wanted. The remainder is shared by those that want
 * more.
 */
function fill(wanted: readonly Wanted[], total: number): readonly number[] {
  const given = wanted.map(() => 0);
  let left = total;
  let weights = wanted.reduce((sum, { weight }) => sum + weight, 0);
  const leastFirst = [...wanted.entries()].sort(
    ([, a], [, b]) => a.rows / a.weight - b.rows / b.weight,
  );
  for (const [position, { rows, weight }] of leastFirst) {
    const part = Math.min(rows, Math.floor((left * weight) / weights));
    given[position] = part;
    left -= part;
    weights -= weight;
  }
  return given;
}
