// The watermarks of the lanes that this process claims from (store/watermarks.ts). Each poll tick
// moves them. Once a minute lanes are read from the beginning, and watermarks of lanes without a
// claim in the minute before are dropped.
import type { Clock } from "../clock.ts";
import { type SeenWatermarks, type Watermark, watermarkAfter } from "../store/watermarks.ts";

const FULL_READ_EVERY_MS = 60_000;

export interface Watermarks {
  of(lanes: readonly number[]): readonly Watermark[];
  /**
   * Rows of these lanes were claimed: claims have to skip the dead index entries that they leave.
   */
  used(rows: readonly { readonly lane: number; readonly priority: number }[]): void;
  /** Where the next poll query begins to read. */
  asked(): readonly Watermark[];
  /**
   * false: the watermarks are from another store, or from before its crash. Rows may be before
   * them, so all are dropped.
   */
  seen(seen: SeenWatermarks): boolean;
}

interface Entry {
  readonly watermark: Watermark;
  usedAtMs: number;
}

export function createWatermarks(clock: Pick<Clock, "monotonicMs">): Watermarks {
  const lanes = new Map<number, Map<number, Entry>>();
  let fullReadAtMs = clock.monotonicMs();
  let incarnation: string | null = null;

  function store(watermark: Watermark, usedAtMs: number): void {
    const own = lanes.get(watermark.lane) ?? new Map<number, Entry>();
    lanes.set(watermark.lane, own.set(watermark.priority, { watermark, usedAtMs }));
  }

  const entries = (): readonly Entry[] => [...lanes.values()].flatMap((own) => [...own.values()]);

  function dropUnused(): void {
    for (const { watermark, usedAtMs } of entries()) {
      if (usedAtMs >= fullReadAtMs) continue;
      const own = lanes.get(watermark.lane);
      own?.delete(watermark.priority);
      if (own?.size === 0) lanes.delete(watermark.lane);
    }
  }

  return Object.freeze({
    of: (asked: readonly number[]) =>
      asked.flatMap((lane) =>
        [...(lanes.get(lane)?.values() ?? [])].map(({ watermark }) => watermark),
      ),
    used(rows: readonly { readonly lane: number; readonly priority: number }[]) {
      const now = clock.monotonicMs();
      for (const { lane, priority } of rows) {
        const known = lanes.get(lane)?.get(priority);
        if (known) known.usedAtMs = now;
        else store({ lane, priority, from: 0n }, now);
      }
    },
    asked() {
      const now = clock.monotonicMs();
      const isFull = now - fullReadAtMs >= FULL_READ_EVERY_MS;
      if (isFull) {
        dropUnused();
        fullReadAtMs = now;
      }
      return entries().map(({ watermark }) => (isFull ? { ...watermark, from: 0n } : watermark));
    },
    seen(seen: SeenWatermarks) {
      const isSame = incarnation === null || incarnation === seen.incarnation;
      incarnation = seen.incarnation;
      if (!isSame) {
        lanes.clear();
        return false;
      }
      for (const { lane, priority, first } of seen.watermarks) {
        const known = lanes.get(lane)?.get(priority);
        if (known)
          store({ lane, priority, from: watermarkAfter(first, seen.oldest) }, known.usedAtMs);
      }
      return true;
    },
  } satisfies Watermarks);
}
