// All runs of the namespace: filtered, sorted, selected, with bulk actions. The filter is part of
// the address, so that it can be shared.

import type { WatchOverviewResponse } from "@drover/proto/drover/v1/overview_pb.ts";
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import { RunOrder } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { operator, scheduler } from "../../calls/clients.ts";
import { type ListPage, type PagedList, useList } from "../../calls/use-list.ts";
import { newestOf, useLive } from "../../calls/use-live.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { counted } from "../../words/counts.ts";
import { reasonWords, runOutcome, workflowWords } from "../../words/run-words.ts";
import { substateWords } from "../../words/substate-words.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { type ReadFilter, readFilter } from "./run-filter.ts";
import { RunFilterBar } from "./run-filter-bar.tsx";
import { SavedViews } from "./saved-views.tsx";
import "./runs.css";

const columns: readonly Column<Run>[] = [
  {
    title: "Run",
    width: "minmax(11rem, 1.4fr)",
    cell: (run) => (
      <Link href={`/runs/${run.runId}`} className="mono" title={run.runId}>
        <Foreign text={run.key || run.runId} />
      </Link>
    ),
  },
  { title: "State", width: "12.5rem", cell: (run) => <Badge {...runOutcome(run)} /> },
  {
    title: "Detail",
    width: "minmax(10rem, 2fr)",
    cell: (run) => <Detail of={detailWords(run)} />,
  },
  { title: "Workflow", width: "minmax(9rem, 1fr)", cell: workflowWords },
  { title: "Labels", width: "minmax(5rem, 0.8fr)", cell: (run) => labelWords(run) },
  { title: "Started", width: "6.5rem", cell: (run) => <Ago at={run.createdTime} /> },
  {
    title: "Duration",
    width: "6rem",
    align: "end",
    cell: (run) => <Lasted from={run.createdTime} to={run.endedTime} />,
  },
];

const idOf = ({ runId }: Run) => runId;
const hrefOf = ({ runId }: Run) => `/runs/${runId}`;

/** Small enough to be decoded and drawn within a frame or two. */
const PAGE = 200;

export function RunsPage() {
  const [search] = useSearchParams();
  const read = readFilter(search);
  if (read.problems.size === 0) return <RunsOf read={read} filtered={search.size > 0} />;
  return <UnreadFilter problems={read.problems} />;
}

function UnreadFilter({ problems }: Pick<ReadFilter, "problems">) {
  return (
    <>
      <PageHead title="Runs" />
      <RunFilterBar problems={problems} />
      <EmptyState
        title="No run is shown"
        text="A part of the filter cannot be read. Correct it, or show all runs."
        next={{ href: "/runs", text: "Show all runs" }}
      />
    </>
  );
}

function RunsOf({ read, filtered }: { readonly read: ReadFilter; readonly filtered: boolean }) {
  const namespace = useNamespace();
  const [search] = useSearchParams();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { filter, order } = read;
  const key = `${namespace} ${search}`;
  const load = async (pageToken: string, signal: AbortSignal): Promise<ListPage<Run>> => {
    const page = await scheduler.listRuns(
      { namespace, filter, order, pageSize: PAGE, pageToken },
      { signal },
    );
    const { runs: rows, nextPageToken, searchedToTime: searchedTo } = page;
    return { rows, nextPageToken, searchedTo };
  };
  const list = useList(key, load);
  const followed = list.rows.length <= PAGE;
  useRefreshed(namespace, followed ? list.again : null);
  const choice = useMemo(() => ({ chosen, onChoose: setChosen }), [chosen]);
  const { rows, complete } = list;
  const loaded = `${counted(rows.length, "run")}${complete ? "" : " loaded so far"}`;
  // Before the first page is loaded, and if it fails, the number is unknown.
  const isCounted = rows.length > 0 || complete;
  const problems = problemsOf(list.state);
  if (problems.size > 0) return <UnreadFilter problems={problems} />;
  return (
    <>
      <PageHead title="Runs" beside={isCounted && <span className="dim">{loaded}</span>}>
        {followed ? null : (
          <button type="button" onClick={list.again}>
            Show the newest
          </button>
        )}
      </PageHead>
      <RunFilterBar problems={problems} />
      <SavedViews key={namespace} />
      <BulkBar read={read} chosen={chosen} onDone={list.again} rows={list.rows} />
      <Shown of={{ ...list.state, again: list.again }} what="the runs">
        {() =>
          list.rows.length === 0 ? (
            complete && <NoRuns filtered={filtered} />
          ) : (
            <DataTable
              name="Runs"
              columns={columns}
              rows={list.rows}
              keyOf={idOf}
              hrefOf={hrefOf}
              choice={choice}
              {...(list.searchedTo === undefined && { onEnd: list.more })}
              complete={list.complete}
            />
          )
        }
      </Shown>
      {list.searchedTo === undefined ? null : (
        <p className="search-further">
          The server has searched the runs that started {order === OLDEST ? "up to" : "since"}{" "}
          <Ago at={list.searchedTo} />.{" "}
          <button type="button" onClick={list.more}>
            Search further
          </button>
        </p>
      )}
    </>
  );
}

const OLDEST = RunOrder.CREATED_ASC;

/** The server names the place in the text of the filter that it cannot read. */
function problemsOf(state: PagedList<Run>["state"]): ReadFilter["problems"] {
  const fields = state.kind === "failed" ? state.problem.fields : [];
  const field = fields.find(({ path }) => path === "filter.query");
  return new Map(field ? [["filter", field.message]] : []);
}

/**
 * The overview stream reports that runs have changed: then the newest runs are read again, unless
 * the reader has scrolled further down. null: the reader has.
 */
function useRefreshed(namespace: string, again: (() => void) | null): void {
  const live = useLive(namespace, (last: WatchOverviewResponse | null, signal) =>
    operator.watchOverview({ namespace, after: last?.cursor ?? "" }, { signal }),
  );
  const cursor = newestOf(live)?.cursor ?? "";
  const first = useRef(true);
  const refresh = useRef(again);
  refresh.current = again;
  useEffect(() => {
    if (cursor === "") return;
    if (!first.current) refresh.current?.();
    first.current = false;
  }, [cursor]);
}

function NoRuns({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <EmptyState
      title="No run matches this filter"
      text="Remove a part of the filter, or show all runs."
      next={{ href: "/runs", text: "Show all runs" }}
    />
  ) : (
    <EmptyState
      title="No run yet"
      text={
        <>
          Start one with <code>drover run start WORKFLOW --input JSON</code>. It appears here at
          once.
        </>
      }
    />
  );
}

function detailWords({ summary, reason, substates }: Run): string {
  return summary || reasonWords(reason) || substateWords(substates);
}

/** Why the run ended, or what its steps do or wait for. */
function Detail({ of }: { readonly of: string }) {
  return (
    <span className="dim" title={of}>
      {of}
    </span>
  );
}

function labelWords({ labels }: Run): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}
