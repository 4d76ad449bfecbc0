// The steps of the run as a list that can be searched, beside their graph.
import { type Step, StepState, UndoState } from "@drover/proto/drover/v1/run_pb.ts";
import { useState } from "react";
import { Badge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/panel.tsx";
import { counted, numberWords } from "../../words/counts.ts";
import { isPartial, itemWords } from "../../words/item-words.ts";
import { stepStatus } from "../../words/run-words.ts";
import { RunGraph } from "./run-graph.tsx";
import type { Explained } from "./run-page.tsx";
import "./run-steps.css";

interface RunStepsProps {
  readonly steps: readonly Step[];
  readonly explained: Explained;
  /** Id of a step. */
  readonly picked: string | null;
  readonly onPick: (step: string) => void;
}

export function RunSteps(props: RunStepsProps) {
  const { steps, explained, picked, onPick } = props;
  const [text, setText] = useState("");
  const [failedOnly, setFailedOnly] = useState(false);
  const found = steps.filter(
    (step) =>
      step.id.toLowerCase().includes(text.trim().toLowerCase()) && (!failedOnly || hasFailed(step)),
  );
  return (
    <Panel title="Steps">
      <div className="run-steps">
        <div className="run-steps-list">
          <search className="run-steps-filter">
            <input
              type="search"
              aria-label="Search for a step"
              placeholder="Search by id"
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
            <label>
              <input
                type="checkbox"
                checked={failedOnly}
                onChange={({ target }) => setFailedOnly(target.checked)}
              />{" "}
              Failed only
            </label>
          </search>
          <p className="dim" role="status">
            {foundWords(found.length, steps.length)}
          </p>
          <ul aria-label="Steps of the run">
            {found.map((step) => (
              <li key={step.id} data-picked={step.id === picked}>
                <button
                  type="button"
                  className="quiet step-name"
                  title={step.id}
                  onClick={() => onPick(step.id)}
                >
                  {step.id}
                </button>
                <Badge {...listStatus(step)} />
              </li>
            ))}
          </ul>
        </div>
        <RunGraph {...{ steps, explained, picked, onPick }} />
      </div>
    </Panel>
  );
}

function foundWords(found: number, all: number): string {
  return found === all ? counted(all, "step") : `${numberWords(found)} of ${counted(all, "step")}`;
}

/** Also a step whose failure the run tolerated, and one that waits for a person because of one. */
function hasFailed(step: Step): boolean {
  return (
    step.state === StepState.FAILED ||
    step.state === StepState.ESCALATED ||
    step.undoState === UndoState.FAILED ||
    isPartial(step)
  );
}

function listStatus(step: Step) {
  const { tone, word } = stepStatus(step);
  const counts = step.items && !isPartial(step) ? `, ${itemWords(step.items)}` : "";
  return { tone, word: `${word}${counts}` };
}
