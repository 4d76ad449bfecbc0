// The data of the run: its input, and the outputs of its last steps.
import type { Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Loaded } from "../../calls/use-call.ts";
import { Panel } from "../../parts/panel.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Shown } from "../../parts/states.tsx";

/** At most this many outputs are shown here; each step shows its own. */
const OUTPUTS_SHOWN = 3;

export function RunData({ history }: { readonly history: Loaded<GetRunResponse> }) {
  const outputs = history.kind === "loaded" ? lastOutputs(history.value.steps) : [];
  return (
    <div className="beside">
      <Panel title="Input">
        <Shown of={history} what="the input">
          {(value) => <PayloadView of={value.run?.input} what="the input" />}
        </Shown>
      </Panel>
      {outputs.slice(0, OUTPUTS_SHOWN).map(({ id, output }) => (
        <Panel key={id} title={`Output of ${id}`}>
          <PayloadView of={output} what={`the output of ${id}`} />
        </Panel>
      ))}
    </div>
  );
}

/** The steps that no other step needs: their outputs are what a parent run gets. */
function lastOutputs(steps: readonly Step[]): readonly Step[] {
  const needed = new Set(steps.flatMap(({ needs }) => needs));
  return steps.filter(({ id, output }) => !needed.has(id) && output !== undefined);
}
