// The name of the person and the reason: fields of a dialog. The name is stored in this browser, so
// that it is typed only once.

import { keepPerson, person } from "../shell/session.ts";
import { written } from "./act.tsx";
import { Field } from "./field.tsx";

const NAME_MAX = 256;
const WHY_MAX = 1_024;

/** The field `by` of a form, and `why` unless it is "none". */
export function PersonFields({ why }: { readonly why: "none" | "optional" }) {
  return (
    <>
      <Field name="Your name" help="Stored with the action; the server does not verify it.">
        <input
          name="by"
          required
          maxLength={NAME_MAX}
          autoComplete="name"
          defaultValue={person()}
        />
      </Field>
      {why === "none" ? null : <WhyField />}
    </>
  );
}

export function WhyField() {
  return (
    <Field name="Reason" help="Shown in the history.">
      <input name="why" maxLength={WHY_MAX} autoComplete="off" />
    </Field>
  );
}

/** The values of the fields; the name is stored. */
export function personOf(form: FormData): { readonly by: string; readonly why: string } {
  const by = written(form, "by");
  keepPerson(by);
  return { by, why: written(form, "why") };
}
