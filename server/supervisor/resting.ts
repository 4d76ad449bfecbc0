// Due rows whose event has failed. Each rests alone, twice as long after every failure, and is left
// out of the timer scan meanwhile: rows that always fail never take the place of others.
import type { Moment } from "../core/attempt.ts";
import type { DueRef } from "../store/due.ts";

const REST_MS_MIN = 1_000;
const REST_MS_MAX = 5 * 60_000;
/** Rows that rest at a time. What fails beyond them is tried again with every scan. */
const RESTING_MAX = 10_000;

interface Entry {
  readonly ref: DueRef;
  readonly wakeAt: Moment;
  readonly failures: number;
  readonly untilMs: number;
  /** Its rest has ended, and the scan has been told to find it again. */
  isBack: boolean;
}

export interface Rest {
  /** In a row. */
  readonly failures: number;
  readonly restMs: number;
}

export interface Resting {
  /** How long it rests now; null: too many rest already. */
  failed(ref: DueRef, wakeAt: Moment, nowMs: number): Rest | null;
  succeeded(ref: DueRef): void;
  /** Those that rest now. `since`: a scan that begins there leaves out earlier rows anyway. */
  refs(nowMs: number, since: Moment | null): readonly DueRef[];
  /** The earliest `wakeAt` of rows whose rest has ended since the last call; null: of none. */
  backSince(nowMs: number): Moment | null;
  count(nowMs: number): number;
}

export function createResting(): Resting {
  const entries = new Map<string, Entry>();
  const keyOf = ({ kind, id, place }: DueRef): string => `${kind}/${id}/${place}`;

  return Object.freeze({
    failed(ref: DueRef, wakeAt: Moment, nowMs: number) {
      const key = keyOf(ref);
      const failures = (entries.get(key)?.failures ?? 0) + 1;
      if (failures === 1 && entries.size >= RESTING_MAX) return null;
      const restMs = Math.min(REST_MS_MIN * 2 ** (failures - 1), REST_MS_MAX);
      entries.set(key, { ref, wakeAt, failures, untilMs: nowMs + restMs, isBack: false });
      return { failures, restMs };
    },
    succeeded(ref: DueRef) {
      entries.delete(keyOf(ref));
    },
    refs(nowMs: number, since: Moment | null) {
      return [...entries.values()].flatMap(({ ref, wakeAt, untilMs }) =>
        untilMs > nowMs && (since === null || wakeAt >= since) ? [ref] : [],
      );
    },
    backSince(nowMs: number) {
      let earliest: Moment | null = null;
      for (const [key, entry] of entries) {
        // It was not found again: what it was about has ended, or another server owns it.
        if (entry.untilMs + REST_MS_MAX < nowMs) entries.delete(key);
        if (entry.isBack || entry.untilMs > nowMs) continue;
        entry.isBack = true;
        earliest = Math.min(earliest ?? entry.wakeAt, entry.wakeAt);
      }
      return earliest;
    },
    count: (nowMs: number) => [...entries.values()].filter(({ untilMs }) => untilMs > nowMs).length,
  });
}
