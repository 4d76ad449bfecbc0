// The head of a page: its title, its subject, and its actions. Sets the title of the tab. Of an id
// as a title only the end is shown, with a button that copies it.

import { type ReactNode, useEffect } from "react";
import { useNamespace } from "../shell/namespace.tsx";
import { visibleText } from "../words/foreign-words.ts";
import { CopyButton } from "./copy-button.tsx";
import { Foreign } from "./foreign.tsx";
import { ShortId } from "./short-id.tsx";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function PageHead(props: {
  readonly title: string;
  /** Above the title: a link to the parent page. */
  readonly above?: ReactNode;
  /** Beside the title: its state. */
  readonly beside?: ReactNode;
  readonly children?: ReactNode;
}) {
  const namespace = useNamespace();
  const where = namespace === "default" ? "Drover" : `${namespace} · Drover`;
  useEffect(() => {
    document.title = `${visibleText(props.title)} · ${where}`;
  }, [props.title, where]);
  return (
    <div className="page-head">
      <div>
        {props.above === undefined ? null : <p className="page-above">{props.above}</p>}
        <div className="page-title">
          {UUID.test(props.title) ? (
            <IdTitle id={props.title} />
          ) : (
            <h1>
              <Foreign text={props.title} />
            </h1>
          )}
          {props.beside}
        </div>
      </div>
      <div className="page-acts">{props.children}</div>
    </div>
  );
}

function IdTitle({ id }: { readonly id: string }) {
  return (
    <>
      <h1 className="id-title">
        <ShortId of={id} />
      </h1>
      <CopyButton text={id} what="this id" />
    </>
  );
}
