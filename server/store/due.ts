// What a look at due rows comes to, once the leases that need no judgement have been moved.
import type { Moment } from "../core/attempt.ts";
import type { RunId } from "./run-head.ts";
import type { DueLook, DueRow } from "./store.ts";

export interface Looked {
  readonly now: Moment;
  /** All that is due, earliest first, up to `limit`. */
  readonly rows: readonly DueRow[];
  readonly schedules: DueLook["schedules"];
  readonly limit: number;
  /** By `leaseOf`: leases that now wait for a later moment. */
  readonly moved: ReadonlyMap<string, Moment>;
  /** The earliest moment that was still to come. */
  readonly nextAt: Moment | null;
}

export function leaseOf({ runId, step }: { readonly runId: RunId; readonly step: number }): string {
  return `${runId}/${step}`;
}

export function dueLook({ now, rows, schedules, limit, moved, nextAt }: Looked): DueLook {
  const later = [...moved.values(), ...(nextAt === null ? [] : [nextAt])];
  // There may be more than was asked for: the next moment is now.
  const full = rows.length + schedules.length >= limit;
  const next = full ? now : later.length === 0 ? null : Math.min(...later);
  return {
    now,
    nextAt: next,
    schedules,
    due: rows.filter((row) => row.kind !== "lease" || !moved.has(leaseOf(row))),
  };
}
