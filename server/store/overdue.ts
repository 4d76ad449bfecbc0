// How far supervision is behind, seen from outside: rows that are long due and that no supervisor
// has acted on, and partitions that no live node owns.
import type { EpochMs } from "../core/model/attempt.ts";

/**
 * What an overdue time belongs to. Webhooks are left out: a slow target delays the deliveries
 * behind it, and that is no fault of the supervisors.
 */
export const OVERDUE_OF = [
  "lease",
  "ready",
  "due",
  "escalation",
  "run",
  "message",
  "schedule",
  "run-end",
] as const;
export type OverdueOf = (typeof OVERDUE_OF)[number];

/** Most rows that are counted of each kind in each partition; more are just as bad. */
export const OVERDUE_ROWS_MAX = 10;

export interface Overdue {
  readonly now: EpochMs;
  readonly rows: Readonly<Record<OverdueOf, number>>;
  /** The earliest time that is overdue; null: nothing is. */
  readonly oldestAt: EpochMs | null;
  /** Regions in use with partitions of the question whose owner was not seen for 3 seconds. */
  readonly unowned: readonly UnownedRegion[];
}

export interface UnownedRegion {
  readonly region: string;
  /** Partitions without a live owner. */
  readonly partitions: number;
}

export function unownedCount({ unowned }: Pick<Overdue, "unowned">): number {
  return unowned.reduce((sum, { partitions }) => sum + partitions, 0);
}

export function noneOverdue(): Record<OverdueOf, number> {
  const inside = { lease: 0, ready: 0, due: 0, escalation: 0, run: 0, message: 0 };
  return { ...inside, schedule: 0, "run-end": 0 };
}
