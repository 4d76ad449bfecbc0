// A field with its name above and a short help text below.
import { createContext, type ReactNode, useContext } from "react";
import { Foreign } from "./foreign.tsx";

/** Which field of a dialog the server refused, and why; null: none. */
export interface RefusedField {
  readonly field: string;
  readonly message: string;
}

export const RefusedFieldContext = createContext<RefusedField | null>(null);

/** Why the server refused the field above; nothing if it did not. */
export function FieldProblem({ of }: { readonly of: string }) {
  const refused = useContext(RefusedFieldContext);
  if (refused?.field !== of) return null;
  return (
    <p className="field-problem" role="alert">
      <Foreign text={refused.message} />
    </p>
  );
}

export function Field(props: {
  readonly name: string;
  readonly help?: string;
  readonly children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is handed in.
    <label className="field">
      <span>{props.name}</span>
      {props.children}
      {props.help === undefined ? null : <small>{props.help}</small>}
    </label>
  );
}
