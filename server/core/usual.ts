// How long attempts of a step take that end well, and from when on one takes too long.

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

export interface Usual extends Learned {
  /** From its grant on; an attempt that runs longer is suspect. */
  readonly slowAfterMs: number;
}

/** null: too little is known to call any attempt slow. */
export function usualOf(learned: Learned, limits: SlowLimits): Usual | null {
  if (learned.samples < limits.slowSamples) return null;
  const afterMs = Math.ceil(limits.slowFactor * learned.p99Ms);
  return { ...learned, slowAfterMs: Math.max(limits.slowMs, afterMs) };
}
