/**
 * A clock for the SDK that is stopped until a test moves it. Timers fire in the order in which
 * they are due, within `advance`; jitter is at its most.
 */
import type { Clock, Timer } from "../../sdk/typescript/clock.ts";

export interface ManualClock extends Clock {
  advance(ms: number): void;
  /** Resolves once a timer is due within so many milliseconds. */
  armed(withinMs: number): Promise<void>;
}

interface Entry {
  readonly atMs: number;
  readonly fn: () => void;
}

export function createManualClock(): ManualClock {
  let nowMs = 1_000;
  const entries = new Set<Entry>();
  let waiters: { readonly withinMs: number; readonly resolve: () => void }[] = [];

  const isArmed = (withinMs: number) =>
    [...entries].some((entry) => entry.atMs <= nowMs + withinMs);

  return {
    monotonicMs: () => nowMs,
    soon: (fn: () => void) => void setImmediate(fn),
    fraction: () => 1,
    after(ms: number, fn: () => void): Timer {
      const entry = { atMs: nowMs + Math.max(ms, 0), fn };
      entries.add(entry);
      for (const waiter of waiters) if (isArmed(waiter.withinMs)) waiter.resolve();
      waiters = waiters.filter((waiter) => !isArmed(waiter.withinMs));
      return { cancel: () => entries.delete(entry) };
    },
    advance(ms: number): void {
      const untilMs = nowMs + ms;
      for (;;) {
        const due = [...entries].filter((entry) => entry.atMs <= untilMs);
        const first = due.sort((a, b) => a.atMs - b.atMs)[0];
        if (first === undefined) break;
        entries.delete(first);
        nowMs = Math.max(nowMs, first.atMs);
        first.fn();
      }
      nowMs = untilMs;
    },
    armed(withinMs: number): Promise<void> {
      if (isArmed(withinMs)) return Promise.resolve();
      return new Promise((resolve) => waiters.push({ withinMs, resolve }));
    },
  };
}
