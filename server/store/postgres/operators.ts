// What operators read.
import type pg from "pg";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { OpenRuns } from "../activity.ts";
import {
  ATTENTION_MAX,
  type Attention,
  type ClusterRecord,
  type Durability,
  ESCALATIONS_COUNTED_MAX,
  type Gauges,
  type HandOverPage,
  type HandOverRecord,
  HOLDINGS_MAX,
  type InterventionPage,
  type ListedIntervention,
  type MigrationRecord,
  type Operators,
  type OrphanLane,
  type PartitionPage,
  type PartitionRecord,
  QUEUE_TASKS_MAX,
  type QueueActivity,
  type QueueHolding,
  type QueueTask,
  SCHEDULES_COUNTED_MAX,
  SUPERVISORS_MAX,
  type SupervisorRecord,
  WAITING_COUNTED_MAX,
} from "../operators.ts";
import { READY_COUNTED_MAX } from "../queues.ts";
import type { StoreTimes } from "../store-times.ts";
import { createActivity } from "./activity.ts";
import { failingAgents, heldTasks, listAgents } from "./agents.ts";
import { attemptIn } from "./attempts-at.ts";
import { listAudit } from "./audit.ts";
import { handOverReasons, rules } from "./codes.ts";
import { labelsOf } from "./columns.ts";
import { type InterventionRow, interventionOf } from "./intervention-rows.ts";
import { lateTimers } from "./late-timers.ts";
import { lateLeases } from "./overdue.ts";
import { stepFinder } from "./read-pages.ts";
import type { Query } from "./transaction.ts";

