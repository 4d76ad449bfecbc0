// The signals of the run, and the steps that took them. A surplus signal is stored, too, and is
// shown nowhere else.
import { type ReceivedSignal, type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { Badge } from "../../parts/badge.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Ago } from "../../parts/time.tsx";

export function RunSignals(props: {
  readonly signals: readonly ReceivedSignal[];
  readonly steps: readonly Step[];
}) {
  const { signals, steps } = props;
  if (signals.length === 0) return null;
  return (
    <Panel title="Signals">
      <ul className="lines signals">
        {signals.map((one) => (
          <li key={one.seq}>
            <strong>
              <Foreign text={one.name} />
            </strong>
            <span>
              received <Ago at={one.receivedTime} />
            </span>
            <TakenBy of={one} steps={steps} />
            {one.payload === undefined ? null : (
              <details>
                <summary>Payload</summary>
                <PayloadView of={one.payload} what="the payload of the signal" />
              </details>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function TakenBy({ of, steps }: { readonly of: ReceivedSignal; readonly steps: readonly Step[] }) {
  if (of.takenBy !== "") return <Badge tone="ok" word={`taken by ${of.takenBy}`} />;
  const isAwaited = steps.some(
    ({ signalName, state }) =>
      signalName === of.name && (state === StepState.BLOCKED || state === StepState.WAITING),
  );
  return isAwaited ? (
    <Badge tone="waiting" word="no step has taken it yet" />
  ) : (
    <Badge tone="warning" word="no step can take it any more" />
  );
}
