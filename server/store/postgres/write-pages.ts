// Writes pages with the difference that they make in the derived rows. Statements are sent and not
// waited for: the next read, or the commit, fails if one of them has failed.
import type { EpochMs } from "../../core/model/attempt.ts";
import { isFinal, isUndoLeft, type Step } from "../../core/model/model.ts";
import { itemOf } from "../../core/model/step-key.ts";
import { waitBits } from "../../core/model/waits.ts";
import { type EncodedPage, encodePage } from "../../core/page/codec.ts";
import {
  type DerivedChanges,
  type DerivedLease,
  type DerivedReady,
  readyRows,
  storedWakeAt,
} from "../../core/page/derived-rows.ts";
import { isItemPage, type PageHead } from "../../core/page/page.ts";
import type { RunId, RunRef } from "../store.ts";
import { type Cell, changesOf } from "./cells.ts";
import { runStates } from "./codes.ts";
import { type Columns, columns, writeRows } from "./columns.ts";
import type { Send, Transaction } from "./transaction.ts";

interface RowOf<Row> {
  readonly cell: Cell;
  readonly row: Row;
}

/**
 * `headOf`: the head of a page's run. Returns the lanes of ready rows: of those that are made, and
 * of others on the same pages, which claims have passed over while the pages were locked.
 */
export function writePages(
  { now, send }: Pick<Transaction, "now" | "send">,
  dirty: readonly Cell[],
  headOf: (runId: RunId) => PageHead,
): Promise<readonly number[]> {
  const changes = dirty.map((cell) => ({ cell, of: changesOf(cell) }));
  writeTexts(send, dirty, now);
  const rows = <Row>(pick: (of: DerivedChanges) => readonly Row[]): readonly RowOf<Row>[] =>
    changes.flatMap(({ cell, of }) => pick(of).map((row) => ({ cell, row })));
  writeLeases(send, rows);
  writeRows(
    send,
    "delete_ready",
    rows(({ readyGone }) => readyGone),
    keyColumns,
  );
  writeRows(
    send,
    "move_ready",
    rows(({ readyMoved }) => readyMoved),
    { ...keyColumns, until: ({ row }) => row.ready.until },
  );
  const made = rows(({ readyNew }) => readyNew).map(({ cell, row }) => {
    const { runId, partition } = cell;
    return { head: { runId, partition, ...headOf(runId) }, row };
  });
  const left = changes.flatMap(({ cell, of }) => {
    const fresh = new Set(of.readyNew.map(({ step }) => step));
    return readyRows(cell.page).flatMap(({ step, terms }) => (fresh.has(step) ? [] : terms.lane));
  });
  if (made.length === 0) return Promise.resolve([...new Set(left)]);
  const placed = send<{ lane: number | null }>("insert_ready", columns(made, readyColumns));
  return placed.then((found) => [
    ...new Set([...found.flatMap(({ lane }) => lane ?? []), ...left]),
  ]);
}

/** Afterwards the pages are as they are stored. */
function writeTexts(send: Send, dirty: readonly Cell[], now: EpochMs): void {
  const insert: PageToWrite[] = [];
  const update: PageToWrite[] = [];
  for (const cell of dirty) {
    const encoded = encodePage(cell.page, cell.stored?.encoded ?? null);
    const one = pageToWrite(cell, encoded, now);
    (cell.stored ? update : insert).push(one);
    cell.stored = { version: one.version + 1, encoded, wakeAt: one.wakeAt };
    cell.derived = null;
  }
  if (insert.length > 0)
    void send("insert_pages", {
      ...columns(insert, { ...pageColumns, ...insertColumns }),
      states: insert.map(({ text }) => text).join(BETWEEN_TEXTS),
    });
  if (update.length > 0)
    void send("update_pages", {
      ...columns(update, { ...pageColumns, version: (one) => one.version }),
      states: update.map(({ text }) => text).join(BETWEEN_TEXTS),
    });
}

/** JSON has no raw control characters but white space, so texts need no quotes of an array. */
const BETWEEN_TEXTS = "\u0001";

