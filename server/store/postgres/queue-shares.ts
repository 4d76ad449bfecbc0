// The shares that a shard has of the limits of queues, on PostgreSQL. A claim and an order lock the
// row of the share first, and count leases in a statement of their own, which sees what the lock
// has waited for.
import type { EpochMs } from "../../core/model/attempt.ts";
import {
  bucketAt,
  limitsOfShare,
  lowered,
  raised,
  type Share,
  type ShareSize,
} from "../../core/model/shares.ts";
import {
  type Allotment,
  type LoweredShare,
  type QueueShare,
  type QueueShares,
  WAITING_COUNTED_MAX,
} from "../queue-shares.ts";
import type { LockedQueue, QueueRef } from "../queues.ts";
import { columns, writeEach } from "./columns.ts";
import { columnsOf, type LimitsRow, limitsOf, withLeases } from "./queue-rows.ts";
import type { Mover } from "./ready-moves.ts";
import type { Query, Send, Transact } from "./transaction.ts";

export function createQueueShares({ query, everywhere }: Mover, transact: Transact): QueueShares {
  return Object.freeze({
    async read() {
      if (everywhere.length === 1) return [];
      const rows = await query<ReadRow>("read_shares", { waiting_max: WAITING_COUNTED_MAX });
      return rows.map((row): QueueShare => {
        const { namespace_id: namespaceId, name: queue, now, leased, waiting } = row;
        const { slots, burst, servedAt } = shareOf(row);
        const limits = limitsOf(row);
        return { namespaceId, queue, limits, now, slots, burst, servedAt, leased, waiting };
      });
    },
    begin: (queues) =>
      transact({}, async ({ query: within }) => {
        const rows = await within<BegunRow>("lock_allotted", columnsOf(queues));
        const begun = rows.map((row): Allotment => {
          const { namespace_id: namespaceId, name: queue, allotment, tokens } = row;
          const number = allotment + 1;
          return { namespaceId, queue, number, limits: limitsOf(row), tokens: tokens ?? 0 };
        });
        const allotments = begun.map(({ number }) => number);
        if (begun.length > 0)
          await within("begin_allotments", { ...columnsOf(begun), allotment: allotments });
        return begun;
      }),
    lower: (orders) =>
      transact({}, async ({ query: within }) => {
        await within("make_shares", columnsOf(orders));
        const changed = (await locked(within, orders)).flatMap((found) => {
          const order = orderOf(orders, found);
          if (!order || found.allotment >= order.number) return [];
          const { share, tokens } = lowered(found.limits, found.share, order, found.now);
          return [{ ...found, share, tokens, allotment: order.number }];
        });
        await writeShares(within, changed);
        return (await withLeases(within, changed, changed)).map((row): LoweredShare => {
          const { namespaceId, queue, share, tokens, leased } = row;
          return { namespaceId, queue, slots: share.slots, burst: share.burst, tokens, leased };
        });
      }),
    async raise(orders) {
      const changed = await transact({}, async ({ query: within }) => {
        const found = (await locked(within, orders)).flatMap((row) => {
          const order = orderOf(orders, row);
          if (!order || row.allotment !== order.number) return [];
          return [{ ...row, share: raised(row.limits, row.share, order, row.now) }];
        });
        await writeShares(within, found);
        return found;
      });
      const lanes = await Promise.all(
        changed.map(({ namespaceId, queue }) =>
          query<{ lane: number }>("queue_lanes", { namespace_id: namespaceId, queue }),
        ),
      );
      return lanes.flat().map(({ lane }) => lane);
    },
  } satisfies QueueShares);
}

/** As `lockQueues`, with what this shard may claim. */
export async function lockShares(
  query: Query,
  queues: readonly QueueRef[],
): Promise<readonly LockedQueue[]> {
  const rows = await locked(query, queues);
  const limited = rows.filter(({ limits }) => limits.leasesMax !== null);
  return (await withLeases(query, rows, limited)).map((row) => {
    const { namespaceId, queue, limits, share, now, leased } = row;
    const bucket = bucketAt(limits, share, now);
    return { namespaceId, queue, limits: limitsOfShare(limits, share), bucket, leased };
  });
}

export function writeShareBuckets(send: Send, queues: readonly LockedQueue[]): void {
  const rows = queues.flatMap(({ bucket, ...of }) => (bucket ? [{ ...of, bucket }] : []));
  writeEach(send, "write_buckets_of_shares", rows, {
    namespace_id: (row) => row.namespaceId,
    name: (row) => row.queue,
    tokens: (row) => row.bucket.tokens,
    filled_at: (row) => row.bucket.filledAt,
  });
}

interface ShareColumns {
  /** null, as the others: the shard has no share yet. */
  slots: number | null;
  share_burst: number | null;
  served_at: EpochMs | null;
}

interface ReadRow extends LimitsRow, ShareColumns {
  namespace_id: number;
  name: string;
  now: EpochMs;
  leased: number;
  waiting: number;
}

interface BegunRow extends LimitsRow {
  namespace_id: number;
  name: string;
  allotment: number;
  tokens: number | null;
}

interface LockedRow extends LimitsRow, ShareColumns {
  namespace_id: number;
  name: string;
  now: EpochMs;
  tokens: number | null;
  filled_at: EpochMs | null;
  allotment: number | null;
}

interface LockedShare extends QueueRef, Pick<LockedQueue, "limits"> {
  readonly share: Share;
  /** The number of the last allotment that has changed it. */
  readonly allotment: number;
  readonly now: EpochMs;
}

async function locked(query: Query, queues: readonly QueueRef[]): Promise<readonly LockedShare[]> {
  const rows = await query<LockedRow>("lock_shares", columnsOf(queues));
  return rows.map((row) => {
    const { namespace_id: namespaceId, name: queue, tokens, filled_at: filledAt, now } = row;
    const bucket = tokens === null || filledAt === null ? null : { tokens, filledAt };
    const share = { ...shareOf(row), bucket };
    return { namespaceId, queue, limits: limitsOf(row), share, allotment: row.allotment ?? 0, now };
  });
}

function shareOf(row: ShareColumns): ShareSize & Pick<Share, "servedAt"> {
  return { slots: row.slots ?? 0, burst: row.share_burst ?? 0, servedAt: row.served_at ?? 0 };
}

function orderOf<Order extends QueueRef>(
  orders: readonly Order[],
  { namespaceId, queue }: QueueRef,
): Order | undefined {
  return orders.find((one) => one.namespaceId === namespaceId && one.queue === queue);
}

async function writeShares(query: Query, rows: readonly LockedShare[]): Promise<void> {
  if (rows.length === 0) return;
  await query(
    "write_shares",
    columns(rows, {
      namespace_id: (row) => row.namespaceId,
      name: (row) => row.queue,
      slots: (row) => row.share.slots,
      burst: (row) => row.share.burst,
      tokens: (row) => row.share.bucket?.tokens ?? null,
      filled_at: (row) => row.share.bucket?.filledAt ?? null,
      served_at: (row) => (row.share.servedAt === 0 ? null : row.share.servedAt),
      allotment: (row) => row.allotment,
    }),
  );
}
