// Which waiter gets which ready row: a pure function of the rows that a claim has locked. Rows come
// in the order of their lanes (priority, then age). A waiter takes the best priority first. Between
// lanes of one priority its queues take turns by weight; on a tie, the row that has waited longest
// goes first. A row that has to go to another session than the one that lost it waits for such a
// session until its time has passed. The lanes of a queue with limits give no more rows together
// than the queue has capacity for.
import type { EpochMs } from "../core/model/attempt.ts";
import type { ReadyRow } from "../store/store.ts";

/** A lane that a waiter asks for, with the weight of its queue. */
export interface WeightedLane {
  readonly lane: number;
  readonly weight: number;
}

export interface Taker {
  readonly session: string;
  readonly places: number;
  readonly lanes: readonly WeightedLane[];
}

export interface Match<T extends Taker> {
  readonly taker: T;
  readonly row: ReadyRow;
}

/** Lanes that give at most `places` rows together. */
export interface Room {
  readonly lanes: ReadonlySet<number>;
  readonly places: number;
}

export function match<T extends Taker>(
  rows: readonly ReadyRow[],
  takers: readonly T[],
  now: EpochMs,
  rooms: readonly Room[] = [],
): readonly Match<T>[] {
  const left = new Map(rooms.map((room) => [room, room.places]));
  const roomOf = (lane: number) => rooms.find(({ lanes }) => lanes.has(lane));
  const rowsByLane = rowsByLaneOf(rows);
  const matches: Match<T>[] = [];
  for (const taker of takers) {
    const takenByLane = new Map<number, number>();
    for (let index = 0; index < taker.places; index++) {
      const row = best(rowsByLane, taker, takenByLane, now);
      if (!row) break;
      matches.push({ taker, row });
      takenByLane.set(row.lane, (takenByLane.get(row.lane) ?? 0) + 1);
      rowsByLane.get(row.lane)?.takenRows.add(row);
      const room = roomOf(row.lane);
      if (!room) continue;
      const places = (left.get(room) ?? 0) - 1;
      left.set(room, places);
      if (places <= 0) for (const lane of room.lanes) rowsByLane.delete(lane);
    }
  }
  return matches;
}

/**
 * The rows of a lane in order. Hundreds may be taken, so a row is marked as taken and not removed.
 */
interface LaneRows {
  readonly rows: ReadyRow[];
  readonly takenRows: Set<ReadyRow>;
  /** All rows before this index are taken. */
  first: number;
}

function rowsByLaneOf(rows: readonly ReadyRow[]): Map<number, LaneRows> {
  const rowsByLane = new Map<number, LaneRows>();
  for (const row of rows) {
    const laneRows = rowsByLane.get(row.lane);
    if (laneRows) laneRows.rows.push(row);
    else rowsByLane.set(row.lane, { rows: [row], takenRows: new Set(), first: 0 });
  }
  return rowsByLane;
}

function best(
  rowsByLane: ReadonlyMap<number, LaneRows>,
  taker: Taker,
  takenByLane: ReadonlyMap<number, number>,
  now: EpochMs,
): ReadyRow | null {
  let found: { row: ReadyRow; share: number } | null = null;
  for (const { lane, weight } of taker.lanes) {
    const row = firstFor(rowsByLane.get(lane), taker, now);
    if (!row) continue;
    const share = (takenByLane.get(lane) ?? 0) / weight;
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

function firstFor(
  laneRows: LaneRows | undefined,
  { session }: Taker,
  now: EpochMs,
): ReadyRow | null {
  if (!laneRows) return null;
  const { rows, takenRows } = laneRows;
  for (let index = laneRows.first; index < rows.length; index++) {
    const row = rows[index];
    if (!row || takenRows.has(row)) {
      if (index === laneRows.first) laneRows.first += 1;
    } else if (mayTake(row, session, now)) return row;
  }
  return null;
}

function mayTake(row: ReadyRow, session: string, now: EpochMs): boolean {
  return row.avoid === null || row.avoid.session !== session || now >= row.avoid.until;
}
