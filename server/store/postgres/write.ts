// Writes what passes changed: one statement a table, each for the whole batch, and only where there
// is something to write. They are sent and not waited for: who reads next, or commits, hears of one
// that failed. Rows are deleted before their successors are inserted under the same key.
import { runWakeAt } from "../../core/evolve.ts";
import { isEnded, type Run, type Step } from "../../core/model.ts";
import { type PassRecord, type RowChanges, rowChanges } from "../changes.ts";
import { heldTask, needsOf, stored } from "../step-row.ts";
import type { NewRun, RunHead } from "../store.ts";
import type { Written } from "../written.ts";
import { type Of, ofEach, writeEach, writeRows } from "./batch.ts";
import {
  attemptKinds,
  cancelCauses,
  cancels,
  forwards,
  policies,
  reasons,
  runStates,
  taskKinds,
  undos,
} from "./codes.ts";
import { payloadColumns, type Value } from "./columns.ts";
import { writeMessages } from "./messages.ts";
import type { ReadyRows } from "./ready-rows.ts";
import { runStateColumns } from "./run-rows.ts";
import { dueCode, strategyCode } from "./step-rows.ts";
import type { Send } from "./transaction.ts";
import { writeAttempts, writeInterventions } from "./write-history.ts";
import { writePeople } from "./write-people.ts";

/** A run may end in its first pass: every step of it is skipped. It is never open then. */
export function insertRuns(send: Send, runs: readonly NewRun[]): void {
  const rows = runs.map((run) => ({ ...run, payload: payloadColumns(run.input) }));
  writeRows(
    send,
    "insert_runs",
    rows,
    (row) => row.runId,
    (row) => row.namespaceId,
    (row) => row.partition,
    (row) => row.definitionId,
    (row) => row.workflow,
    (row) => row.version,
    (row) => row.key,
    (row) => row.priority,
    (row) => JSON.stringify(row.labels),
    (row) => row.payload.type,
    (row) => row.payload.json,
    (row) => row.payload.data,
    (row) => row.createdAt,
    (row) => row.notify?.hook ?? null,
    (row) => row.notify?.url ?? null,
    (row) => row.concurrency?.key ?? null,
    (row) => row.concurrency?.limit ?? null,
    (row) => (row.concurrency ? policies.code(row.concurrency.policy) : null),
    (row) => row.parent?.runId ?? null,
    (row) => row.parent?.stepId ?? null,
    (row) => row.run.parent?.step ?? null,
    (row) => row.run.parent?.fence ?? null,
    (row) => row.run.parent?.until ?? null,
    (row) => row.trace?.traceparent ?? null,
    (row) => row.trace?.tracestate ?? null,
  );
  writeRows(
    send,
    "insert_reruns",
    runs.flatMap(({ runId, rerunOf }) => (rerunOf ? [{ runId, rerunOf }] : [])),
    (row) => row.runId,
    ({ rerunOf }) => rerunOf.runId,
    ({ rerunOf }) => rerunOf.from,
  );
  writeRows(
    send,
    "insert_triggered",
    runs.flatMap(({ runId, triggered }) => (triggered ? [{ runId, ...triggered }] : [])),
    (row) => row.runId,
    (row) => row.trigger,
    (row) => row.ofRun,
    (row) => row.depth,
  );
  const ended = runs.filter(({ run }) => isEnded(run.state));
  insertOpen(
    send,
    runs.flatMap((run) => (ended.includes(run) ? [] : [openRow(run, run.run, run.wakeAt)])),
  );
  endRuns(
    send,
    ended.map((head) => ({ head, run: head.run })),
  );
}

export function reopenRuns(send: Send, runs: readonly RunHead[]): void {
  insertOpen(
    send,
    runs.map((head) => openRow(head, head.run, runWakeAt(head.run))),
  );
}

function insertOpen(send: Send, rows: readonly OpenRow[]): void {
  writeRows(
    send,
    "insert_open_runs",
    rows,
    ...openColumns,
    (row) => row.head.namespaceId,
    (row) => row.head.definitionId,
    (row) => row.head.priority,
    (row) => row.run.parent?.depth ?? null,
  );
}

type OpenRow = ReturnType<typeof openRow>;

function openRow(head: RunHead, run: RunHead["run"], wakeAt: number | null) {
  return { head, run, state: runStateColumns(run.state), wakeAt };
}

const openColumns: readonly ((row: OpenRow) => Value)[] = [
  (row) => row.head.partition,
  (row) => row.head.runId,
  (row) => row.state.state,
  (row) => row.run.version,
  (row) => row.run.stepsLeft,
  (row) => row.run.finallyLeft,
  (row) => row.run.moving,
  (row) => row.run.asking,
  (row) => row.run.undosLeft,
  (row) => row.run.undone,
  (row) => row.run.warnings,
  (row) => row.run.escalations,
  (row) => row.run.pivoted,
  (row) => row.run.keyed,
  (row) => row.state.undoes,
  (row) => row.state.verdict,
  (row) => row.state.endsAs,
  (row) => row.state.stage,
  (row) => row.state.deadline,
  (row) => row.state.leftMs,
  (row) => row.state.since,
  (row) => row.state.settleUntil,
  (row) => row.wakeAt,
];

