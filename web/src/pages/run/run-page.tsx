// One run, live. From top to bottom: its state and actions, why it is not moving, its data, the
// timeline, the steps, signals, child runs and the history. A step opens in a drawer.
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type {
  ExplainRunResponse,
  WatchRunResponse,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useCallback, useEffect, useState } from "react";
import { useLocation, useParams, useSearch } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import type { Problem } from "../../calls/problem.ts";
import { type Loaded, useCall } from "../../calls/use-call.ts";
import { newestOf, useLive } from "../../calls/use-live.ts";
import { Panel } from "../../parts/panel.tsx";
import { EmptyState, LoadingState, ProblemState, Shown } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { isFinal } from "../../words/run-words.ts";
import { RunAudit } from "../audit/run-audit.tsx";
import { LeftOut } from "./left-out.tsx";
import { addressOf, type Picked, pickedIn } from "./run-address.ts";
import { RunChildren } from "./run-children.tsx";
import { RunData } from "./run-data.tsx";
import { RunEscalations } from "./run-escalations.tsx";
import { RunHead } from "./run-head.tsx";
import { RunHistory } from "./run-history.tsx";
import { refOf } from "./run-ref.ts";
import { RunSignals } from "./run-signals.tsx";
import { RunStep } from "./run-step.tsx";
import { RunSteps } from "./run-steps.tsx";
import { RunTimeline } from "./run-timeline.tsx";
import { RunWarnings } from "./run-warnings.tsx";
import { RunWhy } from "./run-why.tsx";
import "./run.css";
import { placeOf } from "../../words/step-name.ts";

/** Progress of agents does not change the run's version, so it is polled while the run is open. */
const WHY_AGAIN_MS = 2_000;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Links name a run by its id; a person who types an address may know only its key. */
export function RunPage() {
  const { run = "", "*": rest = "" } = useParams();
  const name = decoded(rest === "" ? run : `${run}/${rest}`);
  return UUID.test(name) ? <RunById runId={name} /> : <RunByKey name={name} />;
}

/** The text itself if it is not valid as an encoding: a key may contain a percent sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function RunByKey({ name }: { readonly name: string }) {
  const namespace = useNamespace();
  const [, go] = useLocation();
  const run = { ref: { case: "key", value: name } } as const;
  const asked = useCall(`run by key ${namespace} ${name}`, (signal) =>
    scheduler.getRun({ namespace, run }, { signal }),
  );
  const runId = asked.kind === "loaded" ? asked.value.run?.runId : undefined;
  useEffect(() => {
    if (runId !== undefined) go(`/runs/${runId}`, { replace: true });
  }, [runId, go]);
  return asked.kind === "failed" ? (
    <NoRun problem={asked.problem} />
  ) : (
    <LoadingState what="the run" />
  );
}

function NoRun({ problem }: { readonly problem: Problem }) {
  return problem.kind === "missing" ? (
    <EmptyState
      title="There is no such run"
      wholePage
      text={problem.message}
      next={{ href: "/runs", text: "Search all runs" }}
    />
  ) : (
    <ProblemState problem={problem} what="the run" wholePage />
  );
}

function RunById({ runId }: { readonly runId: string }) {
  const namespace = useNamespace();
  const key = `${namespace} ${runId}`;
  const ref = refOf({ namespace, runId });
  const live = useLive(key, (last: WatchRunResponse | null, signal) =>
    scheduler.watchRun({ ...ref, after: last?.cursor ?? "" }, { signal }),
  );
  const seen = newestOf(live);
  if (live.kind === "failed" && seen === null) return <NoRun problem={live.problem} />;
  if (seen?.run === undefined) return <LoadingState what="the run" />;
  return <ShownRun key={key} run={seen.run} steps={seen.steps} cursor={seen.cursor} />;
}

interface ShownRunProps {
  readonly run: Run;
  readonly steps: readonly Step[];
  /** A new cursor means that the run has changed, and its history with it. */
  readonly cursor: string;
}

function ShownRun({ run, steps, cursor }: ShownRunProps) {
  const ref = refOf(run);
  const [, go] = useLocation();
  const picked = pickedIn(useSearch());
  // The same function each time, so that rows are not drawn again.
  const show = useCallback((next: Picked) => go(addressOf(run.runId, next)), [go, run.runId]);
  const pick = useCallback((stepId: string) => show(placeOf(stepId)), [show]);
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
  const shown = { explained, picked: picked.step, onPick: pick };
  return (
    <>
      <RunHead run={run} steps={steps} trace={loadedOf(history)} />
      {history.kind === "loaded" ? (
        <>
          <RunWarnings warnings={history.value.warnings} onPick={pick} />
          <RunEscalations of={history.value} />
        </>
      ) : null}
      {open ? <RunWhy run={run} of={why} onPick={pick} /> : null}
      <RunData history={history} />
      <Panel title="Timeline">
        <Shown of={history} what="the timeline">
          {(value) => (
            <>
              <LeftOut of={value} />
              <RunTimeline of={value} {...shown} />
            </>
          )}
        </Shown>
      </Panel>
      <RunSteps steps={steps} {...shown} />
      {history.kind === "loaded" ? (
        <RunSignals signals={history.value.signals} steps={steps} />
      ) : null}
      <RunChildren run={run} steps={steps} />
      <RunAudit runId={run.runId} />
      <RunHistory run={run} history={history} onPick={pick} />
      {picked.step === null ? null : <RunStep {...{ run, steps, history, picked }} onPick={show} />}
    </>
  );
}

const WITH_HISTORY = {
  includeAttempts: true,
  includeInterventions: true,
  includeEscalations: true,
  includeSignals: true,
  includeDecisions: true,
};

function loadedOf<T>(loaded: Loaded<T>): T | null {
  return loaded.kind === "loaded" ? loaded.value : null;
}

/** The old value stays on the screen until the new one is loaded. */
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
