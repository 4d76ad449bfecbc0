// Pauses and limits of queues. Transactions are serial here, so a pause waits for no other.
import type { EpochMs } from "../../core/model/attempt.ts";
import { isLimited, type QueueLimits, UNLIMITED } from "../../core/model/limits.ts";
import type {
  LanePause,
  LimitedLane,
  LockedQueue,
  Pause,
  QueueRef,
  Queues,
  WorkflowRef,
} from "../queues.ts";
import type { Tx } from "../store.ts";
import type { LaneRow } from "./catalogue-tables.ts";
import { createQueueShares, useOfQueue, writeBucket } from "./queue-shares.ts";
import { type QueueRow, queueKey, workflowKey } from "./queue-tables.ts";
import { byAge } from "./ready-rows.ts";
import type { SharedChanges } from "./shared-changes.ts";
import type { ReadyRow, Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

export interface QueueWorld {
  readonly tables: Tables;
  readonly now: () => EpochMs;
  readonly lanes: () => readonly LaneRow[];
  /** Whether some run may have this workflow: a definition of this name is known. */
  readonly isWorkflow: (of: WorkflowRef) => boolean;
}

const NOTHING_SET = Object.freeze({ pause: null, limits: UNLIMITED, bucket: null, allotment: 0 });

export function createQueues(
  world: QueueWorld,
  transactions: Pick<Transactions, "run">,
  shared: SharedChanges,
): Queues {
  const { tables, now } = world;
  const rowOf = (of: QueueRef): QueueRow =>
    tables.queue.get(queueKey(of)) ?? { ...of, ...NOTHING_SET };
  const lanesOf = ({ namespaceId, queue }: QueueRef) =>
    world
      .lanes()
      .filter((one) => one.namespaceId === namespaceId && (queue === "" || one.queue === queue));

  return Object.freeze({
    shares: createQueueShares(tables, now, transactions, shared),
    pause: (of: QueueRef, reason: string) =>
      claimsOver(shared, () => {
        const row = rowOf(of);
        const pause = row.pause ?? { since: now(), reason };
        tables.queue.put({ ...row, pause });
        return pause;
      }),
    resume: (of: QueueRef) =>
      shared.run(() => {
        tables.queue.put({ ...rowOf(of), pause: null });
        return lanesOf(of).map(({ lane }) => lane);
      }),
    setLimits: (of: QueueRef, limits: QueueLimits) =>
      claimsOver(shared, () => {
        const row = rowOf(of);
        const { rate } = limits;
        const tokens = Math.min(row.bucket?.tokens ?? Number.POSITIVE_INFINITY, rate?.burst ?? 0);
        const bucket = rate && { tokens, filledAt: row.bucket?.filledAt ?? now() };
        tables.queue.put({ ...row, limits, bucket });
        return lanesOf(of).map(({ lane }) => lane);
      }),
    async pauseWorkflow(of: WorkflowRef, reason: string) {
      const { changed } = await shared.runEverywhere(
        () => {
          if (!world.isWorkflow(of)) return null;
          const known = tables.pausedWorkflow.get(workflowKey(of));
          const pause = known?.pause ?? { since: now(), reason };
          tables.pausedWorkflow.put({ ...of, pause });
          return pause;
        },
        (rows, transaction) => moveReady(rows.tables, of, transaction),
      );
      return changed;
    },
    async resumeWorkflow(of: WorkflowRef) {
      const { followed } = await shared.runEverywhere(
        () => {
          const known = tables.pausedWorkflow.get(workflowKey(of));
          if (known) tables.pausedWorkflow.removeRow(known);
        },
        (rows, transaction) => moveReady(rows.tables, of, transaction),
      );
      return [...new Set(followed.flat())];
    },
  } satisfies Queues);
}

/** Also waits for the claims that are in progress in other shards. */
async function claimsOver<T>(shared: SharedChanges, change: () => T): Promise<T> {
  return (await shared.runEverywhere(change, () => undefined)).changed;
}

/**
 * Takes the ready rows of a paused workflow out of their lanes, or brings them back. Returns the
 * lanes that have received some.
 */
function moveReady(tables: Tables, of: WorkflowRef, transaction: number): readonly number[] {
  const rows = tables.ready.all().filter((row) => isOf(tables, row, of));
  if (tables.pausedWorkflow.get(workflowKey(of))) {
    for (const row of rows) tables.ready.put({ ...row, paused: true });
    return [];
  }
  const held = rows.filter(({ paused }) => paused).sort(byAge);
  // Ordered as if they had become ready now, in their order.
  for (const [number, row] of held.entries())
    tables.ready.put({ ...row, paused: false, transaction, number });
  return [...new Set(held.map(({ lane }) => lane))];
}

function isOf(tables: Tables, { runId }: ReadyRow, of: WorkflowRef): boolean {
  const { namespaceId, workflow } = tables.run.expect(runId);
  return namespaceId === of.namespaceId && workflow === of.workflow;
}

/** The pause of a lane: that of its queue, else that of its namespace. */
export function lanePause({ tables }: Pick<QueueWorld, "tables">, lane: number): LanePause | null {
  const key = tables.lane.get(String(lane));
  if (!key) return null;
  const { namespaceId, queue } = key;
  const own: Pause | null = tables.queue.get(queueKey({ namespaceId, queue }))?.pause ?? null;
  const all = tables.queue.get(queueKey({ namespaceId, queue: "" }))?.pause ?? null;
  if (own) return { ...own, scope: "queue" };
  return all && { ...all, scope: "namespace" };
}

/** The queue of a lane, if it has limits. */
export function limitedLane(
  { tables }: Pick<QueueWorld, "tables">,
  lane: number,
): LimitedLane | null {
  const key = tables.lane.get(String(lane));
  if (!key) return null;
  const { namespaceId, queue } = key;
  const row = tables.queue.get(queueKey({ namespaceId, queue }));
  return row && isLimited(row.limits) ? { lane, namespaceId, queue } : null;
}

/** All lanes of those queues with limits that these lanes belong to. */
export function freedLanes(world: QueueWorld, ended: readonly number[]): readonly number[] {
  const queues = new Set(
    ended.flatMap((lane) => {
      const limited = limitedLane(world, lane);
      return limited ? [queueKey(limited)] : [];
    }),
  );
  if (queues.size === 0) return [];
  return world.lanes().flatMap((one) => (queues.has(queueKey(one)) ? [one.lane] : []));
}

export function queueLocksOf(
  { tables, now }: QueueWorld,
  batch: string,
  enter: () => void,
): Pick<Tx, "lockQueues" | "writeBuckets"> {
  let locked = false;
  return {
    lockQueues: async (queues) => {
      enter();
      if (locked)
        throw new Error(
          `batch "${batch}" locks queues twice, and two such deadlock: lock all in one call`,
        );
      locked = true;
      return queues.flatMap((of): readonly LockedQueue[] => {
        const row = tables.queue.get(queueKey(of));
        if (!row || !isLimited(row.limits)) return [];
        const { namespaceId, queue } = row;
        return [{ namespaceId, queue, ...useOfQueue(tables, row, now()) }];
      });
    },
    writeBuckets: async (queues) => {
      enter();
      for (const { namespaceId, queue, bucket } of queues)
        writeBucket(tables, { namespaceId, queue, bucket });
    },
  };
}
