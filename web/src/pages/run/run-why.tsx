// Why the run is not moving, in the server's words: what it waits for, what happens next, and what
// a person can do.

import { ActionKind, type Wait, WaitKind } from "@drover/proto/drover/v1/explain_pb.ts";
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import type { ExplainRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Loaded } from "../../calls/use-call.ts";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { CompleteAct } from "./run-complete.tsx";
import { Actions } from "./run-why-actions.tsx";

const SHOWN_MAX = 8;

export function RunWhy(props: {
  readonly run: Run;
  readonly of: Loaded<ExplainRunResponse>;
  readonly onPick: (step: string) => void;
}) {
  return (
    <Panel title="What it waits for">
      <Shown of={props.of} what="the explanation">
        {({ wait, steps, untakenSignals }) => {
          const sentences = statementOf(wait, steps);
          return (
            <ul className="why">
              {sentences.slice(0, SHOWN_MAX).map((one) => (
                <WaitLine
                  key={`${one.stepId} ${one.undo}`}
                  run={props.run}
                  of={one}
                  onPick={props.onPick}
                />
              ))}
              {sentences.length > SHOWN_MAX ? (
                <li className="dim">and {sentences.length - SHOWN_MAX} more steps</li>
              ) : null}
              {untakenSignals.map(({ signalId, sentence }) => (
                <li key={`signal ${signalId}`}>
                  <p>
                    <ForeignMessage text={sentence} />
                  </p>
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
    </Panel>
  );
}

function WaitLine(props: {
  readonly run: Run;
  readonly of: Wait;
  readonly onPick: (id: string) => void;
}) {
  const { run, of, onPick } = props;
  return (
    <li>
      {of.stepId === "" ? null : (
        <button type="button" className="quiet step-name" onClick={() => onPick(of.stepId)}>
          {of.stepId}
        </button>
      )}
      <div>
        <p>
          <ForeignMessage text={of.sentence} />
        </p>
        <Actions of={of} />
        {of.actions.some(({ kind }) => kind === ActionKind.COMPLETE_DEFERRED) ? (
          <CompleteAct run={run} stepId={of.stepId} />
        ) : null}
      </div>
    </li>
  );
}

/**
 * The run often waits for the same thing as its first step; then only the step is shown. Steps that
 * wait for other steps are left out: the graph shows them.
 */
function statementOf(wait: Wait | undefined, steps: readonly Wait[]): readonly Wait[] {
  const own = steps.filter(({ waitingFor }) => waitingFor !== WaitKind.STEPS);
  const repeats = wait === undefined || own.some((one) => one.waitingFor === wait.waitingFor);
  return repeats ? own : [wait, ...own];
}
