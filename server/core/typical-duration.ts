// How long attempts of a step take that end well, and from when on one takes too long.
import type { EpochMs } from "./attempt.ts";

/** What was learned of a step. */
export interface Learned {
  readonly samples: number;
  readonly p99Ms: number;
}

/** Settings of the watch `slow`. */
export interface SlowLimits {
  /** An attempt is slow past so many times the p99. */
  readonly slowFactor: number;
  /** Fewer samples say nothing. */
  readonly slowSamples: number;
  /** No attempt is slow before, however short others are: milliseconds after its grant. */
  readonly slowMs: number;
}

export interface TypicalDuration extends Learned {
  /** From its grant on; an attempt that runs longer is suspect. */
  readonly slowAfterMs: number;
}

/** null: too little is known to call any attempt slow. */
export function typicalDurationOf(learned: Learned, limits: SlowLimits): TypicalDuration | null {
  if (learned.samples < limits.slowSamples) return null;
  const afterMs = Math.ceil(limits.slowFactor * learned.p99Ms);
  return { ...learned, slowAfterMs: Math.max(limits.slowMs, afterMs) };
}

/**
 * When to look again at an attempt of whose step too little is known: at a half and at three
 * quarters of its time, since others of its step may have ended meanwhile. Most attempts have ended
 * by then, and a task that waits to be taken is due earlier: so the look costs no write.
 */
export function nextSlowCheck(
  { grantedAt, attemptBy }: { readonly grantedAt: EpochMs; readonly attemptBy: EpochMs },
  now: EpochMs,
): EpochMs {
  const time = attemptBy - grantedAt;
  const looks = [1 / 2, 3 / 4].map((part) => grantedAt + Math.ceil(time * part));
  return looks.find((at) => at > now) ?? Number.POSITIVE_INFINITY;
}
