// One run, followed live.
import type { WatchRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useParams } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { newestOf, useLive } from "../../calls/use-live.ts";
import { Badge } from "../../parts/badge.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { LoadingState, ProblemState, Shown } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { runStanding, stepStanding, workflowWords } from "../../words/run-words.ts";
import { PauseAction } from "./run-actions.tsx";

export function RunPage() {
  const namespace = useNamespace();
  const { run: runId = "" } = useParams();
  const ref = { namespace, run: { ref: { case: "runId", value: runId } } } as const;
  const live = useLive(
    `run ${namespace} ${runId}`,
    (_last: WatchRunResponse | null, signal): AsyncIterable<WatchRunResponse> =>
      scheduler.watchRun(ref, { signal }),
  );
  const whole = useCall(`run ${namespace} ${runId}`, (signal) => scheduler.getRun(ref, { signal }));
  if (live.kind === "failed") return <ProblemState problem={live.problem} what="the run" />;
  const seen = newestOf(live);
  if (seen?.run === undefined) return <LoadingState what="the run" />;
  const { run, steps } = seen;
  return (
    <>
      <PageHead title={workflowWords(run)} beside={<Badge {...runStanding(run.state)} />}>
        <PauseAction run={run} />
      </PageHead>
      <Panel title="Steps">
        <Facts of={steps.map((step) => [step.id, <Badge key="at" {...stepStanding(step)} />])} />
      </Panel>
      <Panel title="Input">
        <Shown of={whole} what="the input">
          {(answer) => <PayloadView of={answer.run?.input} what="the input" />}
        </Shown>
      </Panel>
    </>
  );
}
