// The transaction of the contract on PostgreSQL. Locking and loading are two statements: the second
// sees what the lock has waited for. A step that is OPEN and shows neither lease nor ready row was
// claimed between two looks; the ready look waited for that claim, so the last look finds the
// lease.
import type { EndedAttempt, Lease, Ready, Step } from "../../core/model.ts";
import type {
  AttemptKey,
  Grant,
  Granted,
  KeyHolder,
  KeyReservation,
  ReadyRow,
  RunHead,
  RunId,
  RunRef,
  StepsWanted,
  Tx,
} from "../store.ts";
import { outcomes, taskKinds } from "./codes.ts";
import { columns } from "./columns.ts";
import {
  avoidOf,
  type EndedRunRow,
  endedHeadOf,
  headOf,
  isOpen,
  type LeaseRow,
  leaseOf,
  type OpenRunRow,
  type ReadyColumns,
  readyOf,
  type StepRow,
  stepOf,
} from "./rows.ts";
import type { Begun, Query } from "./transaction.ts";
import { insertRuns, writePasses } from "./write.ts";

export function createTx({ now, query }: Begun): Tx {
  return Object.freeze({
    now,
    holdWriter: async (writer) =>
      (await query("hold_writer", [writer.node, writer.slot])).length > 0,
    reserveKeys: (keys) => reserveKeys(query, keys),
    lockRuns: async (runs, wait) => {
      const rows = await query<OpenRunRow>(
        wait ? "lock_runs_wait" : "lock_runs_skip",
        columns(
          runs,
          (run) => run.partition,
          (run) => run.runId,
        ),
      );
      return rows.map(headOf);
    },
    endedRuns: (runs) => endedRuns(query, runs),
    loadSteps: (wanted) => loadSteps(query, wanted),
    lastBeats: async (sessions) => {
      const rows = await query<{ session: string; last_beat_at: number }>("last_beats", [sessions]);
      return new Map(rows.map((row) => [row.session, row.last_beat_at]));
    },
    loadAttempts: (keys) => loadAttempts(query, keys),
    insertRuns: (runs) => insertRuns(query, runs),
    write: (passes) => writePasses(query, passes),
    lockReady: (lanes) => lockReady(query, lanes),
    grant: (grants) => grantLeases(query, grants),
  } satisfies Tx);
}

async function reserveKeys(
  query: Query,
  keys: readonly KeyReservation[],
): Promise<readonly KeyHolder[]> {
  const mine = await query<{ namespace_id: number; key: string }>(
    "reserve_keys",
    columns(
      keys,
      (key) => key.namespaceId,
      (key) => key.key,
      (key) => key.runId,
      (key) => key.digest,
      (key) => key.keepMs,
    ),
  );
  const isMine = new Set(mine.map((row) => `${row.namespace_id}/${row.key}`));
  const held = keys.filter((key) => !isMine.has(`${key.namespaceId}/${key.key}`));
  const holders =
    held.length === 0
      ? []
      : await query<{ namespace_id: number; key: string; run_id: string; digest: string }>(
          "key_holders",
          columns(
            held,
            (key) => key.namespaceId,
            (key) => key.key,
          ),
        );
  return [
    ...keys
      .filter((key) => isMine.has(`${key.namespaceId}/${key.key}`))
      .map((key) => ({ ...key, mine: true })),
    ...holders.map((row) => ({
      namespaceId: row.namespace_id,
      key: row.key,
      runId: row.run_id,
      digest: row.digest,
      mine: false,
    })),
  ];
}

async function endedRuns(query: Query, runs: readonly RunRef[]): Promise<readonly RunHead[]> {
  const rows = await query<EndedRunRow>("ended_runs", [runs.map((run) => run.runId)]);
  return rows.map(endedHeadOf);
}

interface LoadedStepRow extends StepRow, NullableLease {}
type NullableLease = { [Column in keyof LeaseRow]: LeaseRow[Column] | null };

async function loadSteps(
  query: Query,
  wanted: readonly StepsWanted[],
): Promise<ReadonlyMap<RunId, ReadonlyMap<number, Step>>> {
  const whole = wanted.filter(({ steps }) => steps === "all").map(({ runId }) => runId);
  const named = wanted.flatMap(({ runId, steps }) =>
    steps === "all" ? [] : steps.map((no) => ({ runId, no })),
  );
  const rows = await query<LoadedStepRow>("load_steps", [
    whole,
    ...columns(
      named,
      (row) => row.runId,
      (row) => row.no,
    ),
  ]);
  const open = await loadOpen(query, rows);
  const byRun = new Map<RunId, Map<number, Step>>(wanted.map(({ runId }) => [runId, new Map()]));
  for (const row of rows)
    byRun.get(row.run_id)?.set(row.no, stepOf(row, open.get(keyOf(row.run_id, row.no)) ?? null));
  return byRun;
}

