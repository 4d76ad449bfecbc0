// How far supervision is behind, on PostgreSQL.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { TimerKind } from "../../core/page/derived-rows.ts";
import {
  noneOverdue,
  OVERDUE_ROWS_MAX,
  type Overdue,
  type OverdueOf,
  type UnownedRegion,
} from "../overdue.ts";
import { lateTimers } from "./late-timers.ts";
import type { Query } from "./transaction.ts";

interface OverdueAsked {
  readonly byMs: number;
  readonly since: EpochMs | null;
  readonly ownerLostMs: number;
}

export async function overdue(
  query: Query,
  partitions: readonly number[],
  { byMs, since, ownerLostMs }: OverdueAsked,
): Promise<Overdue> {
  const found = await query<{
    now: EpochMs;
    kind: OverdueOf;
    rows: number;
    oldest_at: EpochMs | null;
  }>("overdue", { partitions, by: byMs, rows_max: OVERDUE_ROWS_MAX, since });
  const silent = await lateLeases(query, partitions, { byMs, since });
  const unowned = await query<UnownedRegion & Record<string, unknown>>("unowned_partitions", {
    partitions,
    owner_lost: ownerLostMs,
  });
  const rows = noneOverdue();
  const oldest: EpochMs[] = [];
  for (const row of found) {
    rows[row.kind] = row.rows;
    if (row.oldest_at !== null) oldest.push(row.oldest_at);
  }
  for (const row of silent) {
    rows.lease += row.rows;
    oldest.push(row.oldest_at);
  }
  for (const timers of (await lateTimers(query, partitions, { byMs, since })).values()) {
    const counted = Map.groupBy(timers, ({ kind }) => overdueOf(kind));
    for (const [of, late] of counted) rows[of] += Math.min(late.length, OVERDUE_ROWS_MAX);
    for (const { wakeAt } of timers) oldest.push(wakeAt);
  }
  return {
    now: found[0]?.now ?? 0,
    rows,
    oldestAt: oldest.length === 0 ? null : oldest.reduce((a, b) => Math.min(a, b)),
    unowned,
  };
}

interface LateLeases {
  readonly partition: number;
  readonly rows: number;
  readonly oldest_at: EpochMs;
}

/** By partition, leases whose session has been silent for `byMs` longer than they allow. */
export function lateLeases(
  query: Query,
  partitions: readonly number[],
  { byMs, since }: Pick<OverdueAsked, "byMs" | "since">,
): Promise<readonly LateLeases[]> {
  return query<LateLeases & Record<string, unknown>>("late_leases", {
    partitions,
    by: byMs,
    rows_max: OVERDUE_ROWS_MAX,
    since,
  });
}

function overdueOf(kind: TimerKind): OverdueOf {
  return kind === "lease" || kind === "ready" || kind === "run" ? kind : "due";
}
