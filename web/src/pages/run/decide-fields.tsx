// The fields of an approval: the step, yes or no, the approver, a comment, and the form that the
// step requires.
import { type Run, type Step, StepKind, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { DecisionKind } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Field } from "../../parts/field.tsx";
import { SchemaFields, schemaJson } from "../../parts/schema-fields.tsx";
import { keepStatedName, refOf, statedName } from "./run-ref.ts";

export function DecideFields({
  run,
  steps,
}: {
  readonly run: Run;
  readonly steps: readonly Step[];
}) {
  const waiting = steps.filter(
    ({ kind, state }) => kind === StepKind.APPROVAL && state === StepState.WAITING,
  );
  const [step, setStep] = useState(waiting[0]?.id ?? "");
  const [approves, setApproves] = useState(true);
  const asked = useCall(`definition ${run.runId}`, async (signal) => {
    const request = { ...refOf(run), includeDefinition: true };
    return (await scheduler.getRun(request, { signal })).definition;
  });
  const schema = asked.kind === "loaded" ? schemaOf(asked.value, step) : null;
  return (
    <>
      <Field name="Step">
        <select name="step" value={step} onChange={({ target }) => setStep(target.value)}>
          {waiting.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </Field>
      <Field name="Decision">
        <select name="decision" onChange={({ target }) => setApproves(target.value === "approve")}>
          <option value="approve">Approve</option>
          <option value="reject">Reject</option>
        </select>
      </Field>
      {approves && schema !== null ? (
        <SchemaFields
          key={step}
          schema={schema}
          path="form"
          whole="The form of this step, as JSON"
        />
      ) : null}
      <Field name="Your name" help="Stored with the decision; the server does not verify it.">
        <input name="by" required maxLength={256} defaultValue={statedName()} />
      </Field>
      <Field name="Comment">
        <input name="comment" maxLength={1_024} />
      </Field>
    </>
  );
}

/** null: the step has no form. */
function schemaOf(definition: WorkflowDefinition | undefined, step: string): string | null {
  const found = definition?.steps.find(({ id }) => id === step);
  const form = found?.kind.case === "approval" ? found.kind.value.form : undefined;
  return form?.body.case === "json" ? form.body.value : null;
}

export async function decide(run: Run, form: FormData): Promise<void> {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const approver = text("by");
  keepStatedName(approver);
  const json = schemaJson(form);
  await scheduler.decide({
    ...refOf(run),
    stepId: text("step"),
    approver,
    comment: text("comment"),
    decision: form.get("decision") === "reject" ? DecisionKind.REJECT : DecisionKind.APPROVE,
    ...(json === "" ? {} : { form: { body: { case: "json" as const, value: json } } }),
  });
}
