// Timers of pages whose moment has passed. A page says when it is to be looked at, and that may be
// too early; so the pages are read in that order until one is found in which something is late.
import type { EpochMs } from "../../core/attempt.ts";
import { decodePage } from "../../core/page/codec.ts";
import { type PageTimer, timersOf } from "../../core/page/derived-rows.ts";
import type { Query } from "./transaction.ts";

const PAGES_FIRST = 10;
const PAGES_NEXT = 200;
/** With it, 2,000 pages of a partition are read at most. */
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
 * By partition, timers whose moment has passed by more than `byMs`, from the moment `since` on;
 * a partition with many has some of them, among which is one of the first.
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
    const rows = await query<LateRow>("late_pages", [
      places.map((place) => place.partition),
      places.map((place) => place.wake_at ?? null),
      places.map((place) => place.run_id ?? null),
      places.map((place) => place.no ?? null),
      ...[byMs, limit],
    ]);
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
