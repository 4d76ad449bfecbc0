// The database's time, as this process estimates it between answers. An answer comes later than the
// time that it contains, so the estimate is ahead of the database by no more than two clocks drift
// apart. A transaction that is decided by it is like one that began a little earlier.
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/model/attempt.ts";

/** An answer that is older than this does not count any more, in milliseconds. */
const OBSERVED_MS_MAX = 10_000;
/**
 * How far clocks may drift apart, as a share of the time. Of two answers the faster one counts,
 * until this drift may have made up the difference.
 */
const DRIFT = 0.001;

export interface DatabaseTime {
  /** Takes the time from an answer: when its transaction began. */
  observe(now: EpochMs): void;
  /** null: there is no recent answer. */
  assumed(): EpochMs | null;
  /** The estimate was found to be wrong, or the database is another one. */
  forget(): void;
}

export function createDatabaseTime(clock: Pick<Clock, "monotonicMs">): DatabaseTime {
  let observed: { readonly ahead: number; readonly atMs: number } | null = null;
  return Object.freeze({
    observe(now: EpochMs): void {
      const atMs = clock.monotonicMs();
      const before =
        observed === null ? -Infinity : observed.ahead - (atMs - observed.atMs) * DRIFT;
      observed = { ahead: Math.max(now - atMs, before), atMs };
    },
    assumed(): EpochMs | null {
      const atMs = clock.monotonicMs();
      if (observed === null || atMs - observed.atMs > OBSERVED_MS_MAX) return null;
      return Math.floor(atMs + observed.ahead);
    },
    forget(): void {
      observed = null;
    },
  });
}
