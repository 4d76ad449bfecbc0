// Approval steps of runs, with the decisions about them, by plain reads.
import type { Step } from "../../core/model/model.ts";
import { decodePage } from "../../core/page/codec.ts";
import type { ApprovalsFound, ApprovalsWanted } from "../lists.ts";
import type { RunId } from "../run-head.ts";
import { columns } from "./columns.ts";
import { loadDecisions } from "./people.ts";
import { uniquePages } from "./read-steps.ts";
import type { Query } from "./transaction.ts";
import type { PageRow } from "./tx-pages.ts";

export async function readApprovals(
  query: Query,
  wanted: readonly ApprovalsWanted[],
): Promise<ReadonlyMap<RunId, ApprovalsFound>> {
  if (wanted.length === 0) return new Map();
  // Decisions first: a step that the last of them ends afterwards no longer waits when it is read.
  const decisions = await loadDecisions(
    query,
    wanted.map(({ runId }) => runId),
  );
  const pages = uniquePages(
    wanted.flatMap(({ runId, steps }) => steps.map((step) => ({ runId, step }))),
  );
  const rows = await query<PageRow>(
    "read_pages",
    columns(pages, { run_id: ({ runId }) => runId, no: ({ no }) => no }),
  );
  const stepsOf = Map.groupBy(rows, ({ run_id: runId }) => runId);
  return new Map(
    wanted.flatMap(({ runId, steps }): readonly (readonly [RunId, ApprovalsFound])[] => {
      const read = stepsOf.get(runId);
      if (!read) return [];
      const found = read.flatMap(({ state }) => [...decodePage(state).page.steps.values()]);
      const of = found.flatMap(({ step }): readonly (readonly [number, Step])[] =>
        steps.includes(step.no) ? [[step.no, step]] : [],
      );
      return [[runId, { steps: new Map(of), decisions: decisions.get(runId) ?? [] }]];
    }),
  );
}
