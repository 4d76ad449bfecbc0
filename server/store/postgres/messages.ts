// Messages between runs as rows: written with the change that causes them, applied by a pass of the
// receiving run.
import type { Message, StoredMessage } from "../../core/model/message.ts";
import { MESSAGE_GRACE_MS, type RowsOfEffects } from "../rows-of-effects.ts";
import type { RunId } from "../store.ts";
import { messageKinds } from "./codes.ts";
import { byRun, columns, ofEach, writeEach } from "./columns.ts";
import type { Query, Send } from "./transaction.ts";

interface MessageRow {
  run_id: RunId;
  no: number;
  source: RunId;
  kind: number;
  undo: boolean | null;
  step_key: number | null;
  fence: number | null;
}

export async function loadMessages(
  query: Query,
  runs: readonly RunId[],
): Promise<ReadonlyMap<RunId, readonly StoredMessage[]>> {
  const rows = await query<MessageRow>("messages_of_runs", { run_ids: runs });
  return byRun(rows, (row) => ({ no: row.no, from: row.source, message: messageOf(row) }));
}

function messageOf(row: MessageRow): Message {
  const kind = messageKinds.name(row.kind);
  switch (kind) {
    case "cancel":
      return { kind, undo: row.undo ?? true };
    case "child-ended":
      return { kind, step: row.step_key ?? 0, fence: row.fence ?? 0, child: null };
    default:
      return { kind };
  }
}

export function writeMessages(send: Send, changes: readonly RowsOfEffects[]): void {
  writeEach(
    send,
    "take_messages",
    ofEach(changes, (change) => change.messagesApplied),
    { run_id: ({ head }) => head.runId, no: ({ row }) => row },
  );
  const sent = ofEach(changes, (change) => change.messages);
  if (sent.length === 0) return;
  void send("insert_messages", {
    ...columns(sent, {
      partition: ({ row }) => row.to.partition,
      run_id: ({ row }) => row.to.runId,
      source: ({ head }) => head.runId,
      kind: ({ row }) => messageKinds.code(row.message.kind),
      undo: ({ row }) => (row.message.kind === "cancel" ? row.message.undo : null),
      step_key: ({ row }) => (row.message.kind === "child-ended" ? row.message.step : null),
      fence: ({ row }) => (row.message.kind === "child-ended" ? row.message.fence : null),
    }),
    grace: MESSAGE_GRACE_MS,
  });
}
