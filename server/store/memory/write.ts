// Writes a pass: the rows of `rowChanges`, guarded as in SQL. A row that a change expects and that
// is not there, or the other way round, is a bug of ours: it throws, and the transaction leaves
// nothing.
import type { Attempt, Moment } from "../../core/attempt.ts";
import type { Intervention } from "../../core/history.ts";
import { isEnded, type Lease, type Ready } from "../../core/model.ts";
import { taskOf } from "../attempts.ts";
import {
  type Actor,
  type Due,
  MESSAGE_GRACE_MS,
  type PassRecord,
  type RowChanges,
  rowChanges,
} from "../changes.ts";
import { type EndedTask, endedTasks } from "../ended-tasks.ts";
import { KEPT_OPEN } from "../escalation-changes.ts";
import type { EscalationClaim, NewRun, RunHead, RunRef } from "../store.ts";
import { countRun } from "./activity.ts";
import { tellOfEnd, tellOfEscalation } from "./outbox.ts";
import { pinnedLane } from "./pins.ts";
import { workflowKey } from "./queue-tables.ts";
import type { QueueWorld } from "./queues.ts";
import { stepRow } from "./step-rows.ts";
import {
  attemptKey,
  attemptRowKey,
  type DueRow,
  interventionKey,
  type LeaseRow,
  messageKey,
  type ReadyRow,
  stepKey,
  type Tables,
} from "./tables.ts";
import { insertTriggered, setOff } from "./triggers.ts";

/** The transaction that writes. */
export interface Writing {
  readonly tables: Tables;
  readonly now: Moment;
  readonly transaction: number;
  /** The next number within it. */
  readonly nextNumber: () => number;
  readonly world: Pick<QueueWorld, "tables" | "lanes">;
}

/** A run may end in its first pass: every step of it is skipped. It is never open then. */
export function insertRun({ tables, now }: Writing, begun: NewRun): void {
  const { run, wakeAt, triggered: _, ...row } = begun;
  const { runId, partition } = row;
  const { state, version, warnings } = run;
  const ended = isEnded(state) ? { run: { state, version, warnings }, at: now } : null;
  const inserted = { ...row, cancelNote: null, childOf: run.parent, ended };
  tables.run.insert(inserted);
  insertTriggered(tables, begun);
  countRun(tables, inserted, "ACCEPTED", inserted.createdAt);
  if (ended) tellOfEnd(tables, inserted);
  if (ended) setOff(tables, now, inserted, ended.run.state);
  else tables.runOpen.insert({ runId, partition, run, wakeAt });
  if (ended) countRun(tables, inserted, ended.run.state.kind, now);
}

/** Returns the lanes of the leases that have gone and of new ready rows, and what has ended. */
export function writePass(
  writing: Writing,
  record: PassRecord,
): {
  readonly lanes: readonly number[];
  readonly filled: readonly number[];
  readonly ended: readonly EndedTask[];
} {
  const changes = rowChanges(record);
  writeRun(writing, changes);
  const { step: steps } = writing.tables;
  for (const step of changes.stepsNew) {
    const row = stepRow(changes.head.runId, step);
    if (changes.replaces) steps.put(row);
    else steps.insert(row);
  }
  for (const step of changes.stepsChanged) {
    steps.expect(stepKey(changes.head.runId, step.no));
    steps.put(stepRow(changes.head.runId, step));
  }
  const leases = writeMoving(writing, changes);
  writeAttempts(writing, changes, leases);
  writeInterventions(writing, changes);
  writeEscalations(writing, changes);
  writePeople(writing, changes);
  writeMessages(writing, changes);
  const lanes = [...leases.values()].map(({ lane }) => lane);
  const filled = changes.readyNew.flatMap(({ step }) => {
    const { lane } = writing.tables.ready.expect(stepKey(changes.head.runId, step));
    return lane > 0 ? [lane] : [];
  });
  return { lanes, filled, ended: endedTasks([changes], lanes) };
}

function writeRun({ tables, now }: Writing, changes: RowChanges): void {
  const { head, run, cancelNote, wakeAt } = changes;
  const noted = tables.run.expect(head.runId);
  const row = cancelNote === null ? noted : { ...noted, cancelNote };
  if (row !== noted) tables.run.put(row);
  if (run === null) return;
  const open = tables.runOpen.expect(head.runId);
  const { state, version, warnings } = run;
  if (isEnded(state)) {
    tables.runOpen.remove(head.runId);
    tables.run.put({ ...row, ended: { run: { state, version, warnings }, at: now } });
    tellOfEnd(tables, row);
    setOff(tables, now, row, state);
    countRun(tables, row, state.kind, now);
  } else {
    tables.runOpen.put({ ...open, run, wakeAt });
  }
}

