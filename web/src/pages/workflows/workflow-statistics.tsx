// The runs of a workflow that ended in the last 24 hours, and what failed in them.
import type { FailingStep } from "@drover/proto/drover/v1/overview_pb.ts";
import type { GetWorkflowResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { WorkflowStatistics } from "@drover/proto/drover/v1/workflow_pb.ts";
import { Link } from "wouter";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Ago, Length } from "../../parts/time.tsx";
import { numberWords } from "../../words/counts.ts";
import { endedRuns, successWords } from "../../words/workflow-words.ts";

export function StatisticsPanel({ of }: { readonly of: WorkflowStatistics }) {
  return (
    <Panel title="Runs in 24 hours">
      <Facts
        of={[
          ["Ended", numberWords(endedRuns(of))],
          ["Success", successWords(of)],
          ["Completed", numberWords(of.completed)],
          ["Failed", numberWords(of.failed)],
          ["Compensated", numberWords(of.compensated)],
          ["Cancelled", numberWords(of.cancelled)],
          ["p50 of completed runs", <Length key="p50" of={of.p50} />],
          ["p95 of completed runs", <Length key="p95" of={of.p95} />],
          ["Last failure", <Ago key="last" at={of.lastFailureTime} />],
        ]}
      />
      <p className="note">
        Runs of all versions that ended since <Ago at={of.sinceTime} />. Durations are within 10 %.
      </p>
    </Panel>
  );
}

export function FailingStepsPanel({ of }: { readonly of: GetWorkflowResponse }) {
  const { failingSteps, moreFailingSteps } = of;
  if (failingSteps.length === 0) return null;
  return (
    <Panel title="Failures by step in 24 hours">
      <DataTable
        name="Failures by step"
        columns={columns}
        rows={failingSteps}
        keyOf={({ stepId, undo, code }) => JSON.stringify([stepId, undo, code])}
      />
      {moreFailingSteps ? <p className="note">There are more, which fail less often.</p> : null}
    </Panel>
  );
}

const columns: readonly Column<FailingStep>[] = [
  {
    title: "Step",
    width: "minmax(8rem, 1fr)",
    cell: ({ stepId, undo }) => (undo ? `Compensation of ${stepId}` : stepId),
  },
  { title: "Code", width: "minmax(7rem, 1fr)", cell: ({ code }) => code },
  {
    title: "Failed",
    width: "5rem",
    align: "end",
    cell: ({ failedSteps }) => numberWords(failedSteps),
  },
  {
    title: "Failed attempts",
    width: "8rem",
    align: "end",
    cell: ({ failedAttempts }) => numberWords(failedAttempts),
  },
  { title: "Last", width: "7rem", cell: ({ lastTime }) => <Ago at={lastTime} /> },
  {
    title: "Last run",
    width: "5rem",
    cell: ({ lastRunId }) => <Link href={`/runs/${lastRunId}`}>Open</Link>,
  },
  {
    title: "Last message",
    width: "minmax(10rem, 2fr)",
    cell: ({ lastMessage }) => lastMessage || "–",
  },
];
