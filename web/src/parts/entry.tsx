// An entry of a list of what happened: one line, which opens to show the rest.
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ReactNode } from "react";
import { Foreign } from "./foreign.tsx";
import { Ago } from "./time.tsx";

export function Entry(props: {
  readonly at: Timestamp | undefined;
  /** Who or what it is about, with links. */
  readonly head: ReactNode;
  /** Cut to the width of the line; it opens the entry. */
  readonly summary: string;
  /** What the open entry shows. */
  readonly children: ReactNode;
}) {
  return (
    <li className="entry">
      <div className="entry-head">{props.head}</div>
      <details className="entry-more">
        <summary>
          <Foreign text={props.summary} />
        </summary>
        {props.children}
      </details>
      <span className="entry-when">
        <Ago at={props.at} />
      </span>
    </li>
  );
}
