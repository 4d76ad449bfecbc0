// How far the watching of partitions is behind, seen from outside: what nobody has acted on
// although its moment has long come, and partitions that no live node owns.
import type { EpochMs } from "../core/attempt.ts";

/**
 * What a moment is of. Webhooks are not among them: a target that is slow keeps those behind it
 * waiting, and that is no fault of the watching.
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

/** Rows that are counted of each kind in each partition; more are as bad. */
export const OVERDUE_ROWS_MAX = 10;

export interface Overdue {
  readonly now: EpochMs;
  readonly rows: Readonly<Record<OverdueOf, number>>;
  /** The earliest moment that nobody has acted on; null: nothing is overdue. */
  readonly oldestAt: EpochMs | null;
  /** Regions in use with partitions of the question whose owner was not seen for 3 seconds. */
  readonly unowned: readonly UnownedRegion[];
}

export interface UnownedRegion {
  readonly region: string;
  /** Without an owner. */
  readonly partitions: number;
}

export function unownedCount({ unowned }: Pick<Overdue, "unowned">): number {
  return unowned.reduce((sum, { partitions }) => sum + partitions, 0);
}

export function noneOverdue(): Record<OverdueOf, number> {
  const inside = { lease: 0, ready: 0, due: 0, escalation: 0, run: 0, message: 0 };
  return { ...inside, schedule: 0, "run-end": 0 };
}
