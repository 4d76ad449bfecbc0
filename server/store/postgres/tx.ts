// The transaction of the contract on PostgreSQL: locks and loads, then writes and claims.
import type { EndedAttempt } from "../../core/attempt.ts";
import type { Mark } from "../marks.ts";
import type {
  AttemptKey,
  Grant,
  Granted,
  KeyHolder,
  KeyReservation,
  LockedReady,
  ReadyRow,
  RunHead,
  RunId,
  RunRef,
  Tx,
} from "../store.ts";
import { type EndedAttemptRow, endedAttemptOf } from "./attempt-rows.ts";
import { takeTrials } from "./circuits.ts";
import { taskKinds } from "./codes.ts";
import { byRun, columns } from "./columns.ts";
import { loadFacts } from "./facts.ts";
import { loadItemOutputs } from "./item-outputs.ts";
import { laneQuestionsOf } from "./lane-questions.ts";
import { rangeArrays } from "./marks.ts";
import { loadMessages } from "./messages.ts";
import { loadDecisions, loadEscalations, loadSignals } from "./people.ts";
import { lockQueues, writeBuckets } from "./queues.ts";
import {
  type EndedRunRow,
  endedHeadOf,
  headOf,
  type OpenRunRow,
  type ParentRow,
} from "./run-rows.ts";
import { schedulesLockedBy } from "./schedules.ts";
import { slotsOf } from "./slots.ts";
import { avoidOf } from "./step-rows.ts";
import { loadSteps } from "./steps-locked.ts";
import { removeStrays, storedRuns } from "./stored-runs.ts";
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
      return withParents(query, rows);
    },
    endedRuns: (runs) => endedRuns(query, runs),
    loadSteps: (wanted) => loadSteps(query, wanted),
    lockStored: async (runs) => {
      const refs = columns(
        runs,
        (run) => run.partition,
        (run) => run.runId,
      );
      await query("lock_runs_wait", refs);
      return storedRuns(query, runs);
    },
    removeStrays: (runs) => removeStrays(query, runs),
    restoreLanes: async (lanes) =>
      void (await query(
        "restore_lanes",
        columns(
          lanes,
          (lane) => lane.lane,
          (lane) => lane.namespaceId,
          (lane) => lane.queue,
          (lane) => lane.task,
        ),
      )),
    lastBeats: async (sessions) => {
      const rows = await query<{ session: string; last_beat_at: number }>("last_beats", [sessions]);
      return new Map(rows.map((row) => [row.session, row.last_beat_at]));
    },
    loadAttempts: (keys) => loadAttempts(query, keys),
    loadFacts: (wanted) => loadFacts(query, wanted),
    loadSignals: (runs) => loadSignals(query, runs),
    loadDecisions: (runs) => loadDecisions(query, runs),
    loadEscalations: (wanted) => loadEscalations(query, wanted),
    loadItemOutputs: (maps) => loadItemOutputs(query, maps),
    loadMessages: (runs) => loadMessages(query, runs),
    ...slotsOf(query),
    ...laneQuestionsOf(query),
    ...schedulesLockedBy(query),
    insertRuns: (runs) => insertRuns(query, runs),
    write: (passes) => writePasses(query, passes),
    lockReady: (lanes, queuesLocked = false, marks = []) =>
      lockReady(query, lanes, queuesLocked, marks),
    lockQueues: (queues) => lockQueues(query, queues),
    writeBuckets: (queues) => writeBuckets(query, queues),
    takeTrials: (trials) => takeTrials(query, trials),
    grant: (grants) => grantLeases(query, grants),
  } satisfies Tx);
}

/** Of children, whose parents are asked for; a flight without any asks nothing. */
async function withParents(query: Query, rows: readonly OpenRunRow[]): Promise<readonly RunHead[]> {
  const children = rows.filter(({ depth }) => depth !== null).map(({ run_id }) => run_id);
  const found = children.length === 0 ? [] : await query<ParentRow>("parents_of_runs", [children]);
  const parents = new Map(found.map((row) => [row.run_id, row]));
  return rows.map((row) => headOf(row, parents.get(row.run_id)));
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

async function loadAttempts(
  query: Query,
  keys: readonly AttemptKey[],
): Promise<ReadonlyMap<RunId, readonly EndedAttempt[]>> {
  const rows = await query<EndedAttemptRow>("load_attempts", [
    ...columns(
      keys,
      (key) => key.runId,
      (key) => key.step,
      (key) => key.fence,
    ),
    taskKinds.names.map(taskKinds.code),
  ]);
  return byRun(rows, endedAttemptOf);
}

/** Of a lane that gave nothing yet: its queue has limits. */
interface LimitedRow {
  asked: number;
  namespace_id: number;
  queue: string;
  run_id: null;
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
  ready_at: number;
  until: number | null;
  avoid_session: string | null;
  avoid_until: number | null;
  attempt_ms: number;
  heartbeat_ms: number;
  cancel_ms: number;
  stall_ms: number | null;
}

async function lockReady(
  query: Query,
  lanes: readonly { readonly lane: number; readonly limit: number }[],
  queuesLocked: boolean,
  marks: readonly Mark[],
): Promise<LockedReady> {
  const found = await query<LockedReadyRow | LimitedRow>("lock_ready", [
    ...columns(
      lanes,
      (lane) => lane.lane,
      (lane) => lane.limit,
    ),
    queuesLocked,
    ...rangeArrays(lanes, marks),
  ]);
  const limited = found.flatMap((row) => (row.run_id === null ? [row] : []));
  return {
    rows: found.flatMap((row) => (row.run_id === null ? [] : [readyRowOf(row)])),
    limited: limited.map(({ asked: lane, namespace_id: namespaceId, queue }) => {
      return { lane, namespaceId, queue };
    }),
  };
}

function readyRowOf(row: LockedReadyRow): ReadyRow {
  return {
    runId: row.run_id,
    partition: row.partition,
    step: row.step_no,
    lane: row.lane,
    priority: row.priority,
    task: taskKinds.name(row.kind),
    fence: row.fence,
    attempt: row.attempt,
    readyAt: row.ready_at,
    until: row.until,
    avoid: avoidOf(row.avoid_session, row.avoid_until),
    attemptMs: row.attempt_ms,
    heartbeatMs: row.heartbeat_ms,
    cancelMs: row.cancel_ms,
    stallMs: row.stall_ms,
  };
}

function keyOf(runId: RunId, step: number): string {
  return `${runId}/${step}`;
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
