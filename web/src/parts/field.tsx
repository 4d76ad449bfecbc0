// A field with its name above and a short help text below.
import type { ReactNode } from "react";

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