/** Moves what is beside the step rows; returns the leases that have gone, by step. */
function writeMoving(writing: Writing, changes: RowChanges): ReadonlyMap<number, LeaseRow> {
  const { tables } = writing;
  const { runId, partition, priority } = changes.head;
  const at = (step: number): string => stepKey(runId, step);
  for (const { step, ready } of changes.readyGone)
    expectReady(tables.ready.remove(at(step)), ready);
  for (const { step, due } of changes.dueGone) expectDue(tables.due.remove(at(step)), due);
  const gone = new Map(
    changes.leaseGone.map(({ step, lease }) => {
      const row = tables.lease.remove(at(step));
      expectLease(row, lease);
      return [step, row];
    }),
  );
  for (const { step, lane, ready, task, workflow, slowAfterMs, plain } of changes.readyNew) {
    const { attemptMs, heartbeatMs, cancelMs, stallMs } = task.timeouts;
    const { namespaceId, definitionId } = changes.head;
    const of = { namespaceId, workflow, definitionId };
    const pinned = pinnedLane(writing.world, lane, of);
    const paused = tables.pausedWorkflow.get(workflowKey(of));
    tables.ready.insert({
      ...{ runId, partition, step, lane: paused ? -pinned : pinned, priority, ready },
      ...{ attemptMs, heartbeatMs, cancelMs, stallMs, slowAfterMs, plain },
      transaction: writing.transaction,
      number: writing.nextNumber(),
    });
  }
  for (const { step, ready } of changes.readyMoved) {
    const row = tables.ready.expect(at(step));
    expectReady(row, ready);
    const { alarms, until, wakeAt } = ready;
    tables.ready.put({ ...row, ready: { ...row.ready, alarms, until, wakeAt } });
  }
  for (const { step, lease } of changes.leaseMoved) {
    const row = tables.lease.expect(at(step));
    expectLease(row, lease);
    const { cancel, suspectAt, wakeAt } = lease;
    tables.lease.put({ ...row, lease: { ...row.lease, cancel, suspectAt, wakeAt } });
  }
  for (const { step, due } of changes.dueNew) tables.due.insert({ runId, partition, step, due });
  return gone;
}

function expectReady({ ready }: ReadyRow, { task, fence, attempt }: Ready): void {
  if (ready.task === task && ready.fence === fence && ready.attempt === attempt) return;
  throw new Error(
    `a ready row is for ${ready.task} ${ready.fence}, a pass expects ${task} ${fence}`,
  );
}

function expectDue({ due }: DueRow, expected: Due): void {
  if (nameOf(due) === nameOf(expected)) return;
  throw new Error(`a due row is for ${nameOf(due)}, a pass expects ${nameOf(expected)}`);
}

function nameOf(due: Due): string {
  return due.kind === "WAITING" ? due.on : `${due.task} ${due.cause}`;
}

function expectLease({ lease }: LeaseRow, { fence, secret }: Lease): void {
  if (lease.secret === secret) return;
  throw new Error(`a lease is another one of fence ${lease.fence}, a pass expects ${fence}`);
}

/** Appends what ended, with the progress and the details that its lease had. */
function writeAttempts(
  writing: Writing,
  changes: RowChanges,
  leases: ReadonlyMap<number, LeaseRow>,
): void {
  const { attempt: table } = writing.tables;
  const { runId } = changes.head;
  for (const { attempt, counted } of changes.attempts) {
    const beside = taskOf(attempt.kind) === null;
    const lease = beside ? undefined : leases.get(attempt.step);
    if (!beside) expectLeaseOf(changes.head, attempt, lease);
    // A report that is known already stays as it is; of what no agent holds the last word counts.
    const known = beside ? table.get(attemptRowKey(runId, attempt)) : undefined;
    if (known && known.attempt.secret !== null) continue;
    const { progress = null, details = null } = lease ?? {};
    const row = { runId, attempt, counted, number: writing.nextNumber(), progress, details };
    if (known) table.put(row);
    else table.insert(row);
  }
  for (const { attempt, counted } of changes.settled) {
    const row = table.expect(attemptKey(runId, attempt));
    const { endedAt, outcome, digest } = attempt;
    table.put({ ...row, counted, attempt: { ...row.attempt, endedAt, outcome, digest } });
  }
}

function expectLeaseOf({ runId }: RunHead, ended: Attempt, row: LeaseRow | undefined): void {
  if (row?.lease.fence === ended.fence && row.lease.secret === ended.secret) return;
  const found = row ? `is of fence ${row.lease.fence}` : "is not there";
  throw new Error(
    `attempt ${attemptKey(runId, ended)} ends, but the lease that it is to end ${found}`,
  );
}

function writeInterventions({ tables }: Writing, changes: RowChanges): void {
  for (const intervention of changes.interventions)
    recordIntervention(tables, changes.head, intervention, changes.actor);
}

