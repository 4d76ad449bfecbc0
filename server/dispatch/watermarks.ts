// The watermarks of the lanes that this process claims from (store/watermarks.ts): moved by each
// poll tick, looked at from the beginning once a minute, and dropped a minute after nothing was
// claimed there.
import type { Clock } from "../clock.ts";
import { type SeenWatermarks, type Watermark, watermarkAfter } from "../store/watermarks.ts";

const FULL_LOOK_EVERY_MS = 60_000;

export interface Watermarks {
  of(lanes: readonly number[]): readonly Watermark[];
  /** Rows of these were claimed: their dead entries are to be passed over. */
  used(rows: readonly { readonly lane: number; readonly priority: number }[]): void;
  /** What to look from, in the store. */
  asked(): readonly Watermark[];
  /** false: by another store, or after its crash. Rows may stand where none could come; all go. */
  seen(seen: SeenWatermarks): boolean;
}

interface Kept {
  readonly watermark: Watermark;
  usedAtMs: number;
}

export function createWatermarks(clock: Pick<Clock, "monotonicMs">): Watermarks {
  const lanes = new Map<number, Map<number, Kept>>();
  let fullLookAtMs = clock.monotonicMs();
  let incarnation: string | null = null;

  function keep(watermark: Watermark, usedAtMs: number): void {
    const own = lanes.get(watermark.lane) ?? new Map<number, Kept>();
    lanes.set(watermark.lane, own.set(watermark.priority, { watermark, usedAtMs }));
  }

  const kept = (): readonly Kept[] => [...lanes.values()].flatMap((own) => [...own.values()]);

  function dropUnused(): void {
    for (const { watermark, usedAtMs } of kept()) {
      if (usedAtMs >= fullLookAtMs) continue;
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
        else keep({ lane, priority, from: 0n }, now);
      }
    },
    asked() {
      const now = clock.monotonicMs();
      const isFull = now - fullLookAtMs >= FULL_LOOK_EVERY_MS;
      if (isFull) {
        dropUnused();
        fullLookAtMs = now;
      }
      return kept().map(({ watermark }) => (isFull ? { ...watermark, from: 0n } : watermark));
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
          keep({ lane, priority, from: watermarkAfter(first, seen.oldest) }, known.usedAtMs);
      }
      return true;
    },
  } satisfies Watermarks);
}
