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

/** Lanes that give at most so many rows together. */
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
  const lines = linesOf(rows);
  const matches: Match<T>[] = [];
  for (const taker of takers) {
    const taken = new Map<number, number>();
    for (let index = 0; index < taker.places; index++) {
      const row = best(lines, taker, taken, now);
      if (!row) break;
      matches.push({ taker, row });
      taken.set(row.lane, (taken.get(row.lane) ?? 0) + 1);
      lines.get(row.lane)?.gone.add(row);
      const room = roomOf(row.lane);
      if (!room) continue;
      const places = (left.get(room) ?? 0) - 1;
      left.set(room, places);
      if (places <= 0) for (const lane of room.lanes) lines.delete(lane);
    }
  }
  return matches;
}

/**
 * The rows of a lane in order. Hundreds may be taken, so a row is marked as taken and not removed.
 */
interface Line {
  readonly rows: ReadyRow[];
  readonly gone: Set<ReadyRow>;
  /** All rows before this index are taken. */
  first: number;
}

function linesOf(rows: readonly ReadyRow[]): Map<number, Line> {
  const lines = new Map<number, Line>();
  for (const row of rows) {
    const line = lines.get(row.lane);
    if (line) line.rows.push(row);
    else lines.set(row.lane, { rows: [row], gone: new Set(), first: 0 });
  }
  return lines;
}

function best(
  lines: ReadonlyMap<number, Line>,
  taker: Taker,
  taken: ReadonlyMap<number, number>,
  now: EpochMs,
): ReadyRow | null {
  let found: { row: ReadyRow; share: number } | null = null;
  for (const { lane, weight } of taker.lanes) {
    const row = firstFor(lines.get(lane), taker, now);
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

function firstFor(line: Line | undefined, { session }: Taker, now: EpochMs): ReadyRow | null {
  if (!line) return null;
  const { rows, gone } = line;
  for (let index = line.first; index < rows.length; index++) {
    const row = rows[index];
    if (!row || gone.has(row)) {
      if (index === line.first) line.first += 1;
    } else if (mayTake(row, session, now)) return row;
  }
  return null;
}

function mayTake(row: ReadyRow, session: string, now: EpochMs): boolean {
  return row.avoid === null || row.avoid.session !== session || now >= row.avoid.until;
}
