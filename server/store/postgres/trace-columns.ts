// Traces of runs as columns of `run`, and what traces need to know of runs.
import type { RunId } from "../run-head.ts";
import type { TraceContext, TracedRun } from "../trace.ts";
import type { Query } from "./transaction.ts";

interface TraceColumns {
  traceparent: string | null;
  tracestate: string | null;
}

export function traceOf({ traceparent, tracestate }: TraceColumns): TraceContext | null {
  return traceparent === null ? null : { traceparent, tracestate: tracestate ?? "" };
}

interface TracedRunRow extends TraceColumns {
  run_id: RunId;
  namespace_id: number;
  definition_id: number;
  workflow: string;
  version: number;
  created_at: number;
  parent_id: RunId | null;
  of_run: RunId | null;
}

export async function tracedRuns(
  query: Query,
  runs: readonly RunId[],
): Promise<ReadonlyMap<RunId, TracedRun>> {
  if (runs.length === 0) return new Map();
  const rows = await query<TracedRunRow>("traced_runs", { run_ids: runs });
  return new Map(
    rows.map((row) => [
      row.run_id,
      {
        runId: row.run_id,
        namespaceId: row.namespace_id,
        definitionId: row.definition_id,
        workflow: row.workflow,
        version: row.version,
        createdAt: row.created_at,
        trace: traceOf(row),
        parentId: row.parent_id,
        rerunOf: row.of_run,
      },
    ]),
  );
}