type Rows = <Row>(pick: (of: DerivedChanges) => readonly Row[]) => readonly RowOf<Row>[];

function writeLeases(send: Send, rows: Rows): void {
  const gone = rows(({ leasesGone }) => leasesGone);
  // Leases that have ended with a report are deleted already.
  const left = gone.filter(({ cell, row }) => !cell.ended.delete(row.lease.secret));
  writeRows(send, "delete_leases", left, keyColumns);
  const leases = rows(({ leasesNew }) => leasesNew).map(({ cell, row }) => ({ head: cell, row }));
  writeRows(send, "insert_leases", leases, leaseColumns);
  writeRows(
    send,
    "cancel_leases",
    rows(({ leasesCancelled }) => leasesCancelled),
    { ...keyColumns, cancel: ({ row }) => row.lease.cancel.kind },
  );
}

const keyColumns: Columns<RowOf<{ readonly step: number }>> = {
  run_id: ({ cell }) => cell.runId,
  step_no: ({ row }) => row.step,
};

interface PageToWrite extends RunRef {
  readonly no: number;
  /** The version that it had. */
  readonly version: number;
  readonly wakeAt: EpochMs | null;
  readonly head: PageHead | null;
  readonly settled: boolean;
  readonly text: string;
}

function pageToWrite(
  { runId, partition, no, stored, page }: Cell,
  encoded: EncodedPage,
  now: EpochMs,
): PageToWrite {
  return {
    runId,
    partition,
    no,
    head: page.head,
    text: encoded.text,
    version: stored?.version ?? 0,
    wakeAt: storedWakeAt(stored?.wakeAt ?? null, page, now),
    settled: isItemPage(no) && [...page.steps.values()].every(({ step }) => isSettled(step)),
  };
}

function isSettled({ no, forward, undo, settleUntil }: Step): boolean {
  return itemOf(no) > 0 && isFinal(forward) && !isUndoLeft(undo) && settleUntil === null;
}

const pageColumns: Columns<PageToWrite> = {
  run_id: (one) => one.runId,
  no: (one) => one.no,
  wake_at: (one) => one.wakeAt,
  run_state: (one) => (one.head === null ? null : runStates.code(one.head.run.state.kind)),
  waits: (one) => (one.head === null ? null : waitBits(one.head.run.waits)),
  ended_at: (one) => one.head?.endedAt ?? null,
  settled: (one) => one.settled,
};

const insertColumns: Columns<PageToWrite> = {
  partition: (one) => one.partition,
  namespace_id: (one) => one.head?.namespaceId ?? null,
  definition_id: (one) => one.head?.definitionId ?? null,
};

export const readyColumns: Columns<{
  readonly head: RunRef & Pick<PageHead, "priority" | "namespaceId" | "definitionId">;
  readonly row: DerivedReady;
}> = {
  run_id: ({ head }) => head.runId,
  step_no: ({ row }) => row.step,
  partition: ({ head }) => head.partition,
  lane: ({ row }) => row.terms.lane,
  priority: ({ head }) => head.priority,
  ready_at: ({ row }) => row.ready.readyAt,
  until: ({ row }) => row.ready.until,
  namespace_id: ({ head }) => head.namespaceId,
  definition_id: ({ head }) => head.definitionId,
};

export const leaseColumns: Columns<{ readonly head: RunRef; readonly row: DerivedLease }> = {
  run_id: ({ head }) => head.runId,
  step_no: ({ row }) => row.step,
  partition: ({ head }) => head.partition,
  lane: ({ row }) => row.terms.lane,
  fence: ({ row }) => row.lease.fence,
  session: ({ row }) => row.lease.session,
  secret: ({ row }) => row.lease.secret,
  poll_seq: ({ row }) => row.lease.pollSeq,
  granted_at: ({ row }) => row.lease.grantedAt,
  heartbeat_ms: ({ row }) => row.lease.heartbeatMs,
  agent_id: ({ row }) => row.lease.agentId,
  cancel: ({ row }) => row.lease.cancel.kind,
};
