// Writes what passes changed: one statement a table, each for the whole batch, and only where there
// is something to write. Rows are deleted before their successors are inserted under the same key.
import {
  attemptRowNumber,
  type PassRecord,
  type RowChanges,
  rowChanges,
  stored,
  waitingFor,
} from "../changes.ts";
import type { NewRun, RunHead } from "../store.ts";
import {
  attemptKinds,
  cancelCauses,
  cancels,
  effects,
  escalationReasons,
  forwards,
  reasons,
  rules,
  runStates,
  taskKinds,
  undos,
} from "./codes.ts";
import { columns, payloadColumns } from "./columns.ts";
import { outcomeColumns, runStateColumns } from "./rows.ts";
import type { Query } from "./transaction.ts";

export async function insertRuns(query: Query, runs: readonly NewRun[]): Promise<void> {
  const rows = runs.map((run) => ({ ...run, payload: payloadColumns(run.input) }));
  await query(
    "insert_runs",
    columns(
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
    ),
  );
  await query(
    "insert_open_runs",
    columns(
      runs.map((run) => ({ ...run, ...openRunColumns(run, run.wakeAt) })),
      (row) => row.partition,
      (row) => row.runId,
      (row) => row.namespaceId,
      (row) => row.definitionId,
      (row) => row.priority,
      ...runColumns,
    ),
  );
}

type OpenRunColumns = ReturnType<typeof openRunColumns>;

function openRunColumns({ run }: Pick<RunHead, "run">, wakeAt: number | null) {
  return { ...run, ...runStateColumns(run.state), code: runStates.code(run.state.kind), wakeAt };
}

const runColumns: readonly ((row: OpenRunColumns) => unknown)[] = [
  (row) => row.code,
  (row) => row.version,
  (row) => row.stepsLeft,
  (row) => row.moving,
  (row) => row.undosLeft,
  (row) => row.undone,
  (row) => row.verdict,
  (row) => row.undoes,
  (row) => row.deadline,
  (row) => row.deadlineLeftMs,
  (row) => row.settleUntil,
  (row) => row.wakeAt,
];

export async function writePasses(query: Query, records: readonly PassRecord[]): Promise<void> {
  const changes = records.map(rowChanges);
  await writeRuns(query, changes);
  await writeSteps(query, changes);
  await writeAttempts(query, changes);
  await writeMoving(query, changes);
  await writeHistory(query, changes);
}

async function writeRuns(query: Query, changes: readonly RowChanges[]): Promise<void> {
  const open = changes.flatMap(({ head, run, ended, wakeAt }) =>
    run && !ended ? [{ ...head, ...openRunColumns({ run }, wakeAt) }] : [],
  );
  if (open.length > 0)
    await writeAll(
      query,
      "update_open_runs",
      columns(
        open,
        (row) => row.partition,
        (row) => row.runId,
        ...runColumns,
      ),
    );
  const ended = changes.flatMap(({ head, run, ended }) => (run && ended ? [{ head, run }] : []));
  if (ended.length > 0)
    await query(
      "end_runs",
      columns(
        ended,
        ({ head }) => head.partition,
        ({ head }) => head.runId,
        ({ run }) => runStates.code(run.state.kind),
        ({ run }) => ("reason" in run.state ? reasons.code(run.state.reason) : null),
        ({ run }) => run.version,
      ),
    );
  const notes = changes.filter((change) => change.cancelNote !== null);
  if (notes.length > 0)
    await query(
      "note_cancels",
      columns(
        notes,
        ({ head }) => head.runId,
        (row) => row.cancelNote,
      ),
    );
}

async function writeSteps(query: Query, changes: readonly RowChanges[]): Promise<void> {
  const rows = ofEach(changes, (change) => change.steps);
  if (rows.length === 0) return;
  await query(
    "write_steps",
    columns(
      rows,
      ({ head }) => head.runId,
      ({ row }) => row.no,
      ({ row }) => forwards.code(stored(row.forward.kind)),
      ({ row }) => undos.code(stored(row.undo.kind)),
      ({ row }) => waitingFor(row),
      ({ row }) => effects.code(row.effect),
      ({ row }) => row.fence,
      ({ row }) => row.attempt,
      ({ row }) => row.lost,
      ({ row }) => `{${row.tries.join(",")}}`,
      ({ row }) => row.firstReadyAt,
      ({ row }) => row.settleUntil,
      ({ row }) => row.resultFence,
    ),
  );
}

async function writeAttempts(query: Query, changes: readonly RowChanges[]): Promise<void> {
  const gone = ofEach(changes, (change) => change.leaseGone);
  const kept = ofEach(changes, (change) => change.attempts).map(attemptColumns);
  if (gone.length > 0 || kept.length > 0) {
    const [result] = await query<{ gone: number }>("end_attempts", [
      ...columns(
        gone,
        ({ head }) => head.runId,
        ({ row }) => row.step,
        ({ row }) => row.fence,
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
      ),
    ]);
    if (result?.gone !== gone.length)
      throw new Error(`${gone.length} leases should have ended, ${result?.gone} were there`);
  }
  const settled = ofEach(changes, (change) => change.settled).map(attemptColumns);
  if (settled.length > 0)
    await query(
      "settle_attempts",
      columns(
        settled,
        (row) => row.runId,
        (row) => row.step,
        (row) => row.fence,
        (row) => row.kind,
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
      ),
    );
}

