// One run, followed live: why it is not moving, its steps, what happened when, what went in and
// out, and what a person can do.
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type {
  ExplainRunResponse,
  GetRunResponse,
  WatchRunResponse,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { type Loaded, useCall } from "../../calls/use-call.ts";
import { newestOf, useLive } from "../../calls/use-live.ts";
import { Badge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { EmptyState, LoadingState, ProblemState, Shown } from "../../parts/states.tsx";
import { Ago, Lasted } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { isFinal, reasonWords, runStanding, workflowWords } from "../../words/run-words.ts";
import { RunActions } from "./run-actions.tsx";
import { RunEscalations } from "./run-escalations.tsx";
import { RunGraph } from "./run-graph.tsx";
import { refOf } from "./run-ref.ts";
import { RunStep } from "./run-step.tsx";
import { RunTimeline } from "./run-timeline.tsx";
import { RunWhy } from "./run-why.tsx";
import "./run.css";

/** What agents report moves no version: while the run is open it is asked for. */
const WHY_AGAIN_MS = 2_000;

export function RunPage() {
  const namespace = useNamespace();
  const { run: runId = "" } = useParams();
  const key = `${namespace} ${runId}`;
  const ref = refOf({ namespace, runId });
  const live = useLive(key, (last: WatchRunResponse | null, signal) =>
    scheduler.watchRun({ ...ref, after: last?.cursor ?? "" }, { signal }),
  );
  const seen = newestOf(live);
  if (live.kind === "failed" && seen === null)
    return live.problem.kind === "missing" ? (
      <EmptyState
        title="There is no such run"
        text={live.problem.message}
        next={{ href: "/runs", text: "Look for it among all runs" }}
      />
    ) : (
      <ProblemState problem={live.problem} what="the run" />
    );
  if (seen?.run === undefined) return <LoadingState what="the run" />;
  return <ShownRun key={key} run={seen.run} steps={seen.steps} cursor={seen.cursor} />;
}

interface ShownRunProps {
  readonly run: Run;
  readonly steps: readonly Step[];
  /** Another one: the run has changed, and its history with it. */
  readonly cursor: string;
}

function ShownRun({ run, steps, cursor }: ShownRunProps) {
  const ref = refOf(run);
  const [picked, setPicked] = useState<string | null>(null);
  const history = useSteady(
    useCall(cursor, (signal) => scheduler.getRun({ ...ref, ...WITH_HISTORY }, { signal })),
  );
  const open = !isFinal(run.state);
  const why = useSteady(
    useCall(
      open ? cursor : null,
      (signal) => scheduler.explainRun(ref, { signal }),
      open ? { everyMs: WHY_AGAIN_MS } : {},
    ),
  );
  const explained = open && why.kind === "loaded" ? why.value : null;
  const step = steps.find(({ id }) => id === picked) ?? null;
  return (
    <>
      <RunHead run={run} steps={steps} />
      {history.kind === "loaded" ? <RunEscalations of={history.value} /> : null}
      {open ? <RunWhy of={why} onPick={setPicked} /> : null}
      <Panel title="Steps">
        <RunGraph steps={steps} explained={explained} picked={picked} onPick={setPicked} />
      </Panel>
      {step === null ? null : (
        <RunStep run={run} step={step} history={history} onClose={() => setPicked(null)} />
      )}
      <Panel title="Timeline">
        <Shown of={history} what="the timeline">
          {(value) => (
            <RunTimeline of={value} explained={explained} picked={picked} onPick={setPicked} />
          )}
        </Shown>
      </Panel>
      <RunData run={run} history={history} />
    </>
  );
}

const WITH_HISTORY = {
  includeAttempts: true,
  includeInterventions: true,
  includeEscalations: true,
};

/** What was loaded before stays on the screen until its successor is there. */
function useSteady<T>(loaded: Loaded<T>): Loaded<T> {
  const [kept, setKept] = useState(loaded);
  const next = loaded.kind === "loading" ? kept : loaded;
  if (
    next !== kept &&
    (next.kind !== "loaded" || kept.kind !== "loaded" || next.value !== kept.value)
  )
    setKept(next);
  return next;
}

function RunHead({ run, steps }: { readonly run: Run; readonly steps: readonly Step[] }) {
  const reason = reasonWords(run.reason);
  return (
    <>
      <PageHead
        title={run.key || run.runId}
        above={<Link href="/runs">Runs</Link>}
        beside={
          <>
            <Badge {...runStanding(run.state)} />
            {reason === "" ? null : <span className="dim">{reason}</span>}
          </>
        }
      >
        <RunActions run={run} steps={steps} />
      </PageHead>
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
            ["Accepted", <Ago key="at" at={run.createdTime} />],
            ["Took", <Lasted key="took" from={run.createdTime} to={run.endedTime} />],
            [
              "Ends at the latest",
              run.deadlineTime ? <Ago key="by" at={run.deadlineTime} /> : null,
            ],
            ["Priority", run.priority === 5 ? "" : String(run.priority)],
            ["Labels", labelWords(run)],
            ["Does again", run.rerunOf ? <RunLink key="of" id={run.rerunOf.runId} /> : null],
            ["Begun by", run.parent ? <RunLink key="by" id={run.parent.runId} /> : null],
            ["Why it was cancelled", run.cancelReason],
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

function RunData(props: { readonly run: Run; readonly history: Loaded<GetRunResponse> }) {
  return (
    <Panel title="Input">
      <Shown of={props.history} what="the input">
        {(value) => <PayloadView of={value.run?.input} what="the input" />}
      </Shown>
    </Panel>
  );
}

export type Explained = ExplainRunResponse | null;
