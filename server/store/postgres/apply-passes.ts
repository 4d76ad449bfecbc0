// Applies passes to the pages of their runs, which are locked.
import { isEnded } from "../../core/model/model.ts";
import { type AppliedPass, applyPass, pagesTouched } from "../../core/page/apply-pass.ts";
import type { DerivedLease } from "../../core/page/derived-rows.ts";
import type { PassRecord } from "../pass-record.ts";
import type { RunId } from "../store.ts";
import { changesOf } from "./cells.ts";
import { loadPages } from "./load-pages.ts";
import type { TxPages } from "./tx-pages.ts";
import { writeApplied } from "./write-attempts.ts";

/** Returns for each pass the leases that it has ended. */
export async function applyPasses(
  pages: TxPages,
  records: readonly PassRecord[],
): Promise<readonly (readonly DerivedLease[])[]> {
  const { transaction } = pages;
  const touched = records.map((record) => ({ record, numbers: pagesTouched(record) }));
  await loadPages(
    pages,
    touched.flatMap(({ record, numbers }) => numbers.map((no) => ({ run: record.head, no }))),
  );
  const applied = touched.map(({ record, numbers }) => applyOne(pages, record, numbers));
  writeApplied(
    transaction.send,
    applied.flatMap((one, at) => {
      const record = records[at];
      return record ? [{ runId: record.head.runId, applied: one }] : [];
    }),
  );
  return records.map(({ head: { runId } }) => leasesGone(pages, runId));
}

/** `numbers`: of the pages that it touches, which are loaded. */
function applyOne(
  { transaction, cells }: TxPages,
  record: PassRecord,
  numbers: readonly number[],
): AppliedPass {
  const { runId } = record.head;
  const touched = new Map(
    numbers.flatMap((no) => {
      const cell = cells.at(runId, no);
      return cell ? [[no, cell.page] as const] : [];
    }),
  );
  const ends = isEnded(record.after.run.state) && !isEnded(record.before.run.state);
  const applied = applyPass(touched, { ...record, endedAt: ends ? transaction.now : null });
  for (const page of applied.pages) {
    const cell = cells.at(runId, page.no);
    if (cell) cell.page = page;
  }
  return applied;
}

/** Leases of a run whose rows are still stored, and whose tasks have ended. */
function leasesGone({ cells }: TxPages, runId: RunId): readonly DerivedLease[] {
  return [...cells.of(runId)].flatMap((cell) => {
    if (cell.stored?.encoded.page === cell.page) return [];
    const { leasesGone: gone } = changesOf(cell);
    const fresh = gone.filter(({ lease }) => !cell.ended.has(lease.secret));
    for (const { lease } of fresh) cell.ended.add(lease.secret);
    return fresh;
  });
}
