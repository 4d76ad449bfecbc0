// Which waiter gets which ready row: a pure choice over rows that a claim has locked.
// Rows come in the order of their lanes (priority, then age). A waiter takes the best priority
// first; between lanes of one priority its queues take turns by weight, and of those whose turn it
// is the row goes first that waits longest. A row that should go to
// another session than the one that lost it waits for one until its moment has passed. Lanes of a
// queue with limits give no more together than it has room for.
import type { Moment } from "../core/attempt.ts";
import type { ReadyRow } from "../store/store.ts";

/** A lane that a waiter asks for, with the weight of its queue. */
export interface DueLane {
  readonly lane: number;
  readonly weight: number;
}

export interface Taker {
  readonly session: string;
  readonly places: number;
  readonly lanes: readonly DueLane[];
}

export interface Match<T extends Taker> {
  readonly taker: T;
  readonly row: ReadyRow;
}

/** Lanes that give so many rows together, at most. */
export interface Room {
  readonly lanes: ReadonlySet<number>;
  readonly places: number;
}

export function match<T extends Taker>(
  rows: readonly ReadyRow[],
  takers: readonly T[],
  now: Moment,
  rooms: readonly Room[] = [],
): readonly Match<T>[] {
  const left = new Map(rooms.map((room) => [room, room.places]));
  const roomOf = (lane: number) => rooms.find(({ lanes }) => lanes.has(lane));
  const queues = new Map<number, ReadyRow[]>();
  for (const row of rows) queues.set(row.lane, [...(queues.get(row.lane) ?? []), row]);
  const matches: Match<T>[] = [];
  for (const taker of takers) {
    const taken = new Map<number, number>();
    for (let place = 0; place < taker.places; place++) {
      const row = best(queues, taker, taken, now);
      if (!row) break;
      matches.push({ taker, row });
      taken.set(row.lane, (taken.get(row.lane) ?? 0) + 1);
      queues.set(
        row.lane,
        (queues.get(row.lane) ?? []).filter((other) => other !== row),
      );
      const room = roomOf(row.lane);
      if (!room) continue;
      const places = (left.get(room) ?? 0) - 1;
      left.set(room, places);
      if (places <= 0) for (const lane of room.lanes) queues.delete(lane);
    }
  }
  return matches;
}

function best(
  queues: ReadonlyMap<number, readonly ReadyRow[]>,
  taker: Taker,
  taken: ReadonlyMap<number, number>,
  now: Moment,
): ReadyRow | null {
  let found: { row: ReadyRow; share: number } | null = null;
  for (const { lane, weight } of taker.lanes) {
    const row = queues.get(lane)?.find((one) => mayTake(one, taker.session, now));
    if (!row) continue;
    const share = (taken.get(lane) ?? 0) / weight;
    const better =
      !found ||
      row.priority < found.row.priority ||
      (row.priority === found.row.priority && share < found.share) ||
      (row.priority === found.row.priority &&
        share === found.share &&
        row.readyAt < found.row.readyAt);
    if (better) found = { row, share };
  }
  return found?.row ?? null;
}

function mayTake(row: ReadyRow, session: string, now: Moment): boolean {
  return row.avoid === null || row.avoid.session !== session || now >= row.avoid.until;
}
