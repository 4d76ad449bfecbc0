// Writes what the world has said to runs: answers, signals, decisions, changed inputs. Answers come
// before the closes that follow from them, and both before the questions that the pass asks.
import type { RowChanges } from "../changes.ts";
import { type EscalationAnswer, KEPT_OPEN } from "../escalation-changes.ts";
import { ofEach, writeEach, writeRows } from "./batch.ts";
import { answers, escalationReasons } from "./codes.ts";
import { columns, payloadColumns } from "./columns.ts";
import type { Query } from "./transaction.ts";

export async function writePeople(query: Query, changes: readonly RowChanges[]): Promise<void> {
  await writeEscalations(query, changes);
  await writeSignals(query, changes);
  await writeRows(
    query,
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
  await writeRows(
    query,
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

async function writeEscalations(query: Query, changes: readonly RowChanges[]): Promise<void> {
  await writeEach(
    query,
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
  );
  const closed = ofEach(changes, (change) => change.escalationsClosed);
  if (closed.length > 0)
    await query("close_escalations", [
      ...columns(
        closed,
        ({ head }) => head.runId,
        ({ row }) => row.step,
        ({ row }) => row.by,
      ),
      escalationReasons.code(KEPT_OPEN),
    ]);
  await writeRows(
    query,
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
  );
}

function answerColumns(answer: EscalationAnswer | null) {
  return {
    answerCode: answer ? answers.code(answer.answer) : null,
    by: answer?.by ?? null,
    why: answer?.why ?? null,
  };
}

async function writeSignals(query: Query, changes: readonly RowChanges[]): Promise<void> {
  await writeRows(
    query,
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
  );
  await writeEach(
    query,
    "take_signals",
    ofEach(changes, (change) => change.signalsTaken),
    ({ head }) => head.runId,
    ({ row }) => row.seq,
    ({ row }) => row.step,
  );
}
