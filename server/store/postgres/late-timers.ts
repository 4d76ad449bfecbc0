// Overdue timers of pages. The wake-up time of a page may be too early, so the pages are read in
// the order of these times until one is found in which a timer is overdue.
import type { EpochMs } from "../../core/model/attempt.ts";
import { decodePage } from "../../core/page/codec.ts";
import { type PageTimer, timersOf } from "../../core/page/derived-rows.ts";
import type { Query } from "./transaction.ts";

const PAGES_FIRST = 10;
const PAGES_NEXT = 200;
/** So at most 2,000 pages of a partition are read. */
const ROUNDS_MAX = 10;

interface LateRow {
  partition: number;
  run_id: string;
  no: number;
  wake_at: string;
  page: string;
  late_at: EpochMs;
}

type Place = Pick<LateRow, "partition"> & Partial<Pick<LateRow, "wake_at" | "run_id" | "no">>;

/**
 * By partition, timers that were due more than `byMs` ago, and at `since` or later. Of a partition
 * with many of them some are returned, one of the earliest included.
 */
export async function lateTimers(
  query: Query,
  partitions: readonly number[],
  { byMs, since }: { readonly byMs: number; readonly since: EpochMs | null },
): Promise<ReadonlyMap<number, readonly PageTimer[]>> {
  const late = new Map<number, PageTimer[]>();
  let places: readonly Place[] = partitions.map((partition) => ({ partition }));
  for (let round = 0; round < ROUNDS_MAX && places.length > 0; round++) {
    const limit = round === 0 ? PAGES_FIRST : PAGES_NEXT;
    const rows = await query<LateRow>("late_pages", {
      partition: places.map((place) => place.partition),
      wake_at: places.map((place) => place.wake_at ?? null),
      run_id: places.map((place) => place.run_id ?? null),
      no: places.map((place) => place.no ?? null),
      by: byMs,
      limit,
    });
    const read = Map.groupBy(rows, ({ partition }) => partition);
    for (const [partition, of] of read) {
      const found = of.flatMap((row) => timersIn(row, since));
      if (found.length > 0) late.set(partition, found);
    }
    places = [...read].flatMap(([partition, of]) => {
      const isOver = late.has(partition) || of.length < limit;
      return isOver ? [] : of.slice(-1);
    });
  }
  return late;
}

function timersIn({ page, late_at: lateAt }: LateRow, since: EpochMs | null): readonly PageTimer[] {
  return timersOf(decodePage(page).page).filter(
    ({ wakeAt }) => wakeAt < lateAt && wakeAt >= (since ?? wakeAt),
  );
}
