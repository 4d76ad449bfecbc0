// The runs that steps of this run have started.
import { type Run, type Step, StepKind } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { counted } from "../../words/counts.ts";
import { isFinal, runOutcome, workflowWords } from "../../words/run-words.ts";

const AGAIN_MS = 5_000;
const PAGE = 50;

export function RunChildren({
  run,
  steps,
}: {
  readonly run: Run;
  readonly steps: readonly Step[];
}) {
  const begins = steps.some(({ kind }) => kind === StepKind.RUN);
  return begins ? <Children run={run} /> : null;
}

function Children({ run }: { readonly run: Run }) {
  const { namespace, runId, version } = run;
  const list = useList(
    `children ${runId} ${version}`,
    async (pageToken, signal) => {
      const filter = { parentRunId: runId };
      const asked = { namespace, filter, pageSize: PAGE, pageToken };
      const { runs, nextPageToken } = await scheduler.listRuns(asked, { signal });
      return { rows: runs, nextPageToken };
    },
    isFinal(run.state) ? {} : { everyMs: AGAIN_MS },
  );
  return (
    <Panel title="Child runs">
      <Shown of={{ ...list.state, again: list.again }} what="the child runs">
        {() =>
          list.rows.length === 0 ? (
            <p className="dim">No child run has started.</p>
          ) : (
            <>
              <p className="dim">
                {list.complete
                  ? counted(list.rows.length, "child run")
                  : `The newest ${counted(list.rows.length, "child run")}. Scroll down for more.`}
              </p>
              <DataTable
                name="Child runs"
                columns={columns}
                rows={list.rows}
                keyOf={idOf}
                hrefOf={hrefOf}
                onEnd={list.more}
                complete={list.complete}
              />
            </>
          )
        }
      </Shown>
    </Panel>
  );
}

const idOf = (run: Run) => run.runId;
const hrefOf = (run: Run) => `/runs/${run.runId}`;

const columns: readonly Column<Run>[] = [
  { title: "Step", width: "minmax(6rem, 1fr)", cell: ({ parent }) => parent?.stepId ?? "" },
  {
    title: "Run",
    width: "minmax(10rem, 3fr)",
    cell: (run) => <Link href={hrefOf(run)}>{run.key || run.runId}</Link>,
  },
  { title: "Workflow", width: "minmax(7rem, 2fr)", cell: workflowWords },
  { title: "Status", width: "12rem", cell: (run) => <Badge {...runOutcome(run)} /> },
  { title: "Started", width: "7rem", cell: ({ createdTime }) => <Ago at={createdTime} /> },
  {
    title: "Duration",
    width: "7rem",
    align: "end",
    cell: ({ createdTime, endedTime }) => <Lasted from={createdTime} to={endedTime} />,
  },
];
