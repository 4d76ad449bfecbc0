// The head of a run: its name, its state, its actions, and facts about it.
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { Badge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts } from "../../parts/panel.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { reasonWords, runOutcome, workflowWords } from "../../words/run-words.ts";
import { substateWords } from "../../words/substate-words.ts";
import { RunActions } from "./run-actions.tsx";
import { TraceFact, type TraceOf } from "./trace-fact.tsx";

export function RunHead(props: {
  readonly run: Run;
  readonly steps: readonly Step[];
  /** null: not loaded. */
  readonly trace: TraceOf | null;
}) {
  const { run, steps, trace } = props;
  const detail = run.summary === "" ? reasonWords(run.reason) || substateWords(run.substates) : "";
  return (
    <>
      <PageHead
        title={run.key || run.runId}
        above={<Link href="/runs">Runs</Link>}
        beside={
          <>
            <Badge {...runOutcome(run)} />
            {detail === "" ? null : <span className="dim">{detail}</span>}
          </>
        }
      >
        <RunActions run={run} steps={steps} />
      </PageHead>
      {run.summary === "" ? null : (
        <p className="run-summary" data-tone={runOutcome(run).tone}>
          <Foreign text={run.summary} />
        </p>
      )}
      <div className="run-facts">
        <Facts
          of={[
            [
              "Workflow",
              <Link key="to" href={`/workflows/${run.workflow}`}>
                {workflowWords(run)}
              </Link>,
            ],
            [
              "Id",
              <span key="id" className="mono">
                {run.runId} <CopyButton text={run.runId} what="the id of the run" />
              </span>,
            ],
            ["Started", <Ago key="at" at={run.createdTime} />],
            ["Duration", <Lasted key="took" from={run.createdTime} to={run.endedTime} />],
            ["Deadline", run.deadlineTime ? <Ago key="by" at={run.deadlineTime} /> : null],
            ["Priority", run.priority === 5 ? "" : String(run.priority)],
            ["Labels", labelWords(run)],
            ["Retry of", run.rerunOf ? <RunLink key="of" id={run.rerunOf.runId} /> : null],
            ["Parent run", run.parent ? <RunLink key="by" id={run.parent.runId} /> : null],
            ["Reason for cancelling", run.cancelReason],
            ["Trace", trace?.traceId ? <TraceFact key="trace" of={trace} /> : null],
          ]}
        />
      </div>
    </>
  );
}

function RunLink({ id }: { readonly id: string }) {
  return (
    <Link className="mono" href={`/runs/${id}`}>
      {id}
    </Link>
  );
}

function labelWords({ labels }: Run): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}
