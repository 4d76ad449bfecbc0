// One item of a map in full, with its own attempts: the history of the run may have left them out.
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { isFinal, stepStatus } from "../../words/run-words.ts";
import type { Picked } from "./run-address.ts";
import { refOf } from "./run-ref.ts";
import { StepFacts, StepHistory } from "./step-history.tsx";
import { StepInput } from "./step-input.tsx";

const AGAIN_MS = 2_000;

export function RunItem(props: {
  readonly run: Run;
  readonly step: Step;
  readonly item: number;
  readonly history: GetRunResponse;
  readonly onPick: (picked: Picked) => void;
}) {
  const { run, step, item, history, onPick } = props;
  const asked = useCall(
    `item ${run.runId} ${step.id} ${item} ${run.version}`,
    (signal) => scheduler.listItems({ ...refOf(run), stepId: step.id, item }, { signal }),
    isFinal(run.state) ? {} : { everyMs: AGAIN_MS },
  );
  return (
    <>
      <p>
        <button
          type="button"
          className="quiet step-name"
          onClick={() => onPick({ step: step.id, item: null })}
        >
          All items of {step.id}
        </button>
      </p>
      <Shown of={asked} what="the item">
        {({ items: [found], attempts }) =>
          found === undefined ? (
            <EmptyState
              title="This item has not started"
              text={`${step.id} has ${step.items?.total ?? 0} items, counted from 0.`}
            />
          ) : (
            <>
              <p>
                <Badge {...stepStatus(found)} />
              </p>
              <StepFacts of={found} trace={history} />
              <StepInput run={run} step={step} item={item} of={found} />
              <StepHistory
                run={run}
                attempts={attempts}
                interventions={history.interventions.filter(({ stepId }) => stepId === found.id)}
                output={found.output}
              />
            </>
          )
        }
      </Shown>
    </>
  );
}
