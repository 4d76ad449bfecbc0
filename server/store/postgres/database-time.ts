// The database's time, as this process can tell it between answers. An answer comes later than the
// moment that it names, so what is assumed is never ahead of the database by more than two clocks
// drift apart: a transaction that is decided by it is as one that began a little earlier.
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/attempt.ts";

/** What was heard longer ago says nothing any more. */
const HEARD_MS_MAX = 10_000;
/** Of two answers the faster one counts, until clocks may have drifted apart by the difference. */
const DRIFT = 0.001;

export interface DatabaseTime {
  /** The time that an answer names: when its transaction began. */
  heard(now: EpochMs): void;
  /** null: nothing was heard lately. */
  assumed(): EpochMs | null;
  /** It was found to be wrong, or the database is another one. */
  forget(): void;
}

export function createDatabaseTime(clock: Pick<Clock, "monotonicMs">): DatabaseTime {
  let heard: { readonly ahead: number; readonly atMs: number } | null = null;
  return Object.freeze({
    heard(now: EpochMs): void {
      const atMs = clock.monotonicMs();
      const before = heard === null ? -Infinity : heard.ahead - (atMs - heard.atMs) * DRIFT;
      heard = { ahead: Math.max(now - atMs, before), atMs };
    },
    assumed(): EpochMs | null {
      const atMs = clock.monotonicMs();
      if (heard === null || atMs - heard.atMs > HEARD_MS_MAX) return null;
      return Math.floor(atMs + heard.ahead);
    },
    forget(): void {
      heard = null;
    },
  });
}
