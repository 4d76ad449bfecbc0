// One step in full: its state, its attempts, the interventions of supervisors, its output; for a
// map also its items.
import { type Run, type Step, StepKind } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Loaded } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { stepStatus } from "../../words/run-words.ts";
import { RunItems } from "./run-items.tsx";
import { StepFacts, StepHistory } from "./step-history.tsx";

export function RunStep(props: {
  readonly run: Run;
  readonly step: Step;
  readonly history: Loaded<GetRunResponse>;
  readonly onClose: () => void;
}) {
  const { run, step, history, onClose } = props;
  return (
    <Panel
      title={`Step ${step.id}`}
      beside={
        <div className="page-acts">
          <Badge {...stepStatus(step)} />
          <button type="button" className="quiet" onClick={onClose}>
            Close
          </button>
        </div>
      }
    >
      <StepFacts of={step} />
      <Shown of={history} what="the attempts">
        {(value) => (
          <>
            {step.kind === StepKind.MAP ? (
              <RunItems key={step.id} run={run} step={step} history={value} />
            ) : null}
            <StepHistory
              run={run}
              step={step}
              of={value}
              output={value.steps.find(({ id }) => id === step.id)?.output}
            />
          </>
        )}
      </Shown>
    </Panel>
  );
}