export function createOperators(
  query: Query,
  { times, pools }: { readonly times: StoreTimes; readonly pools: Pools },
): Operators {
  const activity = createActivity(query);
  return Object.freeze({
    ...activity,
    agents: (...of) => listAgents(query, ...of),
    held: (session) => heldTasks(query, session),
    queueActivity: (...of) => queueActivityOf(query, ...of),
    queueTasks: (...of) => queueTasks(query, ...of),
    queueHoldings: (...of) => queueHoldings(query, ...of),
    partitions: (page) => listPartitions(query, page, times),
    handOvers: (page) => listHandOvers(query, page),
    supervisors: () => listNodes(query, times),
    interventions: (...of) => listInterventions(query, ...of),
    audit: (...of) => listAudit(query, ...of),
    now: async () => (await databaseNow(query)).now,
    cluster: async (of) => ({ ...(await cluster(query)), ...(await activity.openRuns(of)) }),
    attention: (namespaceId) => attention(query, namespaceId, times),
    gauges: async () => ({
      ...(await gauges(query)),
      openRuns: (await activity.openRuns(null)).openRuns,
      failingAgents: (await failingAgents(query, null)).length,
    }),
    connections: () =>
      Object.entries(pools).map(([pool, { totalCount, idleCount, waitingCount }]) => {
        return { pool, busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
      }),
  } satisfies Operators);
}

/** By name. */
type Pools = Readonly<Record<string, Pick<pg.Pool, "totalCount" | "idleCount" | "waitingCount">>>;

interface ActivityRow {
  oldest_at: EpochMs | null;
  polled_at: EpochMs | null;
  agents: number;
}

async function queueActivityOf(
  query: Query,
  namespaceId: number,
  names: readonly string[],
): Promise<readonly QueueActivity[]> {
  if (names.length === 0) return [];
  const rows = await query<ActivityRow & { name: string }>("queue_overview", {
    namespace_id: namespaceId,
    names,
  });
  return rows.map((row) => ({ name: row.name, ...activityOf(row), agents: row.agents }));
}

function activityOf({ oldest_at: oldestAt, polled_at: polledAt }: Omit<ActivityRow, "agents">) {
  return { oldestAt, polledAt };
}

async function queueTasks(
  query: Query,
  namespaceId: number,
  queue: string,
): Promise<readonly QueueTask[]> {
  const asked = {
    namespace_id: namespaceId,
    queue,
    limit: QUEUE_TASKS_MAX,
    ready_max: READY_COUNTED_MAX,
  };
  const rows = await query<
    ActivityRow & { task: string; agent_version: string | null; ready: number; leased: number }
  >("queue_tasks", asked);
  return rows.map((row) => {
    const { task, agent_version: agentVersion, ready, leased, agents } = row;
    return { task, agentVersion, ready, leased, agents, ...activityOf(row) };
  });
}

async function queueHoldings(
  query: Query,
  namespaceId: number,
  queue: string,
): Promise<readonly QueueHolding[]> {
  const asked = { namespace_id: namespaceId, queue, limit: HOLDINGS_MAX };
  const rows = await query<{ granted_at: EpochMs; workflow: string; labels: unknown }>(
    "queue_holdings",
    asked,
  );
  return rows.map(({ granted_at: grantedAt, workflow, labels }) => {
    return { grantedAt, workflow, labels: labelsOf(labels) };
  });
}

interface PartitionRow {
  now: EpochMs;
  partition: number;
  region: string;
  used: boolean;
  epoch: number;
  taken_at: EpochMs | null;
  node: string | null;
  address: string | null;
  last_seen_at: EpochMs | null;
  watched: boolean;
  overdue_at: EpochMs | null;
}

async function listPartitions(
  query: Query,
  { after, limit }: PartitionPage,
  { ownerLostMs }: StoreTimes,
) {
  const rows = await query<PartitionRow>("list_partitions", {
    after,
    limit,
    owner_lost: ownerLostMs,
  });
  const shown = rows.map(({ partition }) => partition);
  const late = await lateTimers(query, shown, { byMs: 0, since: null });
  const silent = new Map(
    (await lateLeases(query, shown, { byMs: 0, since: null })).map((one) => [one.partition, one]),
  );
  const partitions = rows.map((row): PartitionRecord => {
    const { partition, region, used, epoch, taken_at: takenAt, node, watched } = row;
    const { address, last_seen_at: lastSeenAt, overdue_at: rowsAt } = row;
    const owner = node === null ? null : { node, address, lastSeenAt };
    const dueTimes = (late.get(partition) ?? []).map(({ wakeAt }) => wakeAt);
    const silentAt = silent.get(partition)?.oldest_at ?? null;
    for (const at of [rowsAt, silentAt]) if (at !== null) dueTimes.push(at);
    const overdueAt = dueTimes.length === 0 ? null : dueTimes.reduce((a, b) => Math.min(a, b));
    return { partition, region, used, epoch, takenAt, owner, watched, overdueAt };
  });
  return { now: rows[0]?.now ?? (await databaseNow(query)).now, partitions };
}

interface HandOverRow {
  partition: number;
  epoch: number;
  node: string;
  address: string | null;
  why: number;
  taken_at: EpochMs;
  left_at: EpochMs | null;
}

async function listHandOvers(
  query: Query,
  { partition, after, limit }: HandOverPage,
): Promise<readonly HandOverRecord[]> {
  const place = {
    last_taken_at: after?.takenAt ?? null,
    last_partition: after?.partition ?? null,
    last_epoch: after?.epoch ?? null,
  };
  const rows = await query<HandOverRow>("list_hand_overs", { partition, ...place, limit });
  return rows.map(({ why, taken_at: takenAt, left_at: leftAt, ...row }) => {
    return { ...row, why: handOverReasons.name(why), takenAt, leftAt };
  });
}

function listNodes(
  query: Query,
  { ownerLostMs }: StoreTimes,
): Promise<readonly SupervisorRecord[]> {
  return query<{
    id: string;
    address: string;
    started_at: EpochMs;
    last_seen_at: EpochMs;
    alive: boolean;
    partitions: number;
  }>("list_nodes", { owner_lost: ownerLostMs, limit: SUPERVISORS_MAX }).then((rows) =>
    rows.map(({ id: node, address, alive, partitions, ...row }) => {
      const { started_at: startedAt, last_seen_at: lastSeenAt } = row;
      return { node, address, startedAt, lastSeenAt, alive, partitions };
    }),
  );
}

interface ListedRow extends InterventionRow {
  run_id: string;
  workflow: string;
  definition_id: number;
  /** The page of its step; null: it is about no step, or about one that was never tried. */
  page: string | null;
  /** An attempt of its fence that is no longer in the page. */
  logged: string | null;
}

async function listInterventions(
  query: Query,
  namespaceId: number,
  page: InterventionPage,
): Promise<readonly ListedIntervention[]> {
  const { after, runId } = page;
  const asked = {
    namespace_id: namespaceId,
    rules: (page.rules ?? rules.names).map((rule) => rules.code(rule)),
    from: page.from,
    until: page.until,
    acted_at: after?.actedAt,
    run_id: after?.runId,
    step_no: after && (after.step ?? -1),
    fence: after?.fence,
    rule: after && rules.code(after.rule),
    n: after?.n,
    limit: page.limit,
    only_run: runId,
  };
  const rows = await query<ListedRow>("list_interventions", asked);
  const stepIn = stepFinder();
  return rows.map((row) => {
    const of = stepIn(row.page, row.step_no);
    const inPage = of?.attempts.find(({ fence }) => fence === row.fence);
    const about = row.logged === null ? inPage : attemptIn(row.logged);
    return {
      runId: row.run_id,
      workflow: row.workflow,
      definitionId: row.definition_id,
      ...interventionOf(row),
      attempt: about?.attempt ?? 0,
    };
  });
}

async function databaseNow(query: Query): Promise<{ now: EpochMs; version: string }> {
  const [row] = await query<{ now: EpochMs; version: string }>("database_now", {});
  if (!row) throw new Error("the database did not return its time");
  return row;
}

async function gauges(query: Query): Promise<Omit<Gauges, "openRuns" | "failingAgents">> {
  const [row] = await query<{
    waiting: number;
    waiting_ms: number;
    escalations: number;
    queue_circuits: number;
    agent_circuits: number;
  }>("gauges", { waiting_max: WAITING_COUNTED_MAX, escalations_max: ESCALATIONS_COUNTED_MAX });
  if (!row) throw new Error("the gauges were read without their row");
  return {
    waiting: row.waiting,
    waitingMs: Math.max(0, row.waiting_ms),
    escalations: row.escalations,
    openCircuits: { queue: row.queue_circuits, agent: row.agent_circuits },
  };
}

async function cluster(query: Query): Promise<Omit<ClusterRecord, keyof OpenRuns>> {
  const migrations = await query<{ number: number; name: string; applied_at: EpochMs }>(
    "applied_migrations",
    {},
  );
  const { version: database } = await databaseNow(query);
  return {
    database,
    durability: await durability(query),
    migrations: migrations.map(({ number, name, applied_at: appliedAt }): MigrationRecord => {
      return { number, name, appliedAt };
    }),
  };
}

async function durability(query: Query): Promise<Durability> {
  const [row] = await query<{
    crash_safe: boolean;
    synchronous_commit: string;
    synchronous_standbys: string;
    archives_log: boolean;
    archived_at: EpochMs | null;
    archive_failed_at: EpochMs | null;
  }>("durability", {});
  if (!row) throw new Error("the statistics of the archiver were read without their row");
  return {
    crashSafe: row.crash_safe,
    synchronousCommit: row.synchronous_commit,
    synchronousStandbys: row.synchronous_standbys,
    archivesLog: row.archives_log,
    archivedAt: row.archived_at,
    archiveFailedAt: row.archive_failed_at,
  };
}

interface PausedRow {
  is_workflow: boolean;
  name: string;
  paused_at: EpochMs;
  pause_reason: string | null;
  schedules: number;
}

async function attention(
  query: Query,
  namespaceId: number,
  { polledMs }: StoreTimes,
): Promise<Attention> {
  const [open] = await query<{ escalations: number }>("count_open_escalations", {
    namespace_id: namespaceId,
    counted_max: ESCALATIONS_COUNTED_MAX,
  });
  const lanes = await query<
    Omit<ActivityRow, "agents"> & { queue: string; task: string; agent_version: string | null }
  >("orphan_lanes", { namespace_id: namespaceId, limit: ATTENTION_MAX, polled: polledMs });
  const paused = await query<PausedRow>("paused_things", {
    namespace_id: namespaceId,
    limit: ATTENTION_MAX,
    counted_max: SCHEDULES_COUNTED_MAX,
  });
  const named = paused.map(({ is_workflow: isWorkflow, name, schedules, ...row }) => {
    const pause = { since: row.paused_at, reason: row.pause_reason ?? "" };
    return { isWorkflow, name, pause, schedules };
  });
  const of = (isWorkflow: boolean) =>
    named
      .filter((one) => one.isWorkflow === isWorkflow && one.name !== "")
      .map(({ name, pause, schedules }) => ({ name, pause, schedules }));
  return {
    escalations: open?.escalations ?? 0,
    orphans: lanes.map((row): OrphanLane => {
      const { queue, task, agent_version: agentVersion } = row;
      return { queue, task, agentVersion, ...activityOf(row) };
    }),
    failingAgents: (await failingAgents(query, namespaceId)).slice(0, ATTENTION_MAX),
    namespacePause: named.find(({ isWorkflow, name }) => !isWorkflow && name === "")?.pause ?? null,
    pausedQueues: of(false).slice(0, ATTENTION_MAX),
    pausedWorkflows: of(true),
  };
}
