// Appends to the history of runs: the interventions of supervisors (those of passes, and those that
// needed no pass), and what people add to a run (answers, signals, decisions, changed inputs).
import type { Intervention } from "../../core/model/history.ts";
import type { OutboxKind } from "../outbox.ts";
import type { Actor } from "../pass-record.ts";
import { type EscalationAnswer, type RowsOfEffects, STAYS_OPEN } from "../rows-of-effects.ts";
import type { RunId } from "../store.ts";
import { answers, escalationReasons, outboxKinds, rules } from "./codes.ts";
import { columns, ofEach, payloadColumns, writeEach, writeRows } from "./columns.ts";
import type { Query, Send, Transaction } from "./transaction.ts";

export function writeInterventions(send: Send, changes: readonly RowsOfEffects[]): void {
  writeRows(
    send,
    "insert_interventions",
    ofEach(changes, (change) => change.interventions),
    {
      run_id: ({ head }) => head.runId,
      step_no: ({ row }) => row.step ?? -1,
      fence: ({ row }) => row.fence,
      rule: ({ row }) => rules.code(row.rule),
      n: ({ row }) => row.n,
      partition: ({ head }) => head.partition,
      saw: ({ row }) => row.saw,
      did: ({ row }) => row.did,
      due_at: ({ row }) => row.dueAt,
      acted_at: ({ row }) => row.actedAt,
      node: ({ actor }) => actor?.node ?? null,
      epoch: ({ actor }) => actor?.epoch ?? null,
      namespace_id: ({ head }) => head.namespaceId,
    },
  );
}

/** Nothing is stored if the partition has another owner by now. */
export async function recordIntervention(
  query: Query,
  runId: RunId,
  { fence, rule, n, saw, did, dueAt }: Intervention,
  { node, epoch }: Actor,
): Promise<void> {
  await query("insert_intervention", {
    run_id: runId,
    fence,
    rule: rules.code(rule),
    n,
    saw,
    did,
    due_at: dueAt,
    node,
    epoch,
  });
}

type Write = Pick<Transaction, "now" | "send">;

/**
 * Writes the input to runs: answers, signals, decisions, changed inputs. Answers come before the
 * closes that follow from them, and both before the escalations that the pass opens.
 */
export async function writePeople(
  transaction: Write,
  changes: readonly RowsOfEffects[],
): Promise<void> {
  const { send } = transaction;
  await writeEscalations(transaction, changes);
  writeSignals(transaction, changes);
  publishApprovals(send, changes);
  writeRows(
    send,
    "write_decisions",
    ofEach(changes, (change) =>
      change.decisions.map((one) => ({ ...one, payload: payloadColumns(one.form) })),
    ),
    {
      run_id: ({ head }) => head.runId,
      step_no: ({ row }) => row.step,
      approver: ({ row }) => row.approver,
      verified: ({ row }) => row.verified ?? false,
      approved: ({ row }) => row.approved,
      comment: ({ row }) => row.comment,
      form_type: ({ row }) => row.payload.type,
      form_json: ({ row }) => row.payload.json,
      form_data: ({ row }) => row.payload.data,
      at: ({ row }) => row.at,
    },
  );
  writeRows(
    send,
    "write_overrides",
    ofEach(changes, (change) =>
      change.overrides.map((one) => ({ ...one, payload: payloadColumns(one.input) })),
    ),
    {
      run_id: ({ head }) => head.runId,
      step_no: ({ row }) => row.step,
      strategy: ({ row }) => row.strategy,
      input_type: ({ row }) => row.payload.type,
      input_json: ({ row }) => row.payload.json,
      input_data: ({ row }) => row.payload.data,
    },
  );
}