/** What each OPEN step is: its lease, or its ready row, or the lease that a claim has just made. */
async function loadOpen(
  query: Query,
  rows: readonly LoadedStepRow[],
): Promise<ReadonlyMap<string, Ready | Lease>> {
  const open = new Map<string, Ready | Lease>();
  for (const row of rows) if (hasLease(row)) open.set(keyOf(row.run_id, row.no), leaseOf(row));
  const missing = () => rows.filter((row) => isOpen(row) && !open.has(keyOf(row.run_id, row.no)));
  const keys = () =>
    columns(
      missing(),
      (row) => row.run_id,
      (row) => row.no,
    );
  if (missing().length > 0)
    for (const row of await query<ReadyColumns>("lock_ready_rows", keys()))
      open.set(keyOf(row.run_id, row.step_no), readyOf(row));
  if (missing().length > 0)
    for (const row of await query<LeaseRow & { run_id: string; step_no: number }>(
      "lock_leases",
      keys(),
    ))
      open.set(keyOf(row.run_id, row.step_no), leaseOf(row));
  return open;
}

function hasLease(row: LoadedStepRow): row is LoadedStepRow & LeaseRow {
  return row.lease_fence !== null;
}

function keyOf(runId: RunId, step: number): string {
  return `${runId}/${step}`;
}

interface AttemptRow {
  run_id: string;
  step_no: number;
  kind: number;
  fence: number;
  attempt: number;
  secret: string;
  started_at: number;
  outcome: number;
  code: string | null;
  digest: string | null;
}

async function loadAttempts(
  query: Query,
  keys: readonly AttemptKey[],
): Promise<ReadonlyMap<RunId, readonly EndedAttempt[]>> {
  const rows = await query<AttemptRow>(
    "load_attempts",
    columns(
      keys,
      (key) => key.runId,
      (key) => key.step,
      (key) => key.fence,
      (key) => taskKinds.code(key.task),
    ),
  );
  const byRun = new Map<RunId, EndedAttempt[]>();
  for (const row of rows) {
    const attempts = byRun.get(row.run_id) ?? [];
    byRun.set(row.run_id, attempts);
    attempts.push({
      step: row.step_no,
      kind: taskKinds.name(row.kind),
      fence: row.fence,
      attempt: row.attempt,
      secret: row.secret,
      startedAt: row.started_at,
      outcome: outcomes.name(row.outcome),
      lost: row.code === "drover.lost",
      digest: row.digest,
    });
  }
  return byRun;
}

interface LockedReadyRow {
  run_id: string;
  partition: number;
  step_no: number;
  lane: number;
  priority: number;
  kind: number;
  fence: number;
  attempt: number;
  until: number | null;
  avoid_session: string | null;
  avoid_until: number | null;
  attempt_ms: number;
  heartbeat_ms: number;
  cancel_ms: number;
}

async function lockReady(
  query: Query,
  lanes: readonly { readonly lane: number; readonly limit: number }[],
): Promise<readonly ReadyRow[]> {
  const rows = await query<LockedReadyRow>(
    "lock_ready",
    columns(
      lanes,
      (lane) => lane.lane,
      (lane) => lane.limit,
    ),
  );
  return rows.map((row) => ({
    runId: row.run_id,
    partition: row.partition,
    step: row.step_no,
    lane: row.lane,
    priority: row.priority,
    task: taskKinds.name(row.kind),
    fence: row.fence,
    attempt: row.attempt,
    until: row.until,
    avoid: avoidOf(row.avoid_session, row.avoid_until),
    attemptMs: row.attempt_ms,
    heartbeatMs: row.heartbeat_ms,
    cancelMs: row.cancel_ms,
  }));
}

async function grantLeases(query: Query, grants: readonly Grant[]): Promise<readonly Granted[]> {
  const rows = await query<{
    run_id: string;
    step_no: number;
    granted_at: number;
    attempt_by: number;
  }>(
    "grant_leases",
    columns(
      grants,
      (grant) => grant.ready.runId,
      (grant) => grant.ready.step,
      (grant) => grant.ready.fence,
      (grant) => grant.secret,
      (grant) => grant.session,
      (grant) => grant.agentId,
      (grant) => grant.pollSeq,
    ),
  );
  if (rows.length !== grants.length)
    throw new Error(`${grants.length} ready rows were locked, ${rows.length} could be granted`);
  const byKey = new Map(rows.map((row) => [keyOf(row.run_id, row.step_no), row]));
  return grants.map((grant) => {
    const row = byKey.get(keyOf(grant.ready.runId, grant.ready.step));
    if (!row) throw new Error(`the grant of step ${grant.ready.step} came back without its row`);
    return { ...grant, grantedAt: row.granted_at, attemptBy: row.attempt_by };
  });
}
