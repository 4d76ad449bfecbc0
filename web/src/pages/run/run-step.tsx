// The content of the drawer: one step in full, or one item of a map.
import { type Run, type Step, StepKind } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Loaded } from "../../calls/use-call.ts";
import { Badge } from "../../parts/badge.tsx";
import { EmptyState, Shown } from "../../parts/states.tsx";
import { stepStatus } from "../../words/run-words.ts";
import { NOTHING, type Picked } from "./run-address.ts";
import { RunDrawer } from "./run-drawer.tsx";
import { RunItem } from "./run-item.tsx";
import { RunItems } from "./run-items.tsx";
import { StepFacts, StepHistory } from "./step-history.tsx";
import { StepInput } from "./step-input.tsx";

interface RunStepProps {
  readonly run: Run;
  readonly steps: readonly Step[];
  readonly history: Loaded<GetRunResponse>;
  readonly picked: Picked;
  readonly onPick: (picked: Picked) => void;
}

export function RunStep(props: RunStepProps) {
  const { run, steps, history, picked, onPick } = props;
  const step = steps.find(({ id }) => id === picked.step);
  const isItem = picked.item !== null;
  const name = isItem ? `${picked.step}[${picked.item}]` : picked.step;
  return (
    <RunDrawer
      title={`${isItem ? "Item" : "Step"} ${name}`}
      beside={step === undefined || isItem ? null : <Badge {...stepStatus(step)} />}
      onClose={() => onPick(NOTHING)}
    >
      {step === undefined ? (
        <EmptyState
          title="There is no such step"
          text={`No step of this run has the id “${picked.step}”.`}
        />
      ) : (
        <Shown of={history} what="the attempts">
          {(value) =>
            picked.item === null ? (
              <WholeStep key={step.id} step={step} of={value} run={run} onPick={onPick} />
            ) : (
              <RunItem
                key={picked.item}
                {...{ run, step, onPick }}
                item={picked.item}
                history={value}
              />
            )
          }
        </Shown>
      )}
    </RunDrawer>
  );
}

function WholeStep(props: {
  readonly step: Step;
  readonly of: GetRunResponse;
  readonly run: Run;
  readonly onPick: (picked: Picked) => void;
}) {
  const { step, of, run, onPick } = props;
  const mine = ({ stepId }: { readonly stepId: string }) => stepId === step.id;
  return (
    <>
      <StepFacts of={step} trace={of} />
      {step.kind === StepKind.MAP ? <RunItems {...{ run, step, onPick }} /> : null}
      <StepInput run={run} step={step} item={null} of={step} />
      <StepHistory
        run={run}
        attempts={of.attempts.filter(mine)}
        interventions={of.interventions.filter(mine)}
        output={of.steps.find(({ id }) => id === step.id)?.output}
      />
    </>
  );
}
