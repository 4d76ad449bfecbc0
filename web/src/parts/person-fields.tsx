// The name of the person and the reason: fields of a dialog. The name is stored in this browser, so
// that it is typed only once.

import { keepPerson, person, signedIn } from "../shell/session.ts";
import { written } from "./act.tsx";
import { Field } from "./field.tsx";

const NAME_MAX = 256;
const WHY_MAX = 1_024;

/** The field `by` of a form, and `why` unless it is "none". */
export function PersonFields({ why }: { readonly why: "none" | "optional" }) {
  return (
    <>
      <PersonField name={person()} />
      {why === "none" ? null : <WhyField />}
    </>
  );
}

/** `name` is filled in; of who has signed in it is the verified one. */
export function PersonField({ name }: { readonly name: string }) {
  const held = signedIn();
  if (held !== null)
    return (
      <Field name="Your name" help="You have signed in under this name. Stored with the action.">
        <input name="by" readOnly value={held.name} />
      </Field>
    );
  return (
    <Field name="Your name" help="Stored with the action; the server does not verify it.">
      <input name="by" required maxLength={NAME_MAX} autoComplete="name" defaultValue={name} />
    </Field>
  );
}

export function WhyField() {
  return (
    <Field name="Reason" help="Shown in the history.">
      <input name="why" maxLength={WHY_MAX} autoComplete="off" />
    </Field>
  );
}

/**
 * The values of the fields; the name is stored. Of who has signed in none is sent: the server has
 * it from the token.
 */
export function personOf(form: FormData): { readonly by: string; readonly why: string } {
  const why = written(form, "why");
  if (signedIn() !== null) return { by: "", why };
  const by = written(form, "by");
  keepPerson(by);
  return { by, why };
}
