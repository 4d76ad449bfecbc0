// Due rows whose events have failed. Each backs off by itself, twice as long after every failure,
// and the timer scan leaves it out meanwhile: rows that always fail never take the place of others.
//
// The number of rows in memory is bounded. If more fail, it is crowded (backlog.ts): each row backs
// off for the longest time, and the row that failed longest ago is dropped for the one that fails
// now.
import type { EpochMs } from "../core/model/attempt.ts";
import type { DueRef } from "../store/due.ts";

const BACKOFF_MS_MIN = 1_000;
const BACKOFF_MS_MAX = 5 * 60_000;

interface Entry {
  readonly ref: DueRef;
  readonly wakeAt: EpochMs;
  readonly failures: number;
  readonly untilMs: number;
  /** Its backoff has ended, and the scan was asked to find it again. */
  isBack: boolean;
}

export interface Backoff {
  /** Failures in a row, as far as is known. */
  readonly failures: number;
  readonly backoffMs: number;
  /** More rows fail than are kept: it may back off longer, until the walk reaches it. */
  readonly isCrowded: boolean;
}

export interface FailedRows {
  /**
   * Returns how long the row backs off now. `isCrowded`: it was crowded before. null: it backs off
   * already, because another row with its key (of another fence) failed while this one was in
   * flight. Both are one failure.
   */
  failed(ref: DueRef, wakeAt: EpochMs, nowMs: number, isCrowded: boolean): Backoff | null;
  succeeded(ref: DueRef): void;
  isBackingOff(ref: DueRef, nowMs: number): boolean;
  /** Rows that back off now. `since`: a scan that begins there leaves out earlier rows anyway. */
  refs(nowMs: number, since: EpochMs | null): readonly DueRef[];
  /**
   * The earliest `wakeAt` of rows whose backoff has ended since the last call; null: there is none.
   */
  backSince(nowMs: number): EpochMs | null;
  count(nowMs: number): number;
}

/** `rowsMax`: how many rows are kept. */
export function createFailedRows(rowsMax: number): FailedRows {
  /** In the order of their last failures. */
  const entries = new Map<string, Entry>();
  const keyOf = ({ kind, id, place }: DueRef): string => `${kind}/${id}/${place}`;

  return Object.freeze({
    failed(ref: DueRef, wakeAt: EpochMs, nowMs: number, wasCrowded: boolean) {
      const key = keyOf(ref);
      const known = entries.get(key);
      if (known && known.untilMs > nowMs) {
        entries.set(key, { ...known, wakeAt: Math.min(known.wakeAt, wakeAt) });
        return null;
      }
      const failures = (known?.failures ?? 0) + 1;
      entries.delete(key);
      const isCrowded = wasCrowded || entries.size >= rowsMax;
      const [oldest] = entries.keys();
      if (oldest !== undefined && entries.size >= rowsMax) entries.delete(oldest);
      const backoffMs = isCrowded
        ? BACKOFF_MS_MAX
        : Math.min(BACKOFF_MS_MIN * 2 ** (failures - 1), BACKOFF_MS_MAX);
      entries.set(key, { ref, wakeAt, failures, untilMs: nowMs + backoffMs, isBack: false });
      return { failures, backoffMs, isCrowded };
    },
    succeeded(ref: DueRef) {
      entries.delete(keyOf(ref));
    },
    isBackingOff: (ref: DueRef, nowMs: number) =>
      (entries.get(keyOf(ref))?.untilMs ?? nowMs) > nowMs,
    refs(nowMs: number, since: EpochMs | null) {
      return [...entries.values()].flatMap(({ ref, wakeAt, untilMs }) =>
        untilMs > nowMs && (since === null || wakeAt >= since) ? [ref] : [],
      );
    },
    backSince(nowMs: number) {
      let earliest: EpochMs | null = null;
      for (const [key, entry] of entries) {
        // It was not found again: what it was about has ended, or another server owns it.
        if (entry.untilMs + BACKOFF_MS_MAX < nowMs) entries.delete(key);
        if (entry.isBack || entry.untilMs > nowMs) continue;
        entry.isBack = true;
        earliest = Math.min(earliest ?? entry.wakeAt, entry.wakeAt);
      }
      return earliest;
    },
    count: (nowMs: number) => [...entries.values()].filter(({ untilMs }) => untilMs > nowMs).length,
  });
}
