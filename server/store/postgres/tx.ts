// The transaction of the contract on PostgreSQL: locks and loads, then writes and claims.
import type { EndedAttempt } from "../../core/attempt.ts";
import type { TakenPartition } from "../partition-session.ts";
import type {
  AttemptKey,
  KeyHolder,
  KeyReservation,
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
import { loadMessages } from "./messages.ts";
import { loadDecisions, loadEscalations, loadSignals } from "./people.ts";
import { lockQueues, writeBuckets } from "./queues.ts";
import { createReadyRows } from "./ready-rows.ts";
import {
  type EndedRunRow,
  endedHeadOf,
  headOf,
  type OpenRunRow,
  type ParentRow,
} from "./run-rows.ts";
import { schedulesLockedBy } from "./schedules.ts";
import { slotsOf } from "./slots.ts";
import { loadSteps } from "./steps-locked.ts";
import { removeStrays, storedRuns } from "./stored-runs.ts";
import type { Begun, Query } from "./transaction.ts";
import { insertRuns, reopenRuns, writePasses } from "./write.ts";

export function createTx(begun: Begun): Tx {
  const { query, send } = begun;
  const ready = createReadyRows(begun);
  return Object.freeze({
    get now() {
      return begun.now;
    },
    holdWriter: ({ node, slot }, taken) =>
      query<TakenPartition>("hold_writer", [
        ...[node, slot],
        ...columns(
          taken,
          (one) => one.partition,
          (one) => one.epoch,
        ),
      ]),
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
    ...slotsOf(begun),
    ...laneQuestionsOf(begun),
    ...schedulesLockedBy(begun),
    insertRuns: async (runs) => insertRuns(send, runs),
    reopenRuns: async (runs) => reopenRuns(send, runs),
    write: (passes) => writePasses(send, ready, passes),
    lockReady: ready.lockReady,
    lockQueues: (queues) => lockQueues(query, queues),
    writeBuckets: async (queues) => writeBuckets(send, queues),
    takeTrials: (trials) => takeTrials(query, trials),
    grant: ready.grant,
    placeReady: ready.placeReady,
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
