// Partition sessions on PostgreSQL: one direct connection whose advisory locks elect owners.
//
//   join ─→ held ─(no answer, or the server ends the session)─→ lost
//
// The server ends a session that is idle for long (`idle_session_timeout`), also if its process is
// frozen or its cable is cut; its locks are free from then on. The session protects nothing: a
// take-over first deletes the writer rows of the former owner (docs/ARCHITECTURE.md, "Partition
// ownership").
import pg from "pg";
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import {
  HAND_OVERS_MAX,
  type LiveNode,
  type NodeInfo,
  type PartitionScan,
  type PartitionSession,
  type Partitions,
  type TakenPartition,
} from "../partition-session.ts";
import type { StoreTimes } from "../store-times.ts";
import { columns } from "./columns.ts";
import { storeFailure } from "./failure.ts";
import { noticesOn } from "./notices.ts";
import { createSession } from "./pool.ts";
import { ownBackend, watchBackend } from "./pooler.ts";
import type { ShardAddress } from "./shard-address.ts";
import { createTransact, type Query, queryOn, type Transact } from "./transaction.ts";

/** Most batches of one process that can hold a writer row at a time. */
const WRITERS = 4;
const LEAVE_MS_MAX = 1_000;

interface Use {
  readonly hot: pg.Pool;
  readonly schema: string;
  readonly clock: Clock;
  readonly times: Pick<StoreTimes, "ownerLostMs">;
}

export function createPartitions(address: ShardAddress, use: Use): Partitions {
  const { hot: pool, schema, times } = use;
  return {
    async join(info: NodeInfo): Promise<PartitionSession> {
      const client = createSession(address);
      // An error event without a listener would end the process.
      client.on("error", () => undefined);
      try {
        await client.connect();
        await address.check(client);
        // Before anything is set: behind a pooler it would be set for another client.
        const backend = await ownBackend(client, pool);
        await client.query(
          `set idle_session_timeout = '${times.ownerLostMs}ms'; set statement_timeout = '2s';
           set idle_in_transaction_session_timeout = '2s';
           listen ${pg.escapeIdentifier(schema)}`,
        );
        await joinNode(queryOn(client, schema), queryOn(pool, schema), info);
        return createPartitionSession(client, use, { node: info.node, backend });
      } catch (error) {
        address.failed();
        void client.end().catch(() => undefined);
        throw storeFailure(error);
      }
    },
  };
}

async function joinNode(query: Query, onPool: Query, info: NodeInfo): Promise<void> {
  const { node, process = node, address, regions = null, standby = false } = info;
  await onPool("forget_old_nodes", {});
  const [row] = await onPool<{ number: number }>("join_node", {
    id: node,
    process,
    address,
    regions,
    standby,
  });
  await query("live_node", { number: row?.number });
  await onPool("join_writers", { node, writers: WRITERS });
}

function createPartitionSession(
  client: pg.Client,
  { hot: pool, schema, clock }: Use,
  { node, backend }: { readonly node: string; readonly backend: number },
): PartitionSession {
  const query = queryOn(client, schema);
  const onPool = queryOn(pool, schema);
  const lost: ((cause: Error) => void)[] = [];
  let over: Error | null = null;
  const lose = (cause: Error): void => {
    if (over) return;
    over = cause;
    for (const listener of lost) listener(cause);
  };
  client.on("error", lose);
  client.on("end", () => lose(new Error("the partition session has ended")));

  return Object.freeze({
    node,
    async poll(): Promise<PartitionScan> {
      const [row] = await query<{
        held: number[];
        live: LiveNode[];
        regions: number[];
        backend: number;
      }>("poll_partitions", { node });
      if (!row) throw new Error("the poll of partitions returned no row");
      watchBackend(backend, row.backend);
      return { held: row.held, liveNodes: row.live, regions: row.regions };
    },
    async tryLock(partitions) {
      const rows = await query<{ partition: number }>("try_lock", { partitions });
      return rows.map((row) => row.partition);
    },
    takeOver: (partitions) => takeOver(createTransact(pool, clock, schema), node, partitions),
    async unlock(partitions) {
      await onPool("clear_partitions", { partitions, node });
      await query("unlock", { partitions });
    },
    ...noticesOn(client, pool, schema),
    onLost(listener) {
      if (over) listener(over);
      else lost.push(listener);
    },
    async leave() {
      over ??= new Error("the partition session was closed");
      await onPool("leave_writers", { node }).catch(() => []);
      await onPool("leave_node", { id: node }).catch(() => []);
      // A server that does not answer must not hold this process up forever.
      const ended = client.end().catch(() => undefined);
      await Promise.race([ended, clock.sleep(LEAVE_MS_MAX)]);
    },
  } satisfies PartitionSession);
}

interface TakenRow extends TakenPartition {
  /** A code. */
  readonly why: number;
  readonly taken_at: EpochMs;
}

/**
 * Waits for a batch of the former owner, on purpose: the batch ends by its own commit, or after 2 s
 * by the timeouts of its session.
 */
async function takeOver(
  transact: Transact,
  node: string,
  partitions: readonly number[],
): Promise<readonly TakenPartition[]> {
  return transact({}, async ({ query }) => {
    await query("lock_partition_leases", { partitions });
    await query("fence_former_owners", { partitions, node });
    const taken = await query<TakenRow>("take_partitions", {
      partitions,
      node,
      hand_overs_max: HAND_OVERS_MAX,
    });
    const noted = columns(taken, {
      partition: (one) => one.partition,
      epoch: (one) => one.epoch,
      why: (one) => one.why,
    });
    const at = taken[0]?.taken_at;
    if (at !== undefined) await query("note_hand_overs", { ...noted, node, taken_at: at });
    return taken.map(({ partition, epoch }) => ({ partition, epoch }));
  });
}
