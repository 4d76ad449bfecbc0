// Failures after which the run continued: a run that completed with them is no plain success.
import type { RunWarning } from "@drover/proto/drover/v1/run_pb.ts";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { Panel } from "../../parts/panel.tsx";
import { failureWords } from "../../words/attempt-words.ts";

export function RunWarnings(props: {
  readonly warnings: readonly RunWarning[];
  readonly onPick: (step: string) => void;
}) {
  if (props.warnings.length === 0) return null;
  return (
    <Panel title="Warnings">
      <ul className="why">
        {props.warnings.map((warning) => (
          <li key={warning.stepId}>
            <button
              type="button"
              className="quiet step-name"
              onClick={() => props.onPick(warning.stepId)}
            >
              {warning.stepId}
            </button>
            <div>
              <p>The run continued after a failure:</p>
              <ForeignMessage text={failureWords(warning)} />
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
