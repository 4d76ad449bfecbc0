// Steps from their pages, by plain reads: no locks.
import { type PageStep, pageNoOf } from "../../core/page/page.ts";
import type { RunId } from "../store.ts";
import { columns } from "./columns.ts";
import type { PageCache } from "./page-cache.ts";
import type { Query } from "./transaction.ts";
import type { PageRow } from "./tx-pages.ts";

export interface PageKey {
  readonly runId: RunId;
  readonly no: number;
}

/** Steps of these pages; null: the step was never touched. */
export async function readSteps(
  query: Query,
  cache: PageCache,
  pages: readonly PageKey[],
): Promise<(runId: RunId, step: number) => PageStep | null> {
  if (pages.length === 0) return () => null;
  const rows = await query<PageRow>(
    "read_pages",
    columns(pages, { run_id: ({ runId }) => runId, no: ({ no }) => no }),
  );
  const read = new Map(
    rows.map(({ run_id: runId, no, version, state }) => {
      return [keyOf(runId, no), cache.decoded(runId, no, version, state).page];
    }),
  );
  return (runId, step) => read.get(keyOf(runId, pageNoOf(step)))?.steps.get(step) ?? null;
}

export function uniquePages(
  keys: readonly { readonly runId: RunId; readonly step: number }[],
): readonly PageKey[] {
  const found = new Map(
    keys.map(({ runId, step }) => [keyOf(runId, pageNoOf(step)), { runId, no: pageNoOf(step) }]),
  );
  return [...found.values()];
}

function keyOf(runId: RunId, no: number): string {
  return `${runId}/${no}`;
}
