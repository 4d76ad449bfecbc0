// Writes the input to runs: answers, signals, decisions, changed inputs. Answers come before the
// closes that follow from them, and both before the escalations that the pass opens.
import { type EscalationAnswer, STAYS_OPEN } from "../escalation-changes.ts";
import type { OutboxKind } from "../outbox.ts";
import type { RowsOfEffects } from "../rows-of-effects.ts";
import type { RunId } from "../store.ts";
import { ofEach, writeEach, writeRows } from "./batch.ts";
import { answers, escalationReasons, outboxKinds } from "./codes.ts";
import { columns, payloadColumns } from "./columns.ts";
import type { Begun, Send } from "./transaction.ts";

type Write = Pick<Begun, "now" | "send">;

export async function writePeople(begun: Write, changes: readonly RowsOfEffects[]): Promise<void> {
  const { send } = begun;
  await writeEscalations(begun, changes);
  writeSignals(begun, changes);
  writeRows(
    send,
    "write_decisions",
    ofEach(changes, (change) =>
      change.decisions.map((one) => ({ ...one, payload: payloadColumns(one.form) })),
    ),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => row.approver,
    ({ row }) => row.approved,
    ({ row }) => row.comment,
    ({ row }) => row.payload.type,
    ({ row }) => row.payload.json,
    ({ row }) => row.payload.data,
    ({ row }) => row.at,
  );
  writeRows(
    send,
    "write_overrides",
    ofEach(changes, (change) =>
      change.overrides.map((one) => ({ ...one, payload: payloadColumns(one.input) })),
    ),
    ({ head }) => head.runId,
    ({ row }) => row.step,
    ({ row }) => row.strategy,
    ({ row }) => row.payload.type,
    ({ row }) => row.payload.json,
    ({ row }) => row.payload.data,
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
    ({ head }) => head.runId,
    ({ row }) => row.n,
    ({ row }) => row.closedBy,
    ({ row }) => row.answerCode,
    ({ row }) => row.by,
    ({ row }) => row.why,
    () => now,
  );
  const closing = ofEach(changes, (change) => change.escalationsClosed);
  const closed =
    closing.length > 0
      ? await send<EscalationKey>("close_escalations", [
          ...columns(
            closing,
            ({ head }) => head.runId,
            ({ row }) => row.step,
            ({ row }) => row.by,
            () => now,
          ),
          escalationReasons.code(STAYS_OPEN),
        ])
      : [];
  writeRows(
    send,
    "open_escalations",
    ofEach(changes, (change) =>
      change.escalations.map((one) => ({ ...one, ...answerColumns(one.closing?.answer ?? null) })),
    ),
    ({ head }) => head.runId,
    ({ row }) => row.n,
    ({ head }) => head.namespaceId,
    ({ row }) => row.step,
    ({ row }) => escalationReasons.code(row.reason),
    ({ row }) => row.message,
    ({ row }) => row.closing?.closedBy ?? null,
    ({ row }) => row.answerCode,
    ({ row }) => row.by,
    ({ row }) => row.why,
    ({ row }) => row.code,
    ({ head }) => head.partition,
    ({ row }) => row.wakeAt,
    ({ row }) => row.deadlineAt,
    () => now,
  );
  writeEach(
    send,
    "remind_escalations",
    ofEach(changes, (change) => change.escalationsReminded),
    ({ head }) => head.runId,
    ({ row }) => row.n,
    ({ row }) => row.wakeAt,
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
    "tell_of_escalations",
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
    ({ kind }) => outboxKinds.code(kind),
    (key) => key.run_id,
    (key) => key.n,
  );
}

function answerColumns(answer: EscalationAnswer | null) {
  return {
    answerCode: answer ? answers.code(answer.answer) : null,
    by: answer?.by ?? null,
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
    ({ head }) => head.runId,
    ({ row }) => row.seq,
    ({ row }) => row.id,
    ({ row }) => row.name,
    ({ row }) => row.columns.type,
    ({ row }) => row.columns.json,
    ({ row }) => row.columns.data,
    ({ row }) => row.takenBy,
    () => now,
  );
  writeEach(
    send,
    "take_signals",
    ofEach(changes, (change) => change.signalsTaken),
    ({ head }) => head.runId,
    ({ row }) => row.seq,
    ({ row }) => row.step,
  );
}
