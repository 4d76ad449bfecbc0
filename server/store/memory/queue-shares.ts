// The shares that a shard has of the limits of queues, in memory.
import type { EpochMs } from "../../core/model/attempt.ts";
import { isLimited, type QueueUse } from "../../core/model/limits.ts";
import {
  bucketAt,
  limitsOfShare,
  lowered,
  NO_SHARE,
  raised,
  type Share,
} from "../../core/model/shares.ts";
import {
  type Allotment,
  type LoweredShare,
  type QueueShare,
  type QueueShares,
  type RaiseOrder,
  WAITING_COUNTED_MAX,
} from "../queue-shares.ts";
import type { QueueRef } from "../queues.ts";
import { type QueueRow, queueKey } from "./queue-tables.ts";
import { rowsInLane } from "./ready-rows.ts";
import type { SharedChanges } from "./shared-changes.ts";
import { createTable, type Table } from "./table.ts";
import type { Tables } from "./tables.ts";
import type { Journal, Transactions } from "./transactions.ts";

interface QueueShareRow extends QueueRef, Share {
  /** The last allotment that has changed it. */
  readonly allotment: number;
}

/** Of one shard, if there are several. */
export interface QueueShareTables {
  readonly queueShare: Table<QueueShareRow, never>;
}

export function createTablesOfQueueShares(journal: Journal): QueueShareTables {
  return {
    queueShare: createTable<QueueShareRow, never>(journal, {
      name: "queue_share",
      key: queueKey,
      indexes: {},
    }),
  };
}

export function createQueueShares(
  tables: Tables,
  now: () => EpochMs,
  { run }: Pick<Transactions, "run">,
  shared: SharedChanges,
): QueueShares {
  return Object.freeze({
    read: () =>
      run(() => {
        if (tables.shard.count === 1) return [];
        return tables.queue.all().flatMap((row): readonly QueueShare[] => {
          if (!isLimited(row.limits)) return [];
          const { namespaceId, queue, limits } = row;
          const { slots, burst, servedAt } = shareOf(tables, row);
          const leased = leasesOf(tables, row);
          const waiting = waitingOf(tables, row);
          const share = { slots, burst, servedAt, leased, waiting };
          return [{ namespaceId, queue, limits, now: now(), ...share }];
        });
      }),
    begin: (queues) =>
      shared.run(() =>
        queues.flatMap((of): readonly Allotment[] => {
          const row = tables.queue.get(queueKey(of));
          if (!row || !isLimited(row.limits)) return [];
          const number = row.allotment + 1;
          // Of several shards, this bucket has what none of them has got yet.
          const bucket = row.bucket && { ...row.bucket, tokens: 0 };
          tables.queue.put({ ...row, allotment: number, bucket });
          const { namespaceId, queue, limits } = row;
          return [{ namespaceId, queue, limits, number, tokens: row.bucket?.tokens ?? 0 }];
        }),
      ),
    lower: (orders) =>
      run(() =>
        orders.flatMap((order): readonly LoweredShare[] => {
          const { namespaceId, queue, number } = order;
          const row = tables.queue.get(queueKey(order));
          const before = shareOf(tables, order);
          if (!row || before.allotment >= number) return [];
          const { share, tokens } = lowered(row.limits, before, order, now());
          tables.queueShare.put({ namespaceId, queue, ...share, allotment: number });
          const { slots, burst } = share;
          return [{ namespaceId, queue, slots, burst, tokens, leased: leasesOf(tables, order) }];
        }),
      ),
    raise: (orders) => run(() => orders.flatMap((order) => raise(tables, now(), order))),
  } satisfies QueueShares);
}

function raise(tables: Tables, now: EpochMs, order: RaiseOrder): readonly number[] {
  const { namespaceId, queue, number } = order;
  const row = tables.queue.get(queueKey(order));
  const before = shareOf(tables, order);
  if (!row || before.allotment !== number) return [];
  const share = raised(row.limits, before, order, now);
  tables.queueShare.put({ namespaceId, queue, ...share, allotment: number });
  return lanesOf(tables, order);
}

function shareOf(tables: Tables, { namespaceId, queue }: QueueRef): QueueShareRow {
  const none = { namespaceId, queue, allotment: 0, ...NO_SHARE };
  return tables.queueShare.get(queueKey({ namespaceId, queue })) ?? none;
}

/** What this shard may claim of a queue. */
export function useOfQueue(tables: Tables, row: QueueRow, now: EpochMs): QueueUse {
  const leased = leasesOf(tables, row);
  const { limits, bucket } = row;
  if (tables.shard.count === 1) return { limits, bucket, leased };
  const share = shareOf(tables, row);
  return { limits: limitsOfShare(limits, share), bucket: bucketAt(limits, share, now), leased };
}

export function writeBucket(
  tables: Tables,
  { bucket, ...of }: QueueRef & Pick<QueueUse, "bucket">,
) {
  if (!bucket) return;
  if (tables.shard.count === 1) tables.queue.put({ ...tables.queue.expect(queueKey(of)), bucket });
  else tables.queueShare.put({ ...shareOf(tables, of), bucket });
}

function lanesOf(tables: Tables, of: QueueRef): readonly number[] {
  return tables.lane.all().flatMap((one) => (queueKey(one) === queueKey(of) ? [one.lane] : []));
}

function leasesOf(tables: Tables, of: QueueRef): number {
  return lanesOf(tables, of).reduce(
    (sum, lane) => sum + tables.lease.where("lane", lane).length,
    0,
  );
}

/** Tasks that claims may take. */
function waitingOf(tables: Tables, of: QueueRef): number {
  const isPaused = [of, { ...of, queue: "" }].some((one) => tables.queue.get(queueKey(one))?.pause);
  if (isPaused) return 0;
  const waiting = lanesOf(tables, of).reduce(
    (sum, lane) => sum + rowsInLane(tables, lane).length,
    0,
  );
  return Math.min(waiting, WAITING_COUNTED_MAX);
}
