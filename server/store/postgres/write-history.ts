// Appends what ended, with its outcome, and what supervisors did.
import { attemptRowNumber } from "../attempts.ts";
import type { RowChanges } from "../changes.ts";
import { endedTasks } from "../ended-tasks.ts";
import { type Ended, NOTHING_ENDED } from "../written.ts";
import { chargedColumn, outcomeColumns } from "./attempt-rows.ts";
import { type Of, ofEach, writeEach, writeRows } from "./batch.ts";
import { attemptKinds, rules } from "./codes.ts";
import { columns, type Value } from "./columns.ts";
import type { Send } from "./transaction.ts";

/** Returns the lanes of queues with limits of which leases have gone, and what has ended. */
export async function writeAttempts(send: Send, changes: readonly RowChanges[]): Promise<Ended> {
  const gone = ofEach(changes, (change) => change.leaseGone);
  const kept = ofEach(changes, (change) => change.attempts).map(attemptColumns);
  const sent = gone.length + kept.length > 0 ? endAttempts(send, gone, kept) : [];
  settleAttempts(send, changes);
  const [answer] = await sent;
  return answer ? { freed: answer.freed, tasks: endedTasks(changes, answer.lanes) } : NOTHING_ENDED;
}

interface EndAttemptsRow {
  gone: number;
  freed: number[];
  lanes: number[];
}

function endAttempts(
  send: Send,
  gone: readonly Of<RowChanges["leaseGone"][number]>[],
  kept: readonly ReturnType<typeof attemptColumns>[],
): Promise<readonly EndAttemptsRow[]> {
  const values = [
    ...columns(
      gone,
      ({ head }) => head.runId,
      ({ row }) => row.step,
      ({ row }) => row.lease.secret,
    ),
    ...columns(
      kept,
      (row) => row.runId,
      (row) => row.step,
      (row) => row.fence,
      (row) => row.kind,
      (row) => row.attempt,
      (row) => row.agentId,
      (row) => row.session,
      (row) => row.secret,
      (row) => row.startedAt,
      ...endColumns,
    ),
  ];
  return send<EndAttemptsRow>("end_attempts", values, ([answer]) => {
    if (answer?.gone !== gone.length)
      throw new Error(`${gone.length} leases should have ended, ${answer?.gone} were there`);
  });
}

function settleAttempts(send: Send, changes: readonly RowChanges[]): void {
  writeEach(
    send,
    "settle_attempts",
    ofEach(changes, (change) => change.settled).map(attemptColumns),
    (row) => row.runId,
    (row) => row.step,
    (row) => row.fence,
    (row) => row.kind,
    ...endColumns,
  );
}

/** How it ended, in the order of `end_attempts` and of `settle_attempts`. */
const endColumns: readonly ((row: ReturnType<typeof attemptColumns>) => Value)[] = [
  (row) => row.endedAt,
  (row) => row.outcome,
  (row) => row.class,
  (row) => row.code,
  (row) => row.message,
  (row) => row.noEffect,
  (row) => row.retryAfterMs,
  (row) => row.digest,
  (row) => row.outputType,
  (row) => row.outputJson,
  (row) => row.outputData,
  (row) => row.n,
  (row) => row.charged,
];

function attemptColumns({ head, row }: Of<RowChanges["attempts"][number]>) {
  return {
    ...row.attempt,
    runId: head.runId,
    kind: attemptKinds.code(row.attempt.kind),
    n: attemptRowNumber(row.attempt),
    charged: chargedColumn(row.counted),
    ...outcomeColumns(row.attempt.outcome),
  };
}

export function writeInterventions(send: Send, changes: readonly RowChanges[]): void {
  writeRows(
    send,
    "insert_interventions",
    ofEach(changes, (change) => change.interventions),
    ({ head }) => head.runId,
    ({ row }) => row.step ?? -1,
    ({ row }) => row.fence,
    ({ row }) => rules.code(row.rule),
    ({ row }) => row.n,
    ({ head }) => head.partition,
    ({ row }) => row.saw,
    ({ row }) => row.did,
    ({ row }) => row.dueAt,
    ({ row }) => row.actedAt,
    ({ actor }) => actor?.node ?? null,
    ({ actor }) => actor?.epoch ?? null,
    ({ head }) => head.namespaceId,
  );
}
