// What people say about queues and workflows. A pause is first written and then waits for claims
// that began before: those that begin later see it, so a claim waits for nobody and pays nothing.
// That of a workflow then takes its ready rows out of their lanes; what a pass makes ready from
// then on it puts beside them itself.
import type { Clock } from "../../clock.ts";
import type { Moment } from "../../core/attempt.ts";
import type { QueueLimits } from "../../core/limits.ts";
import { DroverError } from "../../errors.ts";
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
import type { RunId } from "../run-head.ts";
import { writeEach } from "./batch.ts";
import { columns } from "./columns.ts";
import type { Query, Send } from "./transaction.ts";

/** No transaction of ours lives longer than 5 s. */
const CLAIMS_MS_MAX = 6_000;
const LOOK_AGAIN_MS = 5;
const RUNS_MOVED_MAX = 500;
const ROWS_MOVED_MAX = 1_000;

export function createQueues(query: Query, clock: Clock): Queues {
  async function pauseOf({ namespaceId, queue }: QueueRef): Promise<Pause | null> {
    const [row] = await query<PauseRow>("queue_pause", [namespaceId, queue]);
    return row ? { since: row.paused_at, reason: row.pause_reason } : null;
  }

  return Object.freeze({
    async pause(of: QueueRef, reason: string): Promise<Pause> {
      await query("pause_queue", [of.namespaceId, of.queue, reason]);
      // Also if it was paused before: whoever did that may have died before its claims were over.
      await claimsOver(query, clock);
      const pause = await pauseOf(of);
      return pause ?? { since: clock.wallMs(), reason };
    },
    async resume({ namespaceId, queue }: QueueRef): Promise<readonly number[]> {
      await query("resume_queue", [namespaceId, queue]);
      return lanesOf(query, { namespaceId, queue });
    },
    async setLimits({ namespaceId, queue }: QueueRef, limits: QueueLimits) {
      const { leasesMax, rate } = limits;
      const said = [leasesMax, rate?.perSecond ?? null, rate?.burst ?? null];
      await query("set_queue_limits", [namespaceId, queue, ...said]);
      await claimsOver(query, clock);
      return lanesOf(query, { namespaceId, queue });
    },
    async pauseWorkflow(of: WorkflowRef, reason: string) {
      const named = [of.namespaceId, of.workflow];
      const definitions = await query<{ id: number }>("definitions_of_workflow", named);
      if (definitions.length === 0) return null;
      await query("pause_workflow", [...named, reason]);
      await claimsOver(query, clock);
      await moveReady({ query, clock }, "hold_ready", of);
      // Somebody may have resumed it meanwhile: it was paused all the same.
      return (await workflowPause(query, of)) ?? { since: clock.wallMs(), reason };
    },
    async resumeWorkflow({ namespaceId, workflow }: WorkflowRef) {
      await query("resume_workflow", [namespaceId, workflow]);
      await claimsOver(query, clock);
      return releaseRuns({ query, clock });
    },
    workflowPause: (of: WorkflowRef) => workflowPause(query, of),
    namespacePause: (namespaceId: number) => pauseOf({ namespaceId, queue: "" }),
    list: (namespaceId: number, page: QueuePage) => listQueues(query, namespaceId, page),
  } satisfies Queues);
}

async function lanesOf(query: Query, { namespaceId, queue }: QueueRef): Promise<readonly number[]> {
  const rows = await query<{ lane: number }>("queue_lanes", [namespaceId, queue]);
  return rows.map(({ lane }) => lane);
}

interface PauseRow {
  paused_at: Moment;
  pause_reason: string;
}

/** Waits until nobody is left who may hand out, or make ready, by what was known before. */
export function claimsOver(query: Query, clock: Clock): Promise<void> {
  return writersOver({ query, clock }, "ready");
}

/** Waits until nobody is left who may make a lane by what was known before. */
export function lanesMade(query: Query, clock: Clock): Promise<void> {
  return writersOver({ query, clock }, "lane");
}

