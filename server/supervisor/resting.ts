// What always fails rests by itself, so that it never stands before anything else: a run or a
// schedule whose handling throws is left out of the looks for a pause that doubles from 250 ms to
// five minutes, and begins anew once it has been handled.
//
// It is kept in memory: who takes a partition over finds out by one failure of each.
import type { Clock } from "../clock.ts";
import type { Moment } from "../core/attempt.ts";
import { DroverError } from "../errors.ts";

const REST_MS_MIN = 250;
const REST_MS_MAX = 300_000;
/** Of one process; beyond that the oldest is tried as if it had never failed. */
const RESTING_MAX = 10_000;
/** What has not failed again so long after its rest is no longer due. */
const FORGOTTEN_MS = 2 * REST_MS_MAX;

export interface Rest {
  /** Failures in a row. */
  readonly failures: number;
  readonly restMs: number;
}

export interface Resting {
  /** Runs and schedules that a look leaves out. */
  ids(): readonly string[];
  /** Its handling has failed: how long it rests; null: it rests already. */
  failed(id: string, wakeAt: Moment): Rest | null;
  handled(id: string): void;
  /** The earliest of the moments whose rest has ended since this was asked last; null: none has. */
  takeEnded(): Moment | null;
}

interface Entry {
  readonly failures: number;
  readonly untilMs: number;
  /** What it was due at, so that a look which begins later finds it again. */
  readonly wakeAt: Moment;
  readonly isOver: boolean;
}

export function createResting(clock: Clock): Resting {
  const entries = new Map<string, Entry>();

  return Object.freeze({
    ids: () => [...entries].flatMap(([id, { isOver }]) => (isOver ? [] : [id])),
    failed(id: string, wakeAt: Moment): Rest | null {
      const before = entries.get(id);
      if (before && !before.isOver) return null;
      const failures = (before?.failures ?? 0) + 1;
      const restMs = Math.min(REST_MS_MIN * 2 ** (failures - 1), REST_MS_MAX);
      entries.delete(id);
      entries.set(id, { failures, untilMs: clock.monotonicMs() + restMs, wakeAt, isOver: false });
      const [oldest] = entries.keys();
      if (entries.size > RESTING_MAX && oldest !== undefined) entries.delete(oldest);
      return { failures, restMs };
    },
    handled: (id: string) => void entries.delete(id),
    takeEnded(): Moment | null {
      const now = clock.monotonicMs();
      const ended = [...entries].filter(([, { isOver, untilMs }]) => !isOver && untilMs <= now);
      for (const [id, entry] of ended) entries.set(id, { ...entry, isOver: true });
      for (const [id, { untilMs }] of entries)
        if (untilMs + FORGOTTEN_MS <= now) entries.delete(id);
      return ended.reduce<Moment | null>(
        (least, [, { wakeAt }]) => (least === null ? wakeAt : Math.min(least, wakeAt)),
        null,
      );
    },
  });
}

/** Whether an error says that what was handled will fail again, and not that the store is busy. */
export function isOfItself(error: unknown): boolean {
  return !(error instanceof DroverError);
}
