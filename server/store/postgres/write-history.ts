// Appends what ended, with its outcome, and what supervisors did.
import { attemptRowNumber } from "../attempts.ts";
import type { AttemptChange, RowChanges } from "../changes.ts";
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
  const leases = new Set(gone.map(({ row: { lease } }) => `${lease.task} ${lease.secret}`));
  const attempts = ofEach(changes, (change) => change.attempts);
  const isOfLease = ({ row: { attempt } }: Of<AttemptChange>) =>
    leases.has(`${attempt.kind} ${attempt.secret}`);
  const ended = attempts.filter(isOfLease).map(attemptColumns);
  const sent = gone.length > 0 ? endAttempts(send, gone, ended) : [];
  const kept = attempts.filter((one) => !isOfLease(one)).map(attemptColumns);
  writeRows(send, "keep_attempts", kept, ...attemptColumnsOf);
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
  ended: readonly ReturnType<typeof attemptColumns>[],
): Promise<readonly EndAttemptsRow[]> {
  const values = [
    ...columns(
      gone,
      ({ head }) => head.runId,
      ({ row }) => row.step,
      ({ row }) => row.lease.secret,
    ),
    ...columns(ended, ...attemptColumnsOf),
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

/** How it ended, in the order of the statements that write it. */
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

/** In the order of `end_attempts`, after its leases, and of `keep_attempts`. */
const attemptColumnsOf: readonly ((row: ReturnType<typeof attemptColumns>) => Value)[] = [
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
];

function attemptColumns({ head, row }: Of<AttemptChange>) {
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