/** Unique by what it is about, so that no two supervisors record one action. */
export function recordIntervention(
  tables: Tables,
  { runId, partition }: RunRef,
  intervention: Intervention,
  actor: Actor | null,
): void {
  const [node, epoch] = [actor?.node ?? null, actor?.epoch ?? null];
  const row = { ...intervention, runId, partition, node, epoch };
  if (!tables.intervention.get(interventionKey(row))) tables.intervention.insert(row);
}

/** Answers come before the closes that follow from them, and both before new questions. */
function writeEscalations({ tables, now }: Writing, changes: RowChanges): void {
  const { runId, partition, namespaceId } = changes.head;
  for (const { n, closedBy, answer } of changes.escalationsAnswered) {
    const row = tables.escalation.where("run", runId).find((one) => one.n === n);
    if (!row || row.closedAt !== null)
      throw new Error(`escalation ${n} of run ${runId} is answered and does not stand open`);
    tables.escalation.put({ ...row, closedAt: now, closedBy, answer, wakeAt: null });
    tellOfEscalation(tables, "escalation-closed", runId, n);
  }
  for (const { step, by } of changes.escalationsClosed)
    for (const row of tables.escalation.where("run", runId))
      if (row.step === step && row.closedAt === null && row.reason !== KEPT_OPEN) {
        tables.escalation.put({ ...row, closedAt: now, closedBy: by, wakeAt: null });
        tellOfEscalation(tables, "escalation-closed", runId, row.n);
      }
  for (const { n, wakeAt, tell } of changes.escalationsReminded) {
    const row = tables.escalation.expect(`${runId}/${n}`);
    if (row.closedBy !== null) throw new Error(`escalation ${n} of run ${runId} is closed`);
    tables.escalation.put({ ...row, wakeAt });
    if (tell) tellOfEscalation(tables, "escalation-reminder", runId, n);
  }
  for (const { closing, wakeAt, ...asked } of changes.escalations) {
    tables.escalation.insert({
      ...{ ...asked, runId, partition, namespaceId, openedAt: now },
      wakeAt: closing ? null : wakeAt,
      closedAt: closing ? now : null,
      closedBy: closing?.closedBy ?? null,
      claim: null,
      answer: closing?.answer ?? null,
    });
    if (!closing) tellOfEscalation(tables, "escalation-opened", runId, asked.n);
  }
}

function writePeople({ tables, now }: Writing, changes: RowChanges): void {
  const { runId } = changes.head;
  for (const signal of changes.signals) {
    const twice = tables.signal.where("run", runId).some(({ id }) => id === signal.id);
    if (twice) throw new Error(`run ${runId} already has a signal ${signal.id}`);
    tables.signal.insert({ ...signal, runId, at: now });
  }
  for (const { seq, step } of changes.signalsTaken) {
    const row = tables.signal.expect(`${runId}/${seq}`);
    if (row.takenBy !== null) throw new Error(`signal ${seq} of run ${runId} is taken twice`);
    tables.signal.put({ ...row, takenBy: step });
  }
  for (const { step, approver, approved, comment, form, at } of changes.decisions)
    tables.decision.put({ runId, step, approver, approved, comment, form, at });
  for (const { step, strategy, input } of changes.overrides)
    tables.override.put({ runId, step, strategy, input });
  for (const { step, of } of changes.kept) tables.kept.insert({ runId, step, of });
}

/** Takes an open escalation, or (`release`) gives it back. */
export function claimEscalation(
  tables: Tables,
  now: Moment,
  { runId, n, by, anyway }: EscalationClaim,
  release: boolean,
): { readonly by: string | null } | null {
  const row = tables.escalation.get(`${runId}/${n}`);
  if (!row || row.closedBy !== null) return { by: null };
  const { claim } = row;
  if (claim !== null && claim.by !== by && !anyway) return { by: claim.by };
  const mine = claim?.by === by ? claim : { by, at: now };
  tables.escalation.put({ ...row, claim: release ? null : mine });
  return null;
}

/** Numbered by transaction and place: no two are alike, and later ones are greater. */
function writeMessages(writing: Writing, changes: RowChanges): void {
  const { tables, now, transaction } = writing;
  const { runId: from } = changes.head;
  for (const no of changes.messagesApplied) tables.message.remove(messageKey(from, no));
  for (const { to, message } of changes.messages) {
    if (!tables.run.get(to.runId)) continue;
    const no = transaction * NUMBERS_PER_TRANSACTION + writing.nextNumber();
    tables.message.insert({ ...to, no, from, message, wakeAt: now + MESSAGE_GRACE_MS });
  }
}

const NUMBERS_PER_TRANSACTION = 1_000_000;
