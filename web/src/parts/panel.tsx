// A part of a page with a title, and facts as pairs of a name and a value.

import { type ReactNode, useId } from "react";
import { ForeignMessage } from "./foreign-message.tsx";

export function Panel(props: {
  readonly title: string;
  /** At the right of the title. */
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.beside}
      </div>
      {props.children}
    </section>
  );
}

export type Fact = readonly [name: string, value: ReactNode];

/** Facts whose value is null or empty are left out. */
export function Facts({ of }: { readonly of: readonly Fact[] }) {
  return (
    <dl className="facts">
      {of
        .filter(([, value]) => value !== null && value !== "" && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? <ForeignMessage text={value} /> : value}</dd>
          </div>
        ))}
    </dl>
  );
}
