// Liveness of the agents that a run waits for: one statement, no locks.

import type { LaneCircuit, LanePause, LeaseLiveness } from "../../core/explain/explanation.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { RunLiveness } from "../reads.ts";
import type { RunId } from "../store.ts";
import type { StoreTimes } from "../store-times.ts";
import { circuitStates } from "./codes.ts";
import { stepFinder } from "./read-pages.ts";
import type { Query } from "./transaction.ts";

interface LivenessRow {
  now: EpochMs;
  /** null: the row has only the time. */
  step_no: number | null;
  is_lease: boolean | null;
  last_heartbeat_at: EpochMs | null;
  /** Of a lease: the page of its step. */
  page: string | null;
  polled_at: EpochMs | null;
  /** null: it is not paused. */
  paused: LanePause["scope"] | null;
  paused_at: EpochMs | null;
  pause_reason: string | null;
  queue: string | null;
  /** null: the circuit lets everything through. */
  circuit: number | null;
  open_since: EpochMs | null;
  open_until: EpochMs | null;
  saw: string | null;
  /** null: no person has forced it open. */
  forced_at: EpochMs | null;
  forced_by: string | null;
  forced_why: string | null;
  /** The number of sessions that ask for it, if all of them are cordoned; else null. */
  cordoned: number | null;
  /** null: the lane is for all agents. */
  agent_version: string | null;
  /** null: the row has only the time. */
  silent: boolean | null;
  /** The name of its region; null: a supervisor watches the run. */
  unwatched: string | null;
  whole: boolean | null;
}

export async function runLiveness(
  query: Query,
  runId: RunId,
  { polledMs, ownerLostMs }: StoreTimes,
): Promise<RunLiveness> {
  const rows = await query<LivenessRow>("run_signs", {
    run_id: runId,
    polled: polledMs,
    owner_lost: ownerLostMs,
  });
  const stepIn = stepFinder();
  const leases = new Map<number, LeaseLiveness>();
  const polls = new Map<number, EpochMs | null>();
  const silent = new Set<number>();
  const pauses = new Map<number, LanePause>();
  const circuits = new Map<number, LaneCircuit>();
  const cordoned = new Map<number, number>();
  const agentVersions = new Map<number, string>();
  const queues = new Map<number, string>();
  for (const row of rows) {
    if (row.step_no === null) continue;
    const { last_heartbeat_at: lastHeartbeatAt } = row;
    const progress = stepIn(row.page, row.step_no)?.progress ?? null;
    if (row.is_lease) leases.set(row.step_no, { lastHeartbeatAt, progress });
    else polls.set(row.step_no, row.polled_at);
    if (row.silent) silent.add(row.step_no);
    if (row.queue !== null) queues.set(row.step_no, row.queue);
    if (row.cordoned !== null) cordoned.set(row.step_no, row.cordoned);
    if (row.agent_version !== null) agentVersions.set(row.step_no, row.agent_version);
    const circuit = circuitOf(row);
    if (circuit) circuits.set(row.step_no, circuit);
    const { paused: scope, paused_at: since, pause_reason: reason } = row;
    if (scope === null || since === null) continue;
    pauses.set(row.step_no, { scope, since, reason: reason ?? "" });
  }
  const lanes = { polls, silent, pauses, circuits, cordoned, agentVersions, queues };
  const { now = 0, unwatched: region = null, whole = null } = rows[0] ?? {};
  const unwatched = region === null ? null : { region, whole: whole === true };
  return { now, polledMs, leases, unwatched, ...lanes };
}

function circuitOf(row: LivenessRow): LaneCircuit | null {
  if (row.circuit === null) return null;
  const { forced_at: forcedAt, forced_by: by, forced_why: why } = row;
  const kind = circuitStates.name(row.circuit);
  return {
    since: forcedAt ?? row.open_since ?? row.now,
    until: forcedAt === null && kind === "open" ? row.open_until : null,
    isHalfOpen: forcedAt === null && kind === "trying",
    override: forcedAt === null ? null : { by: by ?? "", why: why ?? "" },
    saw: row.saw ?? "",
  };
}
