// The data of the run, folded: its input, and the outputs of its last steps.
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import type { Step } from "@drover/proto/drover/v1/run_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useId } from "react";
import type { Loaded } from "../../calls/use-call.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { PayloadView } from "../../parts/payload-view.tsx";
import { counted, numberWords } from "../../words/counts.ts";

/** At most this many outputs are shown here; each step shows its own. */
const OUTPUTS_SHOWN = 3;

export function RunData({ history }: { readonly history: Loaded<GetRunResponse> }) {
  if (history.kind !== "loaded") return null;
  const outputs = lastOutputs(history.value.steps);
  const left = outputs.length - OUTPUTS_SHOWN;
  return (
    <div className="panel run-data">
      <Folded title="Input" of={history.value.run?.input} />
      {outputs.slice(0, OUTPUTS_SHOWN).map(({ id, output }) => (
        <Folded key={id} title={`Output of ${id}`} of={output} />
      ))}
      {left > 0 ? (
        <p className="dim">
          {numberWords(OUTPUTS_SHOWN)} of {counted(outputs.length, "output")} are shown here; each
          step shows its own.
        </p>
      ) : null}
    </div>
  );
}

function Folded({ title, of }: { readonly title: string; readonly of: Payload | undefined }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <details>
        <summary>
          <h2 id={id}>{title}</h2>
          <Preview of={of} />
        </summary>
        <PayloadView of={of} what={title.toLowerCase()} />
      </details>
    </section>
  );
}

const PREVIEW_SHOWN = 200;

function Preview({ of }: { readonly of: Payload | undefined }) {
  if (of?.body.case === "json")
    return (
      <code className="dim">
        <Foreign text={of.body.value.slice(0, PREVIEW_SHOWN)} />
      </code>
    );
  return (
    <span className="dim">
      {of === undefined ? "None" : counted(of.body.value?.length ?? 0, "byte")}
    </span>
  );
}

/** The steps that no other step needs: their outputs are what a parent run gets. */
function lastOutputs(steps: readonly Step[]): readonly Step[] {
  const needed = new Set(steps.flatMap(({ needs }) => needs));
  return steps.filter(({ id, output }) => !needed.has(id) && output !== undefined);
}
