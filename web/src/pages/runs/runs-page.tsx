// All runs of the namespace.
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { runStanding, workflowWords } from "../../words/run-words.ts";

const columns: readonly Column<Run>[] = [
  {
    title: "Run",
    width: "minmax(12rem, 2fr)",
    cell: (run) => (
      <Link href={`/runs/${run.runId}`} className="mono">
        {run.key || run.runId}
      </Link>
    ),
  },
  { title: "State", width: "10rem", cell: (run) => <Badge {...runStanding(run.state)} /> },
  { title: "Workflow", width: "minmax(10rem, 1fr)", cell: workflowWords },
  { title: "Began", width: "8rem", cell: (run) => <Ago at={run.createdTime} /> },
  {
    title: "Took",
    width: "7rem",
    align: "end",
    cell: (run) => <Lasted from={run.createdTime} to={run.endedTime} />,
  },
];

const PAGE = 200;

export function RunsPage() {
  const namespace = useNamespace();
  const list = useList(`runs ${namespace}`, async (pageToken, signal) => {
    const page = await scheduler.listRuns({ namespace, pageSize: PAGE, pageToken }, { signal });
    return { rows: page.runs, nextPageToken: page.nextPageToken };
  });
  return (
    <>
      <PageHead title="Runs" />
      <Shown of={{ ...list.state, again: list.again }} what="the runs">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState title="No run yet" text="Start one with drover run start WORKFLOW." />
          ) : (
            <DataTable
              name="Runs"
              columns={columns}
              rows={list.rows}
              keyOf={(run) => run.runId}
              hrefOf={(run) => `/runs/${run.runId}`}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </>
  );
}
