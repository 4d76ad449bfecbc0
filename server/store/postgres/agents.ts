// Agents, as servers record them and operators list them.
import type { EpochMs } from "../../core/model/attempt.ts";
import { type AttemptCounts, FAILING_SHARE, isFailing } from "../../core/model/failing-agent.ts";
import { movingSide } from "../../core/model/model.ts";
import {
  type AgentPage,
  type AgentPoll,
  type AgentRecord,
  type AgentSeen,
  type FailingAgent,
  HELD_MAX,
  type HeldTask,
  type SessionAttempts,
  type SilentSession,
  SUSPECTS_MAX,
  type TaskAttempts,
} from "../operators.ts";
import { columns, labelsOf } from "./columns.ts";
import { stepFinder } from "./read-pages.ts";
import type { Query } from "./transaction.ts";

export async function markAgents(
  query: Query,
  server: string,
  seen: readonly AgentSeen[],
): Promise<void> {
  if (seen.length === 0) return;
  const rows = columns(seen, {
    session: (one) => one.session,
    namespace_id: (one) => one.namespaceId,
    agent_id: (one) => one.agentId,
    agent_version: (one) => one.agentVersion,
    labels: (one) => JSON.stringify(one.labels),
    queues: (one) => one.poll && JSON.stringify(one.poll.queues),
    tasks: (one) => one.poll && JSON.stringify(one.poll.tasks),
    ago: (one) => Math.round(one.agoMs),
    succeeded_ago: (one) => one.succeededAgoMs && Math.round(one.succeededAgoMs),
    called_ago: (one) => Math.round(one.calledAgoMs),
    host: (one) => one.process?.host ?? null,
    pid: (one) => one.process?.pid ?? null,
    capacity: (one) => one.process?.capacity ?? null,
    started_ago: (one) => one.process?.startedAgoMs ?? null,
    clock_ahead: (one) => one.process?.clockAheadMs ?? null,
  });
  await query("mark_agents", { server, ...rows });
}

export async function countAttempts(
  query: Query,
  counts: readonly SessionAttempts[],
): Promise<void> {
  if (counts.length === 0) return;
  const rows = columns(counts, {
    session: (one) => one.session,
    lane: (one) => one.lane,
    ended: (one) => one.ended,
    failed: (one) => one.failed,
    unknown: (one) => one.unknown,
  });
  await query("count_attempts", { ...rows, failing_share: FAILING_SHARE });
}

export async function markSilent(query: Query, silent: readonly SilentSession[]): Promise<void> {
  if (silent.length === 0) return;
  const lost = silent.filter((one) => one.kind === "lost");
  const gone = silent.filter((one) => one.kind === "gone");
  await query("mark_silent", {
    ...columns(lost, {
      session: (one) => one.session,
      at: (one) => one.at,
      heartbeat_ms: (one) => one.heartbeatMs,
    }),
    ...columns(gone, {
      closed_session: (one) => one.session,
      closed_ago: (one) => Math.round(one.agoMs),
    }),
  });
}

interface AgentRow {
  session: string;
  agent_id: string;
  agent_version: string;
  labels: unknown;
  queues: readonly string[] | null;
  tasks: readonly string[] | null;
  server: string;
  first_seen_at: EpochMs;
  seen_at: EpochMs;
  succeeded_at: EpochMs | null;
  last_heartbeat_at: EpochMs | null;
  silent_since: EpochMs | null;
  host: string;
  pid: number | null;
  capacity: number | null;
  started_at: EpochMs | null;
  clock_ahead_ms: number | null;
  held: number;
}

export async function listAgents(
  query: Query,
  namespaceId: number,
  { agentId, session, after, limit }: AgentPage,
): Promise<readonly AgentRecord[]> {
  const place = { after_agent_id: after?.agentId ?? null, after_session: after?.session ?? null };
  const asked = {
    namespace_id: namespaceId,
    agent_id: agentId,
    session,
    ...place,
    limit,
    held_max: HELD_MAX,
  };
  const rows = await query<AgentRow>("list_agents", asked);
  const attempts = await attemptsOf(
    query,
    rows.map((row) => row.session),
  );
  return rows.map((row) => ({
    session: row.session,
    agentId: row.agent_id,
    agentVersion: row.agent_version,
    labels: labelsOf(row.labels),
    poll: pollOf(row),
    server: row.server,
    firstSeenAt: row.first_seen_at,
    seenAt: row.seen_at,
    lastHeartbeatAt: row.last_heartbeat_at,
    silentSince: row.silent_since,
    succeededAt: row.succeeded_at,
    held: row.held,
    host: row.host,
    pid: row.pid,
    capacity: row.capacity,
    startedAt: row.started_at,
    clockAheadMs: row.clock_ahead_ms,
    attempts: attempts.get(row.session) ?? [],
  }));
}

async function attemptsOf(
  query: Query,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, readonly TaskAttempts[]>> {
  if (sessions.length === 0) return new Map();
  const rows = await query<TaskAttempts & { session: string }>("attempts_of_sessions", {
    session: sessions,
  });
  return Map.groupBy(rows, ({ session }) => session);
}

interface FailingRow extends AttemptCounts {
  queue: string;
  task: string;
  session: string;
  agent_id: string;
  agent_version: string;
  host: string;
  pid: number | null;
  all_ended: number;
  all_failed: number;
  all_unknown: number;
}

/** `namespaceId` null: of all namespaces. */
export async function failingAgents(
  query: Query,
  namespaceId: number | null,
): Promise<readonly FailingAgent[]> {
  const asked = { namespace_id: namespaceId, limit: SUSPECTS_MAX };
  const rows = await query<FailingRow>("failing_sessions", asked);
  return rows.filter(isFailing).map((row) => {
    const { queue, task, session, host, pid, ended, failed, unknown } = row;
    return {
      queue,
      task,
      session,
      agentId: row.agent_id,
      agentVersion: row.agent_version,
      host,
      pid,
      own: { ended, failed, unknown },
      others: {
        ended: row.all_ended - ended,
        failed: row.all_failed - failed,
        unknown: row.all_unknown - unknown,
      },
    };
  });
}

export async function hostsOf(
  query: Query,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (sessions.length === 0) return new Map();
  const rows = await query<{ session: string; host: string }>("hosts_of_sessions", {
    session: sessions,
  });
  return new Map(rows.map(({ session, host }) => [session, host]));
}

function pollOf({ queues, tasks }: AgentRow): AgentPoll | null {
  return queues && { queues, tasks: tasks ?? [] };
}

interface HeldRow {
  run_id: string;
  step_no: number;
  queue: string;
  task: string;
  workflow: string;
  definition_id: number;
  page: string | null;
}

export async function heldTasks(query: Query, session: string): Promise<readonly HeldTask[]> {
  const rows = await query<HeldRow>("held_tasks", { session, limit: HELD_MAX });
  const stepIn = stepFinder();
  return rows.map((row) => {
    const { run_id: runId, step_no: step, queue, task, workflow } = row;
    const of = stepIn(row.page, step);
    const lease = of && movingSide(of.step)?.state;
    if (!of || lease?.kind !== "LEASED")
      throw new Error(`step ${step} of run ${runId} has a lease that its page does not know`);
    const { fence, attempt, attemptBy, progressAt } = lease;
    return {
      runId,
      workflow,
      definitionId: row.definition_id,
      step,
      kind: lease.task,
      queue,
      task,
      fence,
      attempt,
      since: lease.grantedAt,
      attemptBy,
      progress: of.progress,
      progressAt,
      cancelling: lease.cancel.kind !== "none",
    };
  });
}
