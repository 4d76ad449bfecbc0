// What has failed lately, by workflow, step and error code: how often, since when, with which
// message, and one run to open. What is only retried, without success so far, is among it.
import type { Activity, FailingStep } from "@drover/proto/drover/v1/overview_pb.ts";
import { BulkKind } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { Link } from "wouter";
import { Foreign } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Ago } from "../../parts/time.tsx";
import { counted, numberWords } from "../../words/counts.ts";
import { type BulkAct, bulkActs } from "../runs/bulk-acts.ts";
import { FilterDialog } from "../runs/bulk-bar.tsx";
import { queryFilter, runsHref } from "../runs/run-filter.ts";

export function FailingNow({ of }: { readonly of: Activity }) {
  const { failingSteps, moreFailingSteps } = of;
  if (failingSteps.length === 0) return null;
  return (
    <Panel title="Failing now">
      <ul className="failing">
        {failingSteps.map((step) => (
          <Failing
            key={JSON.stringify([step.workflow, step.stepId, step.undo, step.code])}
            of={step}
          />
        ))}
      </ul>
      {moreFailingSteps ? <p className="dim">There are more, which fail less often.</p> : null}
    </Panel>
  );
}

function Failing({ of }: { readonly of: FailingStep }) {
  const { workflow, stepId, undo, code, lastMessage, firstTime, lastTime, lastRunId } = of;
  return (
    <li>
      <span className="failing-counts" data-tone={of.failedSteps > 0 ? "bad" : "warning"}>
        <b>{timesWords(of)}</b>
        <span className="dim">
          {firstTime?.seconds === lastTime?.seconds ? null : (
            <>
              <Ago at={firstTime} /> –{" "}
            </>
          )}
          <Ago at={lastTime} />
        </span>
      </span>
      <span className="failing-cause">
        <span>
          {undo ? "Compensation of " : ""}
          <b>{stepId}</b> of <Link href={`/workflows/${workflow}`}>{workflow}</Link>:{" "}
          <code>
            <Foreign text={code} />
          </code>
        </span>
        <span className="dim failing-message">
          <Foreign text={lastMessage} />
        </span>
      </span>
      <span className="failing-acts">
        <Link href={`/runs/${lastRunId}`}>See the last run</Link>
        <FailedRuns of={of} />
      </span>
    </li>
  );
}

/** The runs of this failure: those that are being retried, or those in which the step failed. */
function FailedRuns({ of }: { readonly of: FailingStep }) {
  const { workflow, stepId, undo, code, failedSteps } = of;
  const [act, setAct] = useState<BulkAct | null>(null);
  const failed = `workflow:${workflow} step:${stepId} error:${code}`;
  if (failedSteps === 0)
    return <Link href={runsHref(`workflow:${workflow} waits:retry`)}>See the runs that retry</Link>;
  return (
    <>
      <Link href={runsHref(failed)}>See all</Link>
      {undo
        ? null
        : repeating.map((one) => (
            <button type="button" key={one.name} onClick={() => setAct(one)}>
              {one.name} all…
            </button>
          ))}
      {act === null ? null : (
        <FilterDialog
          act={act}
          read={queryFilter(failed)}
          onDone={() => setAct(null)}
          onClose={() => setAct(null)}
        />
      )}
    </>
  );
}

const repeating = bulkActs.filter(({ kind }) => kind === BulkKind.RETRY || kind === BulkKind.RERUN);

/**
 * `18 failed`, `18 failed, 21 failed attempts`, `114 failed attempts`. How many of the attempts
 * were retried is unknown: a step may fail without an attempt that failed, or wait for a person.
 */
function timesWords({ failedSteps, failedAttempts }: FailingStep): string {
  const parts = [
    ...(failedSteps > 0 ? [`${numberWords(failedSteps)} failed`] : []),
    ...(failedAttempts > failedSteps ? [counted(failedAttempts, "failed attempt")] : []),
  ];
  return parts.join(", ");
}
