// The input of a step or of an item: evaluated, as its tasks get it, and as the definition has it.
import { type Run, type Step, StepKind, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetStepInputResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Shown } from "../../parts/states.tsx";
import { refOf } from "./run-ref.ts";
import { Part } from "./step-history.tsx";

const WITH_TASK = [StepKind.TASK, StepKind.RUN];

interface StepInputProps {
  readonly run: Run;
  /** The step of the run; that of an item is its map. */
  readonly step: Step;
  /** Index of an item; null: the step itself. */
  readonly item: number | null;
  /** The step or the item as it is now. */
  readonly of: Pick<Step, "state" | "strategy">;
}

export function StepInput(props: StepInputProps) {
  const { run, step, item } = props;
  const isMap = step.kind === StepKind.MAP;
  if (isMap && item === null)
    return (
      <Part title="Input of each item">
        <Template run={run} step={step} />
      </Part>
    );
  if (!isMap && !WITH_TASK.some((kind) => kind === step.kind)) return null;
  return <Evaluated {...props} />;
}

/** A started step has its input until a fallback begins, or a person gives it another input. */
function Evaluated({ run, step, item, of }: StepInputProps) {
  const started = of.state !== StepState.BLOCKED;
  const asks = of.state === StepState.ESCALATED;
  const asked = useCall(
    `input ${run.runId} ${step.id} ${item} ${of.strategy} ${started} ${asks}`,
    (signal) =>
      scheduler.getStepInput(
        { ...refOf(run), stepId: step.id, ...(item === null ? {} : { item }) },
        { signal },
      ),
  );
  return (
    <Part title="Input">
      <Shown of={asked} what="the input">
        {(answer) =>
          answer.hasInput ? (
            <>
              <Result of={answer} />
              <FoldedTemplate run={run} step={step} />
            </>
          ) : (
            <>
              <p className="dim">The step has not started. Its input will be evaluated from:</p>
              <Template run={run} step={step} />
            </>
          )
        }
      </Shown>
    </Part>
  );
}

function Result({ of: { result } }: { readonly of: GetStepInputResponse }) {
  if (result.case === "problem")
    return (
      <p className="failure">
        The input could not be evaluated: <Foreign text={result.value} />
      </p>
    );
  return <PayloadView of={result.value} what="the input of the step" />;
}

interface TemplateProps {
  readonly run: Run;
  readonly step: Step;
}

function FoldedTemplate({ run, step }: TemplateProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      className="step-template"
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>As in the definition</summary>
      {isOpen ? <Template run={run} step={step} /> : null}
    </details>
  );
}

/** Before its expressions are evaluated. A run keeps the definition that it began with. */
function Template({ run, step }: TemplateProps) {
  const asked = useCall(`definition ${run.runId}`, async (signal) => {
    const request = { ...refOf(run), includeDefinition: true };
    return (await scheduler.getRun(request, { signal })).definition;
  });
  return (
    <Shown of={asked} what="the definition">
      {(definition) => {
        const input = definition?.steps.find(({ id }) => id === step.id)?.input;
        if (input !== undefined)
          return <PayloadView of={input} what="the input as in the definition" />;
        return (
          <p className="dim">
            {step.kind === StepKind.MAP
              ? "The definition gives no input: each task gets its item."
              : "The definition gives no input: the step gets the input of the run."}
          </p>
        );
      }}
    </Shown>
  );
}
