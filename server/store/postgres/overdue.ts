// How far the watching is behind.
import type { Moment } from "../../core/attempt.ts";
import {
  noneOverdue,
  OVERDUE_OF,
  OVERDUE_ROWS_MAX,
  type Overdue,
  type UnownedRegion,
} from "../overdue.ts";
import type { Query } from "./transaction.ts";

interface OverdueAsked {
  readonly byMs: number;
  readonly since: Moment | null;
  readonly ownerLostMs: number;
}

export async function overdue(
  query: Query,
  partitions: readonly number[],
  { byMs, since, ownerLostMs }: OverdueAsked,
): Promise<Overdue> {
  const found = await query<{
    now: Moment;
    kind: number;
    rows: number;
    oldest_at: Moment | null;
  }>("overdue", [partitions, byMs, OVERDUE_ROWS_MAX, since]);
  const unowned = await query<UnownedRegion & Record<string, unknown>>("unowned_partitions", [
    partitions,
    ownerLostMs,
  ]);
  const rows = noneOverdue();
  for (const [kind, of] of OVERDUE_OF.entries())
    rows[of] = found.find((row) => row.kind === kind)?.rows ?? 0;
  const oldest = found.flatMap((row) => row.oldest_at ?? []);
  return {
    now: found[0]?.now ?? 0,
    rows,
    oldestAt: oldest.length === 0 ? null : Math.min(...oldest),
    unowned,
  };
}
