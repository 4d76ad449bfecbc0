// A token bucket by the clock of the process: `capacity` tokens after a pause, and one more every
// `everyMs`. A token may be taken before it is there; the next one then comes a whole `everyMs`
// later.
import type { Clock } from "./clock.ts";

export interface TokenBucketSize {
  readonly everyMs: number;
  readonly capacity: number;
}

export interface TokenBucket {
  /** Whole milliseconds until there is a token, as timers know no others; 0: there is one. */
  waitMs(): number;
  take(): void;
}

export function createTokenBucket(
  clock: Pick<Clock, "monotonicMs">,
  { everyMs, capacity }: TokenBucketSize,
): TokenBucket {
  /** What the tokens after the first take until they have come. */
  const restMs = (capacity - 1) * everyMs;
  let fullAtMs = Number.NEGATIVE_INFINITY;
  return Object.freeze({
    waitMs: () => Math.max(0, Math.floor(fullAtMs - restMs - clock.monotonicMs())),
    take() {
      const now = clock.monotonicMs();
      fullAtMs = Math.max(now, Math.min(fullAtMs, now + restMs)) + everyMs;
    },
  });
}
