// How far supervision is behind, as the statement of the same name computes it.
import type { EpochMs } from "../../core/model/attempt.ts";
import { noneOverdue, OVERDUE_ROWS_MAX, type Overdue, type OverdueOf } from "../overdue.ts";
import { regionOf } from "../partition.ts";
import type { DueRow } from "../store.ts";
import { silentLeases, timersOfRun } from "./due-scan.ts";
import { isOwned, isUsed, type RegionWorld } from "./regions.ts";
import { scheduleTimers } from "./schedules.ts";
import type { Tables } from "./tables.ts";

export function overdue(
  tables: Tables,
  now: EpochMs,
  { partitions, byMs, since }: OverdueAsked,
  world: RegionWorld,
): Overdue {
  const rows = noneOverdue();
  let oldestAt: EpochMs | null = null;
  for (const partition of partitions) {
    const due = timersOfRun(tables, partition, now - byMs);
    const counted = noneOverdue();
    const count = (of: OverdueOf, at: EpochMs): void => {
      if (at >= now - byMs || (since !== null && at < since)) return;
      counted[of]++;
      oldestAt = Math.min(oldestAt ?? at, at);
    };
    for (const { wakeAt } of scheduleTimers(tables, partition)) count("schedule", wakeAt);
    for (const { nextAt } of tables.triggerEnd.where("partition", partition))
      count("run-end", nextAt);
    for (const { kind, wakeAt } of due) count(overdueOf(kind), wakeAt);
    // Here heartbeats could always have been received, hence 0.
    for (const { wakeAt } of silentLeases(tables, partition, 0)) count("lease", wakeAt);
    for (const of of Object.keys(rows) as OverdueOf[])
      rows[of] += Math.min(counted[of], OVERDUE_ROWS_MAX);
  }
  const unowned = Map.groupBy(
    partitions.filter((one) => !isOwned(world, one)),
    regionOf,
  );
  return {
    now,
    rows,
    oldestAt,
    unowned: [...unowned]
      .filter(([region]) => isUsed(world, region))
      .sort(([a], [b]) => a - b)
      .map(([region, of]) => {
        return { region: world.regionNames()[region] ?? "", partitions: of.length };
      }),
  };
}

interface OverdueAsked {
  readonly partitions: readonly number[];
  readonly byMs: number;
  readonly since: EpochMs | null;
}

function overdueOf(kind: DueRow["kind"]): OverdueOf {
  switch (kind) {
    case "lease":
    case "ready":
    case "escalation":
    case "run":
    case "message":
      return kind;
    default:
      return "due";
  }
}
