// Writes a pass: the pages of its run with their derived rows (pages.ts), and the rows that its
// effects append. If a row that a change expects is missing, or one that it creates exists, that is
// a defect: the call throws, and the transaction leaves nothing.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Intervention } from "../../core/model/history.ts";
import { isEnded } from "../../core/model/model.ts";
import { applyPass, pagesTouched } from "../../core/page/apply-pass.ts";
import { firstPage, type Page } from "../../core/page/page.ts";
import type { Actor, PassRecord } from "../pass-record.ts";
import {
  type EndedTask,
  endedTasks,
  MESSAGE_GRACE_MS,
  type RowsOfEffects,
  rowsOfEffects,
  STAYS_OPEN,
} from "../rows-of-effects.ts";
import type { EscalationClaim, NewRun, RunRef } from "../store.ts";
import { publishApproval, publishEnd, publishEscalation } from "./outbox.ts";
import { putApplied, putPage, type Writing } from "./pages.ts";
import { interventionKey, messageKey, pageOf, type Tables } from "./tables.ts";
import { insertTriggered, setOff } from "./triggers.ts";

/** A run may end in its first pass, if every step of it is skipped. Then it is never open. */
export function insertRun(writing: Writing, given: NewRun): void {
  const { tables, now } = writing;
  const { run, wakeAt: _, triggered: __, ...row } = given;
  const { state } = run;
  tables.run.insert(row);
  putPage(writing, row, firstPage(given, now));
  insertTriggered(tables, given);
  if (isEnded(state)) {
    publishEnd(tables, row);
    setOff(tables, now, row, state);
  }
}

/** Returns the lanes of ended leases and of new ready rows, and the tasks that have ended. */
export function writePass(
  writing: Writing,
  record: PassRecord,
): {
  readonly lanes: readonly number[];
  readonly filled: readonly number[];
  readonly ended: readonly EndedTask[];
} {
  const { tables, now } = writing;
  const { head, before, after } = record;
  const changes = rowsOfEffects(record);
  const { state } = after.run;
  const ends = isEnded(state) && !isEnded(before.run.state);
  const applied = applyPass(pagesFor(tables, record), { ...record, endedAt: ends ? now : null });
  const { filled, leasesGone } = putApplied(writing, head, applied);
  if (ends) {
    const row = tables.run.expect(head.runId);
    publishEnd(tables, row);
    setOff(tables, now, row, state);
  }
  writeInterventions(writing, changes);
  writeEscalations(writing, changes);
  writePeople(writing, changes);
  writeMessages(writing, changes);
  const lanes = leasesGone.map(({ terms }) => terms.lane);
  return { lanes, filled, ended: endedTasks(record, leasesGone) };
}

/** The pages that contain what the pass has changed. */
function pagesFor(tables: Tables, record: PassRecord): ReadonlyMap<number, Page> {
  return new Map(
    pagesTouched(record).flatMap((no) => {
      const page = pageOf(tables, record.head.runId, no);
      return page ? [[no, page] as const] : [];
    }),
  );
}

function writeInterventions({ tables }: Writing, changes: RowsOfEffects): void {
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
  const node = actor?.node ?? null;
  const epoch = actor?.epoch ?? null;
  const row = { ...intervention, runId, partition, node, epoch };
  if (!tables.intervention.get(interventionKey(row))) tables.intervention.insert(row);
}

/** Answers come before the closes that follow from them, and both before new escalations. */
function writeEscalations({ tables, now }: Writing, changes: RowsOfEffects): void {
  const { runId, partition, namespaceId } = changes.head;
  for (const { n, closedBy, answer } of changes.escalationsAnswered) {
    const row = tables.escalation.where("run", runId).find((one) => one.n === n);
    if (!row || row.closedAt !== null)
      throw new Error(`escalation ${n} of run ${runId} is answered and no longer open`);
    tables.escalation.put({ ...row, closedAt: now, closedBy, answer, wakeAt: null });
    publishEscalation(tables, "escalation-closed", runId, n);
  }
  for (const { step, by } of changes.escalationsClosed)
    for (const row of tables.escalation.where("run", runId))
      if (row.step === step && row.closedAt === null && row.reason !== STAYS_OPEN) {
        tables.escalation.put({ ...row, closedAt: now, closedBy: by, wakeAt: null });
        publishEscalation(tables, "escalation-closed", runId, row.n);
      }
  for (const { n, wakeAt, tell } of changes.escalationsReminded) {
    const row = tables.escalation.expect(`${runId}/${n}`);
    if (row.closedBy !== null) throw new Error(`escalation ${n} of run ${runId} is closed`);
    tables.escalation.put({ ...row, wakeAt });
    if (tell) publishEscalation(tables, "escalation-reminder", runId, n);
  }
  for (const { closing, wakeAt, ...asked } of changes.escalations) {
    tables.escalation.insert({
      ...asked,
      runId,
      partition,
      namespaceId,
      openedAt: now,
      wakeAt: closing ? null : wakeAt,
      closedAt: closing ? now : null,
      closedBy: closing?.closedBy ?? null,
      claim: null,
      answer: closing?.answer ?? null,
    });
    if (!closing) publishEscalation(tables, "escalation-opened", runId, asked.n);
  }
}

function writePeople({ tables, now }: Writing, changes: RowsOfEffects): void {
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
  for (const { kind: _, verified = false, ...decision } of changes.decisions)
    tables.decision.put({ ...decision, runId, verified });
  for (const request of changes.approvalsRequested) publishApproval(tables, runId, request);
  for (const { step, strategy, input } of changes.overrides)
    tables.override.put({ runId, step, strategy, input });
  for (const { step, madeByRun } of changes.reusedSteps)
    tables.reusedSteps.insert({ runId, step, madeByRun });
}

/** Claims an open escalation, or (`release`) gives it back. */
export function claimEscalation(
  tables: Tables,
  now: EpochMs,
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

/** Numbered by transaction and index: all numbers differ, and later ones are greater. */
function writeMessages(writing: Writing, changes: RowsOfEffects): void {
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
