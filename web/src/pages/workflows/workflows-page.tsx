// The registered workflows: a list, and one workflow with its steps.
//
//   /workflows                  all of them
//   /workflows/NAME?version=3   one version of one; without a version its default
import type { WorkflowSummary } from "@drover/proto/drover/v1/workflow_pb.ts";
import { Link, useParams, useSearch } from "wouter";
import { operator, scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { useList } from "../../calls/use-list.ts";
import { Badge } from "../../parts/badge.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { Ago, Length } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { numberWords } from "../../words/counts.ts";
import { endedRuns, successWords } from "../../words/workflow-words.ts";
import { WorkflowView } from "./workflow-view.tsx";

const PAGE = 200;
const EVERY_MS = 5_000;

export function WorkflowsPage() {
  const { "*": name = "" } = useParams();
  const version = Number(new URLSearchParams(useSearch()).get("version") ?? 0);
  if (name !== "") return <WorkflowView name={name} version={version} />;
  return <WorkflowList />;
}

function WorkflowList() {
  const namespace = useNamespace();
  const list = useList(
    `workflows ${namespace}`,
    async (pageToken, signal) => {
      const asked = { namespace, pageSize: PAGE, pageToken, includeStatistics: true };
      const page = await scheduler.listWorkflows(asked, { signal });
      return { rows: page.workflows, nextPageToken: page.nextPageToken };
    },
    { everyMs: EVERY_MS },
  );
  const paused = useCall(
    `paused workflows ${namespace}`,
    async (signal) => {
      const { pausedWorkflows } = await operator.getOverview({ namespace }, { signal });
      return new Set(pausedWorkflows.map(({ name }) => name));
    },
    { everyMs: EVERY_MS },
  );
  const isPaused = (name: string) => paused.kind === "loaded" && paused.value.has(name);
  return (
    <>
      <PageHead title="Workflows" />
      <Shown of={{ ...list.state, again: list.again }} what="the workflows">
        {() =>
          list.rows.length === 0 ? (
            <EmptyState
              title="No workflow is registered"
              text="Register one with drover workflow apply FILE."
            />
          ) : (
            <DataTable
              name="Workflows"
              columns={columns(isPaused)}
              rows={list.rows}
              keyOf={({ name }) => name}
              hrefOf={({ name }) => `/workflows/${name}`}
              onEnd={list.more}
              complete={list.complete}
            />
          )
        }
      </Shown>
    </>
  );
}

const columns = (isPaused: (name: string) => boolean): readonly Column<WorkflowSummary>[] => [
  {
    title: "Workflow",
    width: "minmax(9rem, 2fr)",
    cell: ({ name }) => <Link href={`/workflows/${name}`}>{name}</Link>,
  },
  {
    title: "State",
    width: "6.5rem",
    cell: ({ name }) =>
      isPaused(name) ? <Badge tone="paused" word="paused" /> : <Badge tone="ok" word="active" />,
  },
  {
    title: "Runs 24 h",
    width: "5.5rem",
    align: "end",
    cell: ({ statistics: of }) => (of ? numberWords(endedRuns(of)) : "–"),
  },
  {
    title: "Success",
    width: "5rem",
    align: "end",
    cell: ({ statistics: of }) => (of ? successWords(of) : "–"),
  },
  {
    title: "p50",
    width: "4.5rem",
    align: "end",
    cell: ({ statistics }) => <Length of={statistics?.p50} />,
  },
  {
    title: "p95",
    width: "4.5rem",
    align: "end",
    cell: ({ statistics }) => <Length of={statistics?.p95} />,
  },
  {
    title: "Last failure",
    width: "6.5rem",
    cell: ({ statistics }) => <Ago at={statistics?.lastFailureTime} />,
  },
  {
    title: "Default version",
    width: "9.5rem",
    cell: ({ defaultVersion: version, newestVersion: newest }) =>
      newest === version ? `v${version}` : `v${version}, newest v${newest}`,
  },
  {
    title: "Registered",
    width: "6.5rem",
    cell: ({ createdTime }) => <Ago at={createdTime} />,
  },
];