async function writersOver({ query, clock }: Mover, table: "ready" | "lane"): Promise<void> {
  const underWay = async (): Promise<ReadonlySet<string>> => {
    const rows = await query<{ transaction: string }>("claims_under_way", [table]);
    return new Set(rows.map(({ transaction }) => transaction));
  };
  const until = clock.monotonicMs() + CLAIMS_MS_MAX;
  let left = [...(await underWay())];
  while (left.length > 0) {
    if (clock.monotonicMs() > until)
      throw new DroverError(
        "STORE_UNAVAILABLE",
        "a claim that began before, or what makes lanes, is still under way: repeat the call",
      );
    await clock.sleep(LOOK_AGAIN_MS);
    const still = await underWay();
    left = left.filter((transaction) => still.has(transaction));
  }
}

async function workflowPause(
  query: Query,
  { namespaceId, workflow }: WorkflowRef,
): Promise<Pause | null> {
  const [row] = await query<PauseRow>("workflow_pause", [namespaceId, workflow]);
  return row ? { since: row.paused_at, reason: row.pause_reason } : null;
}

export interface Mover {
  readonly query: Query;
  readonly clock: Clock;
}

/**
 * Moves the ready rows of a workflow to other lanes, and returns those of them that claims look at.
 * Row by row it waits for nobody, so it can hold nobody up; it comes back for what is left.
 */
export async function moveReady(
  { query, clock }: Mover,
  statement: "hold_ready" | "place_ready",
  { namespaceId, workflow }: WorkflowRef,
): Promise<readonly number[]> {
  const named = [namespaceId, workflow];
  const definitions = await query<{ id: number }>("definitions_of_workflow", named);
  const runs = await query<{ run_id: RunId }>("open_runs_of_definitions", [
    definitions.map(({ id }) => id),
  ]);
  const lanes = new Set<number>();
  for (let from = 0; from < runs.length; from += RUNS_MOVED_MAX) {
    const chunk = runs.slice(from, from + RUNS_MOVED_MAX).map(({ run_id: runId }) => runId);
    for (;;) {
      const [row] = await query<{ left: number; lanes?: number[] }>(statement, [chunk]);
      for (const lane of row?.lanes ?? []) lanes.add(lane);
      if (!row || row.left === 0) break;
      await clock.sleep(LOOK_AGAIN_MS);
    }
  }
  return [...lanes];
}

async function releaseRuns({ query, clock }: Mover): Promise<readonly number[]> {
  const lanes = new Set<number>();
  for (;;) {
    const [row] = await query<{ lanes: number[]; more: boolean }>("release_ready", [
      ROWS_MOVED_MAX,
    ]);
    for (const lane of row?.lanes ?? []) lanes.add(lane);
    if (!row?.more) return [...lanes];
    if (row.lanes.length === 0) await clock.sleep(LOOK_AGAIN_MS);
  }
}

interface LimitsRow {
  leases_max: number | null;
  rate: number | null;
  burst: number | null;
}

function limitsOf({ leases_max: leasesMax, rate: perSecond, burst }: LimitsRow): QueueLimits {
  const rate = perSecond === null || burst === null ? null : { perSecond, burst };
  return { leasesMax, rate };
}

interface QueueRow extends LimitsRow {
  name: string;
  ready: number;
  leased: number;
  paused_at: Moment | null;
  pause_reason: string | null;
}

async function listQueues(
  query: Query,
  namespaceId: number,
  { names, after, limit }: QueuePage,
): Promise<readonly QueueRecord[]> {
  const asked = [namespaceId, names, after, limit, READY_COUNTED_MAX];
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
  filled_at: Moment | null;
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
  const counted = rows.filter(({ limits }) => limits.leasesMax !== null);
  if (counted.length === 0) return rows;
  const counts = await query<{ namespace_id: number; name: string; leased: number }>(
    "count_leases",
    columnsOf(counted),
  );
  return rows.map((row) => {
    const of = counts.find((c) => c.namespace_id === row.namespaceId && c.name === row.queue);
    return { ...row, leased: of?.leased ?? 0 };
  });
}

export function writeBuckets(send: Send, queues: readonly LockedQueue[]): void {
  const rows = queues.flatMap(({ bucket, ...of }) => (bucket ? [{ ...of, bucket }] : []));
  writeEach(
    send,
    "write_buckets",
    rows,
    (row) => row.namespaceId,
    (row) => row.queue,
    (row) => row.bucket.tokens,
    (row) => row.bucket.filledAt,
  );
}

function columnsOf(queues: readonly QueueRef[]): string[] {
  return columns(
    queues,
    (of) => of.namespaceId,
    (of) => of.queue,
  );
}
