// What an approver decides about: the input of the run, and the outputs of the steps that the
// approval needs. An approval itself has no input.
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { PayloadView } from "../../parts/payload-view.tsx";
import { Shown } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { refOf } from "../run/run-ref.ts";

export function ApprovalSubject({ of: { runId, stepId } }: { readonly of: Approval }) {
  const namespace = useNamespace();
  const asked = useCall(`subject ${namespace} ${runId}`, (signal) =>
    scheduler.getRun(refOf({ namespace, runId }), { signal }),
  );
  return (
    <Shown of={asked} what="the input of the run">
      {(found) => (
        <>
          <section>
            <h3>Input of the run</h3>
            <PayloadView of={found.run?.input} what="the input of the run" />
          </section>
          {outputsFor(stepId, found).map(({ id, output }) => (
            <section key={id}>
              <h3>Output of {id}</h3>
              <PayloadView of={output} what={`the output of ${id}`} />
            </section>
          ))}
        </>
      )}
    </Shown>
  );
}

function outputsFor(stepId: string, { steps }: GetRunResponse) {
  const needs = steps.find(({ id }) => id === stepId)?.needs ?? [];
  return steps.filter(({ id, output }) => needs.includes(id) && output !== undefined);
}
