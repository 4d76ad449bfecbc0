// Rows of queues with limits, as claims and their shares read them.
import type { QueueLimits } from "../../core/model/limits.ts";
import type { QueueRef } from "../queues.ts";
import { columns } from "./columns.ts";
import type { Query } from "./transaction.ts";

export interface LimitsRow {
  leases_max: number | null;
  rate: number | null;
  burst: number | null;
}

export function limitsOf({
  leases_max: leasesMax,
  rate: perSecond,
  burst,
}: LimitsRow): QueueLimits {
  const rate = perSecond === null || burst === null ? null : { perSecond, burst };
  return { leasesMax, rate };
}

export function columnsOf(queues: readonly QueueRef[]): Readonly<Record<string, string>> {
  return columns(queues, { namespace_id: (of) => of.namespaceId, name: (of) => of.queue });
}

/** Counts the leases of `counted`; the others have none. */
export async function withLeases<Row extends QueueRef>(
  query: Query,
  rows: readonly Row[],
  counted: readonly QueueRef[],
): Promise<readonly (Row & { readonly leased: number })[]> {
  const counts =
    counted.length === 0
      ? []
      : await query<{ namespace_id: number; name: string; leased: number }>(
          "count_leases",
          columnsOf(counted),
        );
  return rows.map((row) => {
    const of = counts.find((c) => c.namespace_id === row.namespaceId && c.name === row.queue);
    return { ...row, leased: of?.leased ?? 0 };
  });
}
