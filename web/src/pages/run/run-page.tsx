// One run, followed live: why it is not moving, its steps, what happened when, what went in and
// out, and what a person can do.
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type {
  ExplainRunResponse,
  WatchRunResponse,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { useParams } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { type Loaded, useCall } from "../../calls/use-call.ts";
import { newestOf, useLive } from "../../calls/use-live.ts";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState, LoadingState, ProblemState, Shown } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { isFinal } from "../../words/run-words.ts";
import { RunData } from "./run-data.tsx";
import { RunEscalations } from "./run-escalations.tsx";
import { RunGraph } from "./run-graph.tsx";
import { RunHead } from "./run-head.tsx";
import { refOf } from "./run-ref.ts";
import { RunSignals } from "./run-signals.tsx";
import { RunStep } from "./run-step.tsx";
import { RunTimeline } from "./run-timeline.tsx";
import { RunWarnings } from "./run-warnings.tsx";
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
      <RunWarnings run={run} steps={steps} onPick={setPicked} />
      {history.kind === "loaded" ? <RunEscalations of={history.value} /> : null}
      {open ? <RunWhy of={why} onPick={setPicked} /> : null}
      <Panel title="Steps">
        <RunGraph steps={steps} explained={explained} picked={picked} onPick={setPicked} />
      </Panel>
      {step === null ? null : (
        <RunStep run={run} step={step} history={history} onClose={() => setPicked(null)} />
      )}
      <RunData history={history} />
      {history.kind === "loaded" ? (
        <RunSignals signals={history.value.signals} steps={steps} />
      ) : null}
      <Panel title="Timeline">
        <Shown of={history} what="the timeline">
          {(value) => (
            <RunTimeline of={value} explained={explained} picked={picked} onPick={setPicked} />
          )}
        </Shown>
      </Panel>
    </>
  );
}

const WITH_HISTORY = {
  includeAttempts: true,
  includeInterventions: true,
  includeEscalations: true,
  includeSignals: true,
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

export type Explained = ExplainRunResponse | null;
