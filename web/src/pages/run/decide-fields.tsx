// The fields of a decision: the step, yes or no, the approver with their roles, a comment, and the
// form that the step requires.
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { type Run, type Step, StepKind, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { DecisionKind } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { operator, scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Field, FieldProblem } from "../../parts/field.tsx";
import { rolesOf } from "../../words/approval-words.ts";
import { type FormField, formFields, formJson } from "../../words/form-schema.ts";
import { keepStatedName, refOf, statedName } from "./run-ref.ts";

const FORM_JSON = "form-json";
const nameOf = (field: string) => `form.${field}`;

/** For the steps of a run, of which the person chooses one. */
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
  const asked = useCall(`approvals ${run.runId}`, async (signal) => {
    return (await operator.listApprovals(refOf(run), { signal })).approvals;
  });
  const approval =
    asked.kind === "loaded" ? asked.value.find(({ stepId }) => stepId === step) : undefined;
  return (
    <>
      <Field name="Step">
        <select name="step" value={step} onChange={({ target }) => setStep(target.value)}>
          {waiting.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </Field>
      <DecisionFields key={step} approval={approval} roles="" name={statedName()} />
    </>
  );
}

/** For one approval; `name` and `roles` are filled in. */
export function DecisionFields({
  approval,
  name,
  roles,
}: {
  readonly approval: Approval | undefined;
  readonly name: string;
  readonly roles: string;
}) {
  const [approves, setApproves] = useState(true);
  const schema = approval?.form?.body.case === "json" ? approval.form.body.value : null;
  return (
    <>
      <Field name="Decision">
        <select name="decision" onChange={({ target }) => setApproves(target.value === "approve")}>
          <option value="approve">Approve</option>
          <option value="reject">Reject</option>
        </select>
      </Field>
      {approves && schema !== null ? <FormFields schema={schema} /> : null}
      <FieldProblem of="form" />
      <Field name="Your name" help="Stored with the decision; the server does not verify it.">
        <input name="by" required maxLength={256} defaultValue={name} />
      </Field>
      <FieldProblem of="approver" />
      <Field name="Your roles" help="Separated by commas; needed where a role may decide.">
        <input name="roles" maxLength={1_024} defaultValue={roles} />
      </Field>
      <Field name="Comment">
        <input name="comment" maxLength={1_024} />
      </Field>
    </>
  );
}

function FormFields({ schema }: { readonly schema: string }) {
  const fields = formFields(schema);
  if (fields === null)
    return (
      <Field name="The form of this step, as JSON" help={`It must match this schema: ${schema}`}>
        <textarea name={FORM_JSON} rows={4} required defaultValue="{}" />
      </Field>
    );
  return (
    <>
      {/* The schema is part of the form, so that the fields are known when the form is read. */}
      <input type="hidden" name="form-schema" value={schema} />
      {fields.map((field) => (
        <FormInput key={field.name} field={field} />
      ))}
    </>
  );
}

function FormInput({ field }: { readonly field: FormField }) {
  const { name, required } = field;
  const given = { name: nameOf(name), required };
  switch (field.kind) {
    case "text":
      return (
        <Field name={name}>
          <input {...given} />
        </Field>
      );
    case "number":
      return (
        <Field name={name}>
          <input {...given} type="number" step="any" />
        </Field>
      );
    case "boolean":
      return (
        <Field name={name}>
          <input name={nameOf(name)} type="checkbox" value="yes" />
        </Field>
      );
    case "choice":
      return (
        <Field name={name}>
          <select {...given}>
            {required ? null : <option value="">–</option>}
            {field.options.map((option) => (
              <option key={option}>{option}</option>
            ))}
          </select>
        </Field>
      );
  }
}

/** `step`: in the form of a run, the step that the person has chosen. */
export async function decide(
  run: Pick<Run, "namespace" | "runId">,
  form: FormData,
  step = String(form.get("step") ?? ""),
): Promise<void> {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const approver = text("by");
  keepStatedName(approver);
  const schema = form.get("form-schema");
  const fields = typeof schema === "string" ? formFields(schema) : null;
  const json = fields === null ? text(FORM_JSON) : formJson(fields, (name) => text(nameOf(name)));
  await scheduler.decide({
    ...refOf(run),
    stepId: step,
    approver,
    roles: rolesOf(text("roles")),
    comment: text("comment"),
    decision: form.get("decision") === "reject" ? DecisionKind.REJECT : DecisionKind.APPROVE,
    ...(json === "" ? {} : { form: { body: { case: "json" as const, value: json } } }),
  });
}