export async function writePasses(
  send: Send,
  ready: Pick<ReadyRows, "make" | "placeReady">,
  records: readonly PassRecord[],
): Promise<Written> {
  const changes = records.map(rowChanges);
  // A pass finds as rows what one before it has made.
  void ready.placeReady();
  const ended = writeAttempts(send, changes);
  // If it fails, so does what waits for the statement.
  ended.catch(() => undefined);
  writeRuns(send, changes);
  writeSteps(send, changes);
  writeMoving(send, changes);
  writeInterventions(send, changes);
  writeMessages(send, changes);
  await writePeople(send, changes);
  return { ended, filled: ready.make(changes) };
}

function writeRuns(send: Send, changes: readonly RowChanges[]): void {
  writeEach(
    send,
    "update_open_runs",
    changes.flatMap(({ head, run, ended, wakeAt }) =>
      run && !ended ? [openRow(head, run, wakeAt)] : [],
    ),
    ...openColumns,
  );
  endRuns(
    send,
    changes.flatMap(({ head, run, ended }) => (run && ended ? [{ head, run }] : [])),
  );
  writeRows(
    send,
    "note_cancels",
    changes.filter((change) => change.cancelNote !== null),
    ({ head }) => head.runId,
    (row) => row.cancelNote,
  );
}

function endRuns(
  send: Send,
  ended: readonly { readonly head: RunHead; readonly run: Run }[],
): void {
  writeRows(
    send,
    "end_runs",
    ended,
    ({ head }) => head.partition,
    ({ head }) => head.runId,
    ({ run }) => runStates.code(run.state.kind),
    ({ run }) => ("reason" in run.state ? reasons.code(run.state.reason) : null),
    ({ run }) => run.version,
    ({ run }) => run.warnings,
  );
}

function writeSteps(send: Send, changes: readonly RowChanges[]): void {
  const gone = ofEach(
    changes.filter(({ replaces }) => replaces),
    (change) => change.stepsNew,
  );
  writeRows(
    send,
    "remove_steps",
    gone,
    ({ head }) => head.runId,
    ({ row }) => row.no,
  );
  const made = ofEach(changes, (change) => change.stepsNew.map(stepRow));
  writeRows(send, "insert_steps", made, ...stepColumns);
  const changed = ofEach(changes, (change) => change.stepsChanged.map(stepRow));
  writeEach(send, "update_steps", changed, ...stepColumns);
  writeRows(
    send,
    "insert_kept",
    ofEach(changes, (change) => change.kept),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => row.of,
  );
}

function stepRow(step: Step) {
  return { ...step, needs: needsOf(step), held: heldTask(step) };
}

const stepColumns: readonly ((of: Of<ReturnType<typeof stepRow>>) => Value)[] = [
  ({ head }) => head.runId,
  ({ row }) => row.no,
  ({ row }) => forwards.code(stored(row.forward.kind)),
  ({ row }) => undos.code(stored(row.undo.kind)),
  ({ row }) => (row.held === null ? null : taskKinds.code(row.held)),
  ({ row }) => row.needs.waitingFor,
  ({ row }) => row.needs.ok,
  ({ row }) => row.needs.skipped,
  ({ row }) => `{${row.strategies.map(strategyCode).join(",")}}`,
  ({ row }) => row.fence,
  ({ row }) => row.attempt,
  ({ row }) => row.lost,
  ({ row }) => `{${row.tries.join(",")}}`,
  ({ row }) => (row.doubt === null ? null : JSON.stringify(row.doubt)),
  ({ row }) => row.verifies,
  ({ row }) => row.firstReadyAt,
  ({ row }) => row.settleUntil,
  ({ row }) => row.result?.fence ?? null,
  ({ row }) => (row.result ? attemptKinds.code(row.result.kind) : null),
  ({ row }) => row.result?.n ?? null,
  ({ row }) => (row.items === null ? null : JSON.stringify(row.items)),
];

function writeMoving(send: Send, changes: readonly RowChanges[]): void {
  writeEach(
    send,
    "delete_ready",
    ofEach(changes, (change) => change.readyGone),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => taskKinds.code(row.ready.task),
    ({ row }) => row.ready.fence,
    ({ row }) => row.ready.attempt,
  );
  writeEach(
    send,
    "delete_due",
    ofEach(changes, (change) => change.dueGone),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => dueCode(row.due),
  );
  writeEach(
    send,
    "move_ready",
    ofEach(changes, (change) => change.readyMoved),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => taskKinds.code(row.ready.task),
    ({ row }) => row.ready.fence,
    ({ row }) => row.ready.attempt,
    ({ row }) => row.ready.alarms,
    ({ row }) => row.ready.wakeAt,
    ({ row }) => row.ready.until,
  );
  writeEach(
    send,
    "move_leases",
    ofEach(changes, (change) => change.leaseMoved),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => row.lease.secret,
    ({ row }) => cancels.code(row.lease.cancel.kind),
    ({ row: { lease } }) =>
      lease.cancel.kind === "none" ? null : cancelCauses.code(lease.cancel.cause),
    ({ row: { lease } }) => (lease.cancel.kind === "asked" ? lease.cancel.at : null),
    ({ row }) => row.lease.suspectAt,
    ({ row }) => row.lease.wakeAt,
  );
  writeRows(
    send,
    "insert_due",
    ofEach(changes, (change) => change.dueNew),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ head }) => head.partition,
    ({ row }) => dueCode(row.due),
    ({ row }) => row.due.wakeAt,
  );
}
