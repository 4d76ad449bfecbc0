// What was sent to the run, and which step took it. A signal under a name that no step waits for is
// accepted, and would otherwise be seen nowhere.
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
              came <Ago at={one.receivedTime} />
            </span>
            <TakenBy of={one} steps={steps} />
            {one.payload === undefined ? null : (
              <details>
                <summary>What it carries</summary>
                <PayloadView of={one.payload} what="what the signal carries" />
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
  const takers = steps.filter(({ signalName }) => signalName === of.name);
  if (takers.some(({ state }) => state === StepState.BLOCKED || state === StepState.WAITING))
    return <Badge tone="waiting" word="no step has taken it yet" />;
  return (
    <>
      <Badge tone="warning" word="no step takes it" />
      <span className="dim">{namesWords(steps)}</span>
    </>
  );
}

/** So that a misspelt name is recognised as one. */
function namesWords(steps: readonly Step[]): string {
  const names = [...new Set(steps.map(({ signalName }) => signalName))].filter(
    (name) => name !== "",
  );
  return names.length === 0
    ? "No step of this run waits for signals."
    : `Steps of this run take: ${names.join(", ")}.`;
}
