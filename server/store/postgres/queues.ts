// Pauses and limits of queues, and pauses of workflows. A pause is written first and then waits for
// claims that began before. Later claims see it, so a claim waits for no pause and pays nothing.
// The pause of a workflow then takes its ready rows out of their lanes; passes put the rows that
// they make ready from then on beside the lanes themselves. The resume brings them back. Both walk
// only the open runs of this workflow, in pages, and leave a note until they are done
// (ready-moves.ts).
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Lists } from "../lists.ts";
import {
  type LockedQueue,
  type Pause,
  type QueuePage,
  type QueueRecord,
  type QueueRef,
  type Queues,
  READY_COUNTED_MAX,
  type WorkflowRef,
} from "../queues.ts";
import type { Audited } from "./audit.ts";
import { writeEach } from "./columns.ts";
import { columnsOf, type LimitsRow, limitsOf, withLeases } from "./queue-rows.ts";
import { createQueueShares } from "./queue-shares.ts";
import {
  claimsOver,
  ifChanged,
  isWorkflow,
  type Mover,
  moveNoted,
  type NotedRow,
} from "./ready-moves.ts";
import type { Query, Send, Transact } from "./transaction.ts";

export function createQueues(mover: Mover, transact: Transact, audited: Audited): Queues {
  const { query, clock } = mover;
  return Object.freeze({
    shares: createQueueShares(mover, transact),
    async pause(of, reason, audit = null) {
      const named = { namespace_id: of.namespaceId, name: of.queue };
      await audited(audit, "pause_queue", { ...named, reason });
      // Also if it was paused before: that server may have died before its claims were over.
      await claimsOver(mover);
      const pause = await queuePause(query, of);
      return pause ?? { since: clock.wallMs(), reason };
    },
    async resume({ namespaceId, queue }, audit = null) {
      await audited(audit, "resume_queue", { namespace_id: namespaceId, name: queue });
      return lanesOf(query, { namespaceId, queue });
    },
    async setLimits({ namespaceId, queue }, limits, audit = null) {
      const { leasesMax, rate } = limits;
      const values = {
        leases_max: leasesMax,
        rate: rate?.perSecond ?? null,
        burst: rate?.burst ?? null,
      };
      const named = { namespace_id: namespaceId, name: queue };
      await audited(audit, "set_queue_limits", { ...named, ...values });
      await claimsOver(mover);
      return lanesOf(query, { namespaceId, queue });
    },
    async pauseWorkflow(of, reason, audit = null) {
      if (!(await isWorkflow(query, of))) return null;
      const named = { namespace_id: of.namespaceId, name: of.workflow, reason };
      await moveNoted(
        mover,
        of,
        await audited<NotedRow>(audit, "pause_workflow", named, ifChanged),
      );
      // Another caller may have resumed it meanwhile: it was paused all the same.
      return (await workflowPause(query, of)) ?? { since: clock.wallMs(), reason };
    },
    async resumeWorkflow(of, audit = null) {
      const named = { namespace_id: of.namespaceId, name: of.workflow };
      return moveNoted(
        mover,
        of,
        await audited<NotedRow>(audit, "resume_workflow", named, ifChanged),
      );
    },
  } satisfies Queues);
}

export function queueLists(
  query: Query,
): Pick<Lists, "queues" | "namespacePause" | "workflowPause"> {
  return {
    queues: (namespaceId, page) => listQueues(query, namespaceId, page),
    namespacePause: (namespaceId) => queuePause(query, { namespaceId, queue: "" }),
    workflowPause: (of) => workflowPause(query, of),
  };
}

async function queuePause(query: Query, { namespaceId, queue }: QueueRef): Promise<Pause | null> {
  const [row] = await query<PauseRow>("queue_pause", { namespace_id: namespaceId, name: queue });
  return row ? { since: row.paused_at, reason: row.pause_reason } : null;
}

async function lanesOf(query: Query, { namespaceId, queue }: QueueRef): Promise<readonly number[]> {
  const rows = await query<{ lane: number }>("queue_lanes", { namespace_id: namespaceId, queue });
  return rows.map(({ lane }) => lane);
}

interface PauseRow {
  paused_at: EpochMs;
  pause_reason: string;
}

async function workflowPause(
  query: Query,
  { namespaceId, workflow }: WorkflowRef,
): Promise<Pause | null> {
  const [row] = await query<PauseRow>("workflow_pause", {
    namespace_id: namespaceId,
    name: workflow,
  });
  return row ? { since: row.paused_at, reason: row.pause_reason } : null;
}

interface QueueRow extends LimitsRow {
  name: string;
  ready: number;
  leased: number;
  paused_at: EpochMs | null;
  pause_reason: string | null;
}

async function listQueues(
  query: Query,
  namespaceId: number,
  { names, after, limit }: QueuePage,
): Promise<readonly QueueRecord[]> {
  const asked = { namespace_id: namespaceId, names, after, limit, ready_max: READY_COUNTED_MAX };
  const rows = await query<QueueRow>("list_queues", asked);
  return rows.map((row) => {
    const { name, ready, leased, paused_at: since, pause_reason: reason } = row;
    const pause = since === null ? null : { since, reason: reason ?? "" };
    return { name, ready, leased, pause, limits: limitsOf(row) };
  });
}

interface LockedRow extends LimitsRow {
  namespace_id: number;
  name: string;
  tokens: number | null;
  filled_at: EpochMs | null;
}

/** The count is a statement of its own: it sees what the lock has waited for. */
export async function lockQueues(
  query: Query,
  queues: readonly QueueRef[],
): Promise<readonly LockedQueue[]> {
  const locked = await query<LockedRow>("lock_queues", columnsOf(queues));
  const rows = locked.map((row): LockedQueue => {
    const { namespace_id: namespaceId, name: queue, tokens, filled_at: filledAt } = row;
    const bucket = tokens === null || filledAt === null ? null : { tokens, filledAt };
    return { namespaceId, queue, limits: limitsOf(row), leased: 0, bucket };
  });
  return withLeases(
    query,
    rows,
    rows.filter(({ limits }) => limits.leasesMax !== null),
  );
}

export function writeBuckets(send: Send, queues: readonly LockedQueue[]): void {
  const rows = queues.flatMap(({ bucket, ...of }) => (bucket ? [{ ...of, bucket }] : []));
  writeEach(send, "write_buckets", rows, {
    namespace_id: (row) => row.namespaceId,
    name: (row) => row.queue,
    tokens: (row) => row.bucket.tokens,
    filled_at: (row) => row.bucket.filledAt,
  });
}