async function writeEscalations(
  { send, now }: Write,
  changes: readonly RowsOfEffects[],
): Promise<void> {
  writeEach(
    send,
    "answer_escalations",
    ofEach(changes, (change) =>
      change.escalationsAnswered.map((one) => ({ ...one, ...answerColumns(one.answer) })),
    ),
    {
      run_id: ({ head }) => head.runId,
      n: ({ row }) => row.n,
      closed_by: ({ row }) => row.closedBy,
      answer: ({ row }) => row.answerCode,
      answered_by: ({ row }) => row.by,
      answered_verified: ({ row }) => row.verified,
      answered_why: ({ row }) => row.why,
      at: () => now,
    },
  );
  const closing = ofEach(changes, (change) => change.escalationsClosed);
  const closed =
    closing.length > 0
      ? await send<EscalationKey>("close_escalations", {
          ...columns(closing, {
            run_id: ({ head }) => head.runId,
            step_no: ({ row }) => row.step,
            closed_by: ({ row }) => row.by,
            at: () => now,
          }),
          reason: escalationReasons.code(STAYS_OPEN),
        })
      : [];
  writeRows(
    send,
    "open_escalations",
    ofEach(changes, (change) =>
      change.escalations.map((one) => ({ ...one, ...answerColumns(one.closing?.answer ?? null) })),
    ),
    {
      run_id: ({ head }) => head.runId,
      n: ({ row }) => row.n,
      namespace_id: ({ head }) => head.namespaceId,
      step_no: ({ row }) => row.step,
      reason: ({ row }) => escalationReasons.code(row.reason),
      message: ({ row }) => row.message,
      closed_by: ({ row }) => row.closing?.closedBy ?? null,
      answer: ({ row }) => row.answerCode,
      answered_by: ({ row }) => row.by,
      answered_verified: ({ row }) => row.verified,
      answered_why: ({ row }) => row.why,
      code: ({ row }) => row.code,
      partition: ({ head }) => head.partition,
      wake_at: ({ row }) => row.wakeAt,
      deadline_at: ({ row }) => row.deadlineAt,
      at: () => now,
    },
  );
  writeEach(
    send,
    "remind_escalations",
    ofEach(changes, (change) => change.escalationsReminded),
    { run_id: ({ head }) => head.runId, n: ({ row }) => row.n, wake_at: ({ row }) => row.wakeAt },
  );
  publishPeople(send, changes, closed);
}

interface EscalationKey {
  readonly run_id: RunId;
  readonly n: number;
}

/** Hooks get the escalations that were opened and are still open, reminders, and closed ones. */
function publishPeople(
  send: Send,
  changes: readonly RowsOfEffects[],
  closed: readonly EscalationKey[],
): void {
  const keys = (
    kind: OutboxKind,
    of: (change: RowsOfEffects) => readonly { readonly n: number }[],
  ) => ofEach(changes, of).map(({ head, row }) => ({ kind, run_id: head.runId, n: row.n }));
  writeRows(
    send,
    "insert_escalation_outbox",
    [
      ...keys("escalation-opened", ({ escalations }) =>
        escalations.filter(({ closing }) => closing === null),
      ),
      ...keys("escalation-reminder", ({ escalationsReminded }) =>
        escalationsReminded.filter((one) => one.tell),
      ),
      ...keys("escalation-closed", ({ escalationsAnswered }) => escalationsAnswered),
      ...closed.map((key) => ({ ...key, kind: "escalation-closed" as const })),
    ],
    { kind: ({ kind }) => outboxKinds.code(kind), run_id: (key) => key.run_id, n: (key) => key.n },
  );
}

function publishApprovals(send: Send, changes: readonly RowsOfEffects[]): void {
  writeRows(
    send,
    "insert_approval_outbox",
    ofEach(changes, (change) => change.approvalsRequested),
    {
      run_id: ({ head }) => head.runId,
      step_no: ({ row }) => row.step,
      deadline_at: ({ row }) => row.deadlineAt,
    },
  );
}

function answerColumns(answer: EscalationAnswer | null) {
  return {
    answerCode: answer ? answers.code(answer.answer) : null,
    by: answer?.by ?? null,
    verified: answer?.verified ?? false,
    why: answer?.why ?? null,
  };
}

function writeSignals({ send, now }: Write, changes: readonly RowsOfEffects[]): void {
  writeRows(
    send,
    "insert_signals",
    ofEach(changes, (change) =>
      change.signals.map((one) => ({ ...one, columns: payloadColumns(one.payload) })),
    ),
    {
      run_id: ({ head }) => head.runId,
      seq: ({ row }) => row.seq,
      id: ({ row }) => row.id,
      name: ({ row }) => row.name,
      payload_type: ({ row }) => row.columns.type,
      payload_json: ({ row }) => row.columns.json,
      payload_data: ({ row }) => row.columns.data,
      taken_by: ({ row }) => row.takenBy,
      at: () => now,
    },
  );
  writeEach(
    send,
    "take_signals",
    ofEach(changes, (change) => change.signalsTaken),
    { run_id: ({ head }) => head.runId, seq: ({ row }) => row.seq, step_no: ({ row }) => row.step },
  );
}
