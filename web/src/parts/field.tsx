// A field with its name above and a short help text below; if the server has refused its value, the
// reason is shown at it.
import { createContext, type ReactNode, useContext } from "react";
import type { Problem } from "../calls/problem.ts";
import { Foreign } from "./foreign.tsx";

/** The problem of the dialog around the fields; null: none. */
export const FieldProblems = createContext<Problem | null>(null);

/** Why the server has refused a part of the request, unless a field within it shows that. */
export function FieldProblem(props: {
  readonly of: string;
  /** The paths of the fields within it. */
  readonly within?: readonly string[];
}) {
  const { of, within = [] } = props;
  const all = useContext(FieldProblems)?.fields ?? [];
  const problems = all.filter(
    (one) => one.path === of && !within.some((path) => isAbout(one, path)),
  );
  return problems.map(({ message }) => (
    <p key={message} className="field-problem" role="alert">
      <Foreign text={message} />
    </p>
  ));
}

export function Field(props: {
  readonly name: string;
  /** The path of the field in the request, as the server names it. */
  readonly path?: string;
  readonly help?: string;
  readonly children: ReactNode;
}) {
  const { path } = props;
  const all = useContext(FieldProblems)?.fields ?? [];
  const problems = path === undefined ? [] : all.filter((one) => isAbout(one, path));
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is handed in.
    <label className="field">
      <span>{props.name}</span>
      {props.children}
      {problems.map(({ message }) => (
        <small key={message} className="field-problem" role="alert">
          <Foreign text={message} />
        </small>
      ))}
      {props.help === undefined ? null : <small>{props.help}</small>}
    </label>
  );
}

/** A value that breaks a schema is named by its path in the message: "cents must be >= 1". */
function isAbout(problem: Problem["fields"][number], path: string): boolean {
  const dot = path.lastIndexOf(".");
  const isWithin = problem.path === path.slice(0, dot);
  return (
    problem.path === path || (isWithin && problem.message.startsWith(`${path.slice(dot + 1)} `))
  );
}
