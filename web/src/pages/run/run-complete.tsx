// The outcome of a deferred step, reported by a person: for a callback that does not come.
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import { FailureClass } from "@drover/proto/drover/v1/task_pb.ts";
import { useState } from "react";
import { operator } from "../../calls/clients.ts";
import { Act, written } from "../../parts/act.tsx";
import { Field } from "../../parts/field.tsx";
import { PersonFields, personOf } from "../../parts/person-fields.tsx";
import { placeOf } from "../../words/step-name.ts";
import { refOf } from "./run-ref.ts";

/** `stepId`: of the step, or of an item of a map, such as `deploy[3]`. */
export function CompleteAct({ run, stepId }: { readonly run: Run; readonly stepId: string }) {
  return (
    <Act
      name="Complete…"
      label={`Complete ${stepId}…`}
      title={`Complete ${stepId}?`}
      act="Complete the step"
      onAct={(form) => complete(run, stepId, form)}
    >
      <p>
        <strong>What will happen:</strong> the outcome counts as if the callback had reported it: a
        success starts the next steps, and a failure is tried again as the step’s retry policies
        say, unless trying again cannot help. A callback that comes later changes nothing.
      </p>
      <OutcomeFields />
      <PersonFields why="optional" />
    </Act>
  );
}

function OutcomeFields() {
  const [failed, setFailed] = useState(false);
  return (
    <>
      <Field name="Outcome">
        <select name="outcome" onChange={({ target }) => setFailed(target.value === "failed")}>
          <option value="success">The work is done</option>
          <option value="failed">The work failed</option>
        </select>
      </Field>
      {failed ? (
        <>
          <Field name="Error code" path="failed.code" help="Retry policies select by it.">
            <input name="code" required maxLength={128} autoComplete="off" />
          </Field>
          <Field name="Message" path="failed.message">
            <input name="message" maxLength={1_024} autoComplete="off" />
          </Field>
          <Field name="Trying again cannot help">
            <input name="permanent" type="checkbox" value="yes" />
          </Field>
        </>
      ) : (
        <Field name="Output, as JSON (may be left empty)" path="success.output.json">
          <textarea name="output" rows={4} />
        </Field>
      )}
    </>
  );
}

async function complete(run: Run, stepId: string, form: FormData): Promise<string> {
  const { by, why } = personOf(form);
  const { step, item } = placeOf(stepId);
  await operator.completeStep({
    ...refOf(run),
    stepId: step ?? stepId,
    ...(item === null ? {} : { item }),
    outcome: outcomeOf(form),
    by,
    reason: why,
  });
  return `The outcome of ${stepId} is reported.`;
}

function outcomeOf(form: FormData) {
  if (written(form, "outcome") === "failed") {
    const failureClass =
      written(form, "permanent") === "" ? FailureClass.TRANSIENT : FailureClass.PERMANENT;
    const value = { code: written(form, "code"), message: written(form, "message"), failureClass };
    return { case: "failed", value } as const;
  }
  const json = written(form, "output");
  const value = json === "" ? {} : { output: { body: { case: "json", value: json } as const } };
  return { case: "success", value } as const;
}
