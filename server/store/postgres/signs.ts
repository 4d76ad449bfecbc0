// Signs of life of a run's agents: one statement, no locks.

import type { Moment } from "../../core/attempt.ts";
import type { LanePause, LeaseSigns } from "../../core/explanation.ts";
import type { RunSigns } from "../reads.ts";
import type { RunId } from "../store.ts";
import type { Query } from "./transaction.ts";

interface SignRow {
  now: Moment;
  /** null: the row that is there for the time alone. */
  step_no: number | null;
  is_lease: boolean | null;
  last_beat_at: Moment | null;
  progress: string | null;
  polled_at: Moment | null;
  /** null: nothing is. */
  paused: LanePause["of"] | null;
  paused_at: Moment | null;
  pause_reason: string | null;
  queue: string | null;
}

export async function runSigns(query: Query, runId: RunId): Promise<RunSigns> {
  const rows = await query<SignRow>("run_signs", [runId]);
  const leases = new Map<number, LeaseSigns>();
  const polls = new Map<number, Moment | null>();
  const pauses = new Map<number, LanePause>();
  const queues = new Map<number, string>();
  for (const row of rows) {
    if (row.step_no === null) continue;
    const { last_beat_at: lastBeatAt, progress } = row;
    if (row.is_lease) leases.set(row.step_no, { lastBeatAt, progress });
    else polls.set(row.step_no, row.polled_at);
    if (row.queue !== null) queues.set(row.step_no, row.queue);
    const { paused: of, paused_at: since, pause_reason: reason } = row;
    if (of === null || since === null) continue;
    pauses.set(row.step_no, { of, since, reason: reason ?? "" });
  }
  return { now: rows[0]?.now ?? 0, leases, polls, pauses, queues };
}
