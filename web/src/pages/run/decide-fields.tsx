// The fields of a decision: the step, yes or no, the approver with their roles, a comment, and the
// form that the step requires.
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { type Run, type Step, StepKind, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { DecisionKind } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { useState } from "react";
import { operator, scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Field, FieldProblem } from "../../parts/field.tsx";
import { PersonField, personOf } from "../../parts/person-fields.tsx";
import { SchemaFields, schemaJson } from "../../parts/schema-fields.tsx";
import { person, signedIn } from "../../shell/session.ts";
import { rolesOf } from "../../words/approval-words.ts";
import { refOf } from "./run-ref.ts";

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
      <DecisionFields key={step} approval={approval} roles="" name={person()} />
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
      {approves && schema !== null ? (
        <SchemaFields schema={schema} path="form" whole="The form of this step, as JSON" />
      ) : null}
      <PersonField name={name} />
      <FieldProblem of="approver" />
      {signedIn() === null ? (
        <Field name="Your roles" help="Separated by commas; needed where a role may decide.">
          <input name="roles" maxLength={1_024} defaultValue={roles} />
        </Field>
      ) : null}
      <Field name="Comment">
        <input name="comment" maxLength={1_024} />
      </Field>
    </>
  );
}

/** `step`: in the form of a run, the step that the person has chosen. */
export async function decide(
  run: Pick<Run, "namespace" | "runId">,
  form: FormData,
  step = String(form.get("step") ?? ""),
): Promise<void> {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const json = schemaJson(form);
  await scheduler.decide({
    ...refOf(run),
    stepId: step,
    approver: personOf(form).by,
    roles: rolesOf(text("roles")),
    comment: text("comment"),
    decision: form.get("decision") === "reject" ? DecisionKind.REJECT : DecisionKind.APPROVE,
    ...(json === "" ? {} : { form: { body: { case: "json" as const, value: json } } }),
  });
}