function attemptColumns({ head, row }: Of<RowChanges["attempts"][number]>) {
  return {
    ...row,
    runId: head.runId,
    kind: attemptKinds.code(row.kind),
    n: attemptRowNumber(row),
    ...outcomeColumns(row.outcome),
  };
}

async function writeMoving(query: Query, changes: readonly RowChanges[]): Promise<void> {
  const readyGone = ofEach(changes, (change) => change.readyGone);
  if (readyGone.length > 0)
    await writeAll(
      query,
      "delete_ready",
      columns(
        readyGone,
        ({ head }) => head.runId,
        ({ row }) => row,
      ),
    );
  const dueGone = ofEach(changes, (change) => change.dueGone);
  if (dueGone.length > 0)
    await writeAll(
      query,
      "delete_due",
      columns(
        dueGone,
        ({ head }) => head.runId,
        ({ row }) => row,
      ),
    );
  await insertReady(query, changes);
  const readyMoved = ofEach(changes, (change) => change.readyMoved);
  if (readyMoved.length > 0)
    await writeAll(
      query,
      "move_ready",
      columns(
        readyMoved,
        ({ head }) => head.runId,
        ({ row }) => row.step,
        ({ row }) => row.alarms,
        ({ row }) => row.wakeAt,
      ),
    );
  const leaseMoved = ofEach(changes, (change) => change.leaseMoved);
  if (leaseMoved.length > 0)
    await writeAll(
      query,
      "move_leases",
      columns(
        leaseMoved,
        ({ head }) => head.runId,
        ({ row }) => row.step,
        ({ row }) => row.lease.fence,
        ({ row }) => cancels.code(row.lease.cancel.kind),
        ({ row }) =>
          row.lease.cancel.kind === "none" ? null : cancelCauses.code(row.lease.cancel.cause),
        ({ row }) => (row.lease.cancel.kind === "asked" ? row.lease.cancel.at : null),
        ({ row }) => row.lease.wakeAt,
      ),
    );
  const dueNew = ofEach(changes, (change) => change.dueNew);
  if (dueNew.length > 0)
    await query(
      "insert_due",
      columns(
        dueNew,
        ({ head }) => head.runId,
        ({ row }) => row.step,
        ({ head }) => head.partition,
        ({ row }) => row.due.wakeAt,
      ),
    );
}

async function insertReady(query: Query, changes: readonly RowChanges[]): Promise<void> {
  const rows = ofEach(changes, (change) => change.readyNew);
  if (rows.length === 0) return;
  await query(
    "insert_ready",
    columns(
      rows,
      ({ head }) => head.runId,
      ({ row }) => row.step,
      ({ head }) => head.partition,
      ({ row }) => row.lane,
      ({ head }) => head.priority,
      ({ row }) => taskKinds.code(row.ready.task),
      ({ row }) => row.ready.fence,
      ({ row }) => row.ready.attempt,
      ({ row }) => row.ready.readyAt,
      ({ row }) => row.ready.until,
      ({ row }) => row.ready.avoid?.session ?? null,
      ({ row }) => row.ready.avoid?.until ?? null,
      ({ row }) => row.ready.alarms,
      ({ row }) => row.task.timeouts.attemptMs,
      ({ row }) => row.task.timeouts.heartbeatMs,
      ({ row }) => row.task.timeouts.cancelMs,
      ({ row }) => row.ready.wakeAt,
    ),
  );
}

async function writeHistory(query: Query, changes: readonly RowChanges[]): Promise<void> {
  const interventions = ofEach(changes, (change) => change.interventions);
  if (interventions.length > 0)
    await query(
      "insert_interventions",
      columns(
        interventions,
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
      ),
    );
  const closed = ofEach(changes, (change) => change.escalationsClosed);
  if (closed.length > 0)
    await query(
      "close_escalations",
      columns(
        closed,
        ({ head }) => head.runId,
        ({ row }) => row.step,
        ({ row }) => row.by,
      ),
    );
  const opened = ofEach(changes, (change) => change.escalations);
  if (opened.length > 0)
    await query(
      "open_escalations",
      columns(
        opened,
        ({ head }) => head.runId,
        ({ row }) => row.step,
        ({ row }) => escalationReasons.code(row.reason),
        ({ row }) => row.message,
        ({ row }) => row.closedBy,
      ),
    );
}

/**
 * The guard of each row: a statement that found fewer rows than the pass was decided by has met a
 * broken invariant, and the flight changes nothing.
 */
async function writeAll(query: Query, name: string, values: readonly unknown[][]): Promise<void> {
  const rows = await query(name, values);
  const expected = values[0]?.length ?? 0;
  if (rows.length !== expected)
    throw new Error(`${name} should have met ${expected} rows and met ${rows.length}`);
}

interface Of<Row> {
  readonly head: RunHead;
  readonly actor: RowChanges["actor"];
  readonly row: Row;
}

/** The rows of all changes, each with the run that it is of. */
function ofEach<Row>(
  changes: readonly RowChanges[],
  rows: (change: RowChanges) => readonly Row[],
): readonly Of<Row>[] {
  return changes.flatMap((change) =>
    rows(change).map((row) => ({ head: change.head, actor: change.actor, row })),
  );
}
