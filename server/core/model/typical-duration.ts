// Typical durations: how long attempts of a step take that succeed, and when an attempt is slow.
import type { EpochMs } from "./attempt.ts";

/** Learned durations of a step. */
interface Learned {
  readonly samples: number;
  readonly p99Ms: number;
}

/** Settings of the check `slow`. */
export interface SlowLimits {
  /** An attempt is slow after this multiple of the p99. */
  readonly slowFactor: number;
  /** With fewer samples no attempt is slow. */
  readonly slowSamples: number;
  /**
   * No attempt is slow earlier than this, however short others are: milliseconds after its claim.
   */
  readonly slowMs: number;
}

export interface TypicalDuration extends Learned {
  /** Milliseconds after its claim; an attempt that runs longer is suspect. */
  readonly slowAfterMs: number;
}

/** null: too little is known to call any attempt slow. */
export function typicalDurationOf(learned: Learned, limits: SlowLimits): TypicalDuration | null {
  if (learned.samples < limits.slowSamples) return null;
  const afterMs = Math.ceil(limits.slowFactor * learned.p99Ms);
  return { ...learned, slowAfterMs: Math.max(limits.slowMs, afterMs) };
}

/**
 * When to check an attempt again of whose step too little is known: at a half and at three quarters
 * of its time, since other attempts of the step may have ended meanwhile. Most attempts have ended
 * by then, and the timer of a ready task is due earlier, so the stored wake-up time does not
 * change: the check costs no write.
 */
export function nextSlowCheck(
  { grantedAt, attemptBy }: { readonly grantedAt: EpochMs; readonly attemptBy: EpochMs },
  now: EpochMs,
): EpochMs {
  const time = attemptBy - grantedAt;
  const checks = [1 / 2, 3 / 4].map((part) => grantedAt + Math.ceil(time * part));
  return checks.find((at) => at > now) ?? Number.POSITIVE_INFINITY;
}
