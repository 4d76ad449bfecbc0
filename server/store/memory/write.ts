// Writes a pass: the rows of `rowChanges`, guarded as in SQL. A row that a change expects and that
// is not there, or the other way round, is a bug of ours: it throws, and the transaction leaves
// nothing.
import { type Attempt, isEnded, type Moment } from "../../core/model.ts";
import { attemptRowNumber, type PassRecord, type RowChanges, rowChanges } from "../changes.ts";
import type { NewRun, RunHead } from "../store.ts";
import { stepRow } from "./step-rows.ts";
import { attemptKey, interventionKey, type LeaseRow, stepKey, type Tables } from "./tables.ts";

/** The transaction that writes. */
export interface Writing {
  readonly tables: Tables;
  readonly now: Moment;
  readonly transaction: number;
  /** The next number within it. */
  readonly nextNumber: () => number;
}

export function insertRun({ tables }: Writing, { run, wakeAt, ...row }: NewRun): void {
  const { runId, partition } = row;
  tables.run.insert({ ...row, cancelNote: null, ended: null });
  tables.runOpen.insert({ runId, partition, run, wakeAt });
}

export function writePass(writing: Writing, record: PassRecord): void {
  const changes = rowChanges(record);
  writeRun(writing, changes);
  for (const step of changes.steps) writing.tables.step.put(stepRow(changes.head.runId, step));
  const leases = writeMoving(writing, changes);
  writeAttempts(writing, changes, leases);
  writeInterventions(writing, changes);
  writeEscalations(writing, record);
}

function writeRun({ tables, now }: Writing, changes: RowChanges): void {
  const { head, run, cancelNote, wakeAt } = changes;
  const noted = tables.run.expect(head.runId);
  const row = cancelNote === null ? noted : { ...noted, cancelNote };
  if (row !== noted) tables.run.put(row);
  if (run === null) return;
  const open = tables.runOpen.expect(head.runId);
  const { state, version } = run;
  if (isEnded(state)) {
    tables.runOpen.remove(head.runId);
    tables.run.put({ ...row, ended: { run: { state, version }, at: now } });
  } else {
    tables.runOpen.put({ ...open, run, wakeAt });
  }
}

/** Moves what is beside the step rows; returns the leases that have gone, by step. */
function writeMoving(writing: Writing, changes: RowChanges): ReadonlyMap<number, LeaseRow> {
  const { tables } = writing;
  const { runId, partition, priority } = changes.head;
  const at = (step: number): string => stepKey(runId, step);
  for (const step of changes.readyGone) tables.ready.remove(at(step));
  for (const step of changes.dueGone) tables.due.remove(at(step));
  const gone = new Map(
    changes.leaseGone.map(({ step, fence }) => [step, removeLease(tables, at(step), fence)]),
  );
  for (const { step, lane, ready, task } of changes.readyNew) {
    const { attemptMs, heartbeatMs, cancelMs } = task.timeouts;
    tables.ready.insert({
      ...{ runId, partition, step, lane, priority, ready, attemptMs, heartbeatMs, cancelMs },
      transaction: writing.transaction,
      number: writing.nextNumber(),
    });
  }
  for (const { step, alarms, wakeAt } of changes.readyMoved) {
    const row = tables.ready.expect(at(step));
    tables.ready.put({ ...row, ready: { ...row.ready, alarms, wakeAt } });
  }
  for (const { step, lease } of changes.leaseMoved) {
    const row = tables.lease.expect(at(step));
    if (row.lease.secret !== lease.secret)
      throw new Error(
        `lease ${at(step)} has fence ${row.lease.fence}, a pass moves ${lease.fence}`,
      );
    const { cancel, wakeAt } = lease;
    tables.lease.put({ ...row, lease: { ...row.lease, cancel, wakeAt } });
  }
  for (const { step, due } of changes.dueNew) tables.due.insert({ runId, partition, step, due });
  return gone;
}

function removeLease(tables: Tables, at: string, fence: number): LeaseRow {
  const row = tables.lease.remove(at);
  if (row.lease.fence !== fence)
    throw new Error(`lease ${at} has fence ${row.lease.fence}, a pass ends ${fence}`);
  return row;
}

/** Appends what ended, with the progress and the details that its lease had. */
function writeAttempts(
  writing: Writing,
  changes: RowChanges,
  leases: ReadonlyMap<number, LeaseRow>,
): void {
  const { attempt: table } = writing.tables;
  const { runId } = changes.head;
  for (const attempt of changes.attempts) {
    const beside = attempt.kind === "late" || attempt.kind === "engine";
    const lease = beside ? undefined : leases.get(attempt.step);
    if (!beside) expectLeaseOf(changes.head, attempt, lease);
    // What is known already stays as it is: an agent may repeat its report.
    const key = attemptKey(runId, attempt, attemptRowNumber(attempt));
    if (beside && table.get(key)) continue;
    const { progress = null, details = null } = lease ?? {};
    table.insert({ runId, attempt, number: writing.nextNumber(), progress, details });
  }
  for (const attempt of changes.settled) {
    const row = table.expect(attemptKey(runId, attempt));
    const { endedAt, outcome, digest } = attempt;
    table.put({ ...row, attempt: { ...row.attempt, endedAt, outcome, digest } });
  }
}

function expectLeaseOf({ runId }: RunHead, ended: Attempt, row: LeaseRow | undefined): void {
  if (row?.lease.fence === ended.fence && row.lease.secret === ended.secret) return;
  const found = row ? `is of fence ${row.lease.fence}` : "is not there";
  throw new Error(
    `attempt ${attemptKey(runId, ended)} ends, but the lease that it is to end ${found}`,
  );
}

/** Unique by what they are about, so that no two supervisors record one action. */
function writeInterventions({ tables }: Writing, changes: RowChanges): void {
  const { head, actor } = changes;
  for (const intervention of changes.interventions) {
    const row = {
      ...intervention,
      runId: head.runId,
      partition: head.partition,
      node: actor?.node ?? null,
      epoch: actor?.epoch ?? null,
    };
    if (!tables.intervention.get(interventionKey(row))) tables.intervention.insert(row);
  }
}

/** In the order of the effects: a pass may close one question and ask the next, or the reverse. */
function writeEscalations({ tables, now }: Writing, { head, effects }: PassRecord): void {
  const { runId } = head;
  for (const effect of effects) {
    const rows = tables.escalation.where("run", runId);
    if (effect.kind === "escalated") {
      const { step, reason, message } = effect;
      const n = rows.length + 1;
      const open = { openedAt: now, closedAt: null, closedBy: null };
      tables.escalation.insert({ runId, n, step, reason, message, ...open });
    }
    if (effect.kind === "escalation-closed")
      for (const row of rows)
        if (row.step === effect.step && row.closedAt === null)
          tables.escalation.put({ ...row, closedAt: now, closedBy: effect.by });
  }
}
