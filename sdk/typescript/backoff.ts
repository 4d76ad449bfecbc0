/**
 * How long to wait before something is tried again: doubling, with jitter, and never less than what
 * the server asked for.
 */
import { callOutcomeOf, DroverCallError } from "./call-error.ts";
import { type Clock, sleep } from "./clock.ts";
import type { Outage } from "./outage.ts";

export interface Backoff {
  /** The next wait in milliseconds; each is longer, up to the limit. */
  nextMs(error?: DroverCallError): number;
  /** After a success. */
  reset(): void;
}

export function createBackoff(clock: Clock, firstMs = 100, maxMs = 5_000): Backoff {
  let limitMs = firstMs;
  return Object.freeze({
    nextMs(error?: DroverCallError): number {
      // At least half, so that many callers spread and none repeats too often.
      const waitMs = limitMs * (0.5 + clock.fraction() / 2);
      limitMs = Math.min(limitMs * 2, maxMs);
      return Math.max(waitMs, error?.retryAfterMs ?? 0);
    },
    reset(): void {
      limitMs = firstMs;
    },
  });
}

export interface RepeatOptions {
  readonly clock: Clock;
  /** For how long a call that fails each time is repeated. */
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly outage?: Outage | undefined;
}

/** Repeats a call, for which repeating must be safe, until its answer is a definite one. */
export async function repeat<T>(call: () => Promise<T>, options: RepeatOptions): Promise<T> {
  const { clock, patienceMs, signal, outage } = options;
  const backoff = createBackoff(clock);
  let failingSinceMs: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const answer = await call();
      outage?.answered();
      return answer;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof DroverCallError) || callOutcomeOf(error) === "definite") throw error;
      const waitMs = backoff.nextMs(error);
      failingSinceMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - failingSinceMs + waitMs > patienceMs) throw error;
      outage?.failed(error);
      await sleep(clock, waitMs, signal);
    }
  }
}
