// A token bucket by the clock of the process: `capacity` tokens after a pause, and one more every
// `everyMs`. A token may be taken before it is available; the next one is then available a whole
// `everyMs` later.
import type { Clock } from "../clock.ts";

export interface TokenBucketSize {
  readonly everyMs: number;
  readonly capacity: number;
}

export interface TokenBucket {
  /** Whole milliseconds until a token is available, as timers have no others; 0: there is one. */
  waitMs(): number;
  take(): void;
}

export function createTokenBucket(
  clock: Pick<Clock, "monotonicMs">,
  { everyMs, capacity }: TokenBucketSize,
): TokenBucket {
  /** How long it takes until the tokens after the first are available. */
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
