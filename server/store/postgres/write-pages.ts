// Writes pages with the difference that they make in the derived rows. Statements are sent and not
// waited for: the next read, or the commit, fails if one of them has failed.
import type { EpochMs } from "../../core/attempt.ts";
import { isFinal, isUndoLeft, type Step } from "../../core/model.ts";
import { type EncodedPage, encodePage } from "../../core/page/codec.ts";
import {
  type DerivedChanges,
  type DerivedLease,
  type DerivedReady,
  readyRows,
  storedWakeAt,
} from "../../core/page/derived-rows.ts";
import { isItemPage, type PageHead } from "../../core/page/page.ts";
import { itemOf } from "../../core/step-key.ts";
import type { RunId, RunRef } from "../store.ts";
import { writeRows } from "./batch.ts";
import { type Cell, changesOf } from "./cells.ts";
import { runStates } from "./codes.ts";
import { columns } from "./columns.ts";
import type { Begun, Send } from "./transaction.ts";

interface RowOf<Row> {
  readonly cell: Cell;
  readonly row: Row;
}

/**
 * `headOf`: the head of a page's run. Returns the lanes of ready rows: of those that are made, and
 * of others on the same pages, which claims have passed over while the pages were locked.
 */
export function writePages(
  { now, send }: Pick<Begun, "now" | "send">,
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
    ...keyColumns,
  );
  writeRows(
    send,
    "move_ready",
    rows(({ readyMoved }) => readyMoved),
    ...keyColumns,
    ({ row }) => row.ready.until,
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
  const placed = send<{ lane: number }>("insert_ready", columns(made, ...readyColumns));
  return placed.then((found) => [...new Set([...found.map(({ lane }) => lane), ...left])]);
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
    void send("insert_pages", [
      ...columns(insert, ...pageColumns, ...insertColumns),
      insert.map(({ text }) => text).join(BETWEEN_TEXTS),
    ]);
  if (update.length > 0)
    void send("update_pages", [
      ...columns(update, ...pageColumns, (one) => one.version),
      update.map(({ text }) => text).join(BETWEEN_TEXTS),
    ]);
}

/** JSON has no raw control characters but white space, so texts need no quotes of an array. */
const BETWEEN_TEXTS = "\u0001";

type Rows = <Row>(pick: (of: DerivedChanges) => readonly Row[]) => readonly RowOf<Row>[];

function writeLeases(send: Send, rows: Rows): void {
  const gone = rows(({ leasesGone }) => leasesGone);
  // Leases that have ended with a report are deleted already.
  const left = gone.filter(({ cell, row }) => !cell.ended.delete(row.lease.secret));
  writeRows(send, "delete_leases", left, ...keyColumns);
  const leases = rows(({ leasesNew }) => leasesNew).map(({ cell, row }) => ({ head: cell, row }));
  writeRows(send, "insert_leases", leases, ...leaseColumns);
  writeRows(
    send,
    "cancel_leases",
    rows(({ leasesCancelled }) => leasesCancelled),
    ...keyColumns,
    ({ row }) => row.lease.cancel.kind,
  );
}

type Column<Row> = (row: Row) => string | number | boolean | null;

const keyColumns: readonly Column<RowOf<{ readonly step: number }>>[] = [
  ({ cell }) => cell.runId,
  ({ row }) => row.step,
];

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
    ...{ runId, partition, no, head: page.head, text: encoded.text },
    version: stored?.version ?? 0,
    wakeAt: storedWakeAt(stored?.wakeAt ?? null, page, now),
    settled: isItemPage(no) && [...page.steps.values()].every(({ step }) => isSettled(step)),
  };
}

function isSettled({ no, forward, undo, settleUntil }: Step): boolean {
  return itemOf(no) > 0 && isFinal(forward) && !isUndoLeft(undo) && settleUntil === null;
}

const pageColumns: readonly ((one: PageToWrite) => string | number | boolean | null)[] = [
  (one) => one.runId,
  (one) => one.no,
  (one) => one.wakeAt,
  (one) => (one.head === null ? null : runStates.code(one.head.run.state.kind)),
  (one) => one.head?.endedAt ?? null,
  (one) => one.settled,
];

const insertColumns: typeof pageColumns = [
  (one) => one.partition,
  (one) => one.head?.namespaceId ?? null,
  (one) => one.head?.definitionId ?? null,
];

/** In the order of the parameters of `insert_ready`. */
export const readyColumns: readonly ((of: {
  readonly head: RunRef & Pick<PageHead, "priority" | "namespaceId" | "definitionId">;
  readonly row: DerivedReady;
}) => string | number | null)[] = [
  ({ head }) => head.runId,
  ({ row }) => row.step,
  ({ head }) => head.partition,
  ({ row }) => row.terms.lane,
  ({ head }) => head.priority,
  ({ row }) => row.ready.readyAt,
  ({ row }) => row.ready.until,
  ({ head }) => head.namespaceId,
  ({ head }) => head.definitionId,
];

/** In the order of the parameters of `insert_leases`. */
export const leaseColumns: readonly ((of: {
  readonly head: RunRef;
  readonly row: DerivedLease;
}) => string | number | boolean)[] = [
  ({ head }) => head.runId,
  ({ row }) => row.step,
  ({ head }) => head.partition,
  ({ row }) => row.terms.lane,
  ({ row }) => row.lease.fence,
  ({ row }) => row.lease.session,
  ({ row }) => row.lease.secret,
  ({ row }) => row.lease.pollSeq,
  ({ row }) => row.lease.grantedAt,
  ({ row }) => row.lease.heartbeatMs,
  ({ row }) => row.lease.agentId,
  ({ row }) => row.lease.cancel.kind,
];
