// The marks of the lanes that this process claims from (store/marks.ts): moved by each poll tick, looked
// at from the beginning once a minute, and dropped a minute after nothing was claimed there.
import type { Clock } from "../clock.ts";
import { type Mark, markAfter, type SeenMarks } from "../store/marks.ts";

const FULL_LOOK_EVERY_MS = 60_000;

export interface Marks {
  of(lanes: readonly number[]): readonly Mark[];
  /** Rows of these were claimed: their dead entries are to be passed over. */
  used(rows: readonly { readonly lane: number; readonly priority: number }[]): void;
  /** What to look from, in the store. */
  asked(): readonly Mark[];
  /** false: by another store, or after its crash. Rows may stand where none could come; all go. */
  seen(seen: SeenMarks): boolean;
}

interface Kept {
  readonly mark: Mark;
  usedAtMs: number;
}

export function createMarks(clock: Pick<Clock, "monotonicMs">): Marks {
  const lanes = new Map<number, Map<number, Kept>>();
  let fullLookAtMs = clock.monotonicMs();
  let incarnation: string | null = null;

  function keep(mark: Mark, usedAtMs: number): void {
    const own = lanes.get(mark.lane) ?? new Map<number, Kept>();
    lanes.set(mark.lane, own.set(mark.priority, { mark, usedAtMs }));
  }

  const kept = (): readonly Kept[] => [...lanes.values()].flatMap((own) => [...own.values()]);

  function dropUnused(): void {
    for (const { mark, usedAtMs } of kept()) {
      if (usedAtMs >= fullLookAtMs) continue;
      const own = lanes.get(mark.lane);
      own?.delete(mark.priority);
      if (own?.size === 0) lanes.delete(mark.lane);
    }
  }

  return Object.freeze({
    of: (asked: readonly number[]) =>
      asked.flatMap((lane) => [...(lanes.get(lane)?.values() ?? [])].map(({ mark }) => mark)),
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
      return kept().map(({ mark }) => (isFull ? { ...mark, from: 0n } : mark));
    },
    seen(seen: SeenMarks) {
      const isSame = incarnation === null || incarnation === seen.incarnation;
      incarnation = seen.incarnation;
      if (!isSame) {
        lanes.clear();
        return false;
      }
      for (const { lane, priority, first } of seen.marks) {
        const known = lanes.get(lane)?.get(priority);
        if (known) keep({ lane, priority, from: markAfter(first, seen.oldest) }, known.usedAtMs);
      }
      return true;
    },
  } satisfies Marks);
}
