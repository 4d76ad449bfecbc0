// The pages of one transaction, as they are stored and as they are now.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { EncodedPage } from "../../core/page/codec.ts";
import { type DerivedChanges, derivedChanges } from "../../core/page/derived-rows.ts";
import type { Page } from "../../core/page/page.ts";
import type { RunId, RunRef } from "../store.ts";

/** A page of the transaction. */
export interface Cell extends RunRef {
  readonly no: number;
  /** The stored page; null: it is not stored yet. */
  stored: {
    readonly version: number;
    readonly encoded: EncodedPage;
    wakeAt: EpochMs | null;
  } | null;
  page: Page;
  /** What it has changed of the derived rows, and the page for which that was computed. */
  derived: { readonly page: Page; readonly changes: DerivedChanges } | null;
  /** Secrets of leases whose rows are deleted already. */
  readonly ended: Set<string>;
}

export function newCell({ runId, partition }: RunRef, page: Page, stored: Cell["stored"]): Cell {
  return { runId, partition, no: page.no, stored, page, derived: null, ended: new Set() };
}

/** What has changed of the derived rows between the stored page and the page as it is now. */
export function changesOf(cell: Cell): DerivedChanges {
  if (cell.derived?.page === cell.page) return cell.derived.changes;
  const changes = derivedChanges(cell.stored?.encoded.page ?? null, cell.page);
  cell.derived = { page: cell.page, changes };
  return changes;
}

/** Pages by run: a pass asks for all pages of its run and for no others. */
export interface Cells {
  at(runId: RunId, no: number): Cell | undefined;
  of(runId: RunId): Iterable<Cell>;
  all(): Iterable<Cell>;
  add(cell: Cell): Cell;
}

export function createCells(): Cells {
  const byRun = new Map<RunId, Map<number, Cell>>();
  return {
    at: (runId, no) => byRun.get(runId)?.get(no),
    of: (runId) => byRun.get(runId)?.values() ?? [],
    *all() {
      for (const pages of byRun.values()) yield* pages.values();
    },
    add(cell) {
      const pages = byRun.get(cell.runId);
      if (pages) pages.set(cell.no, cell);
      else byRun.set(cell.runId, new Map([[cell.no, cell]]));
      return cell;
    },
  };
}

/** The page is not stored and has no content: it was only looked up. */
export function isBlank({ stored, page }: Cell): boolean {
  return stored === null && page.head === null && page.steps.size === 0;
}
