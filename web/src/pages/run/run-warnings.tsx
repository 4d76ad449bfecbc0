// Failures after which the run went on: a run that has completed with them is no plain success.
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { Panel } from "../../parts/panel.tsx";
import { failureWords } from "../../words/attempt-words.ts";
import { isPartial, itemWords, warningSteps } from "../../words/item-words.ts";

export function RunWarnings(props: {
  readonly run: Run;
  readonly steps: readonly Step[];
  readonly onPick: (step: string) => void;
}) {
  const failed = warningSteps(props.run, props.steps);
  if (failed.length === 0) return null;
  return (
    <Panel title="Warnings">
      <ul className="why">
        {failed.map((step) => (
          <li key={step.id}>
            <button type="button" className="quiet step-name" onClick={() => props.onPick(step.id)}>
              {step.id}
            </button>
            <Warning of={step} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Warning({ of }: { readonly of: Step }) {
  if (of.items && isPartial(of))
    return <p>{itemWords(of.items)}. The step tolerates that, and the run went on.</p>;
  return (
    <div>
      <p>It failed, and the run went on.</p>
      {of.error === undefined ? null : <ForeignMessage text={failureWords(of.error)} />}
    </div>
  );
}
