// Inputs and outputs come from agents and callers: they are shown as text and never interpreted.
// Objects and lists can be folded; long values are cut until the user asks for the rest.

import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import { useMemo, useState } from "react";
import { counted, numberWords } from "../words/counts.ts";
import { visibleText } from "../words/foreign-words.ts";
import { CopyButton } from "./copy-button.tsx";
import { Foreign } from "./foreign.tsx";

/** `what` as in "Copy the input". */
export function PayloadView(props: { readonly of: Payload | undefined; readonly what: string }) {
  const { of, what } = props;
  if (of === undefined) return <p className="dim">None.</p>;
  switch (of.body.case) {
    case "json":
      return <JsonText text={of.body.value} what={what} />;
    case "data":
      return (
        <p>
          {counted(of.body.value.length, "byte")} of{" "}
          <code>{of.contentType || "application/octet-stream"}</code>, which is not shown here.
        </p>
      );
    default:
      return <p className="dim">Empty.</p>;
  }
}

type Parsed = { readonly kind: "json"; readonly value: unknown } | { readonly kind: "text" };

export function JsonText({ text, what }: { readonly text: string; readonly what: string }) {
  const parsed = useMemo((): Parsed => {
    try {
      return { kind: "json", value: JSON.parse(text) };
    } catch {
      return { kind: "text" };
    }
  }, [text]);
  return (
    <div className="payload">
      <CopyButton text={text} what={what} />
      {parsed.kind === "text" ? (
        <pre>{visibleText(text)}</pre>
      ) : (
        <Value value={parsed.value} depth={0} />
      )}
    </div>
  );
}

const ENTRIES_SHOWN = 100;
const TEXT_SHOWN = 600;
const OPEN_DEPTH = 2;

function Value({ value, depth }: { readonly value: unknown; readonly depth: number }) {
  if (Array.isArray(value))
    return <Entries of={value.map((item, at) => [String(at), item])} list depth={depth} />;
  if (typeof value === "object" && value !== null)
    return <Entries of={Object.entries(value)} depth={depth} />;
  if (typeof value === "string") return <Text value={value} />;
  return <code className="json-plain">{String(value)}</code>;
}

function Entries(props: {
  readonly of: readonly (readonly [string, unknown])[];
  readonly list?: boolean;
  readonly depth: number;
}) {
  const { of, list = false, depth } = props;
  const [open, setOpen] = useState(depth < OPEN_DEPTH && of.length <= ENTRIES_SHOWN);
  const [most, setMost] = useState(ENTRIES_SHOWN);
  if (of.length === 0) return <code className="json-plain">{list ? "[]" : "{}"}</code>;
  const size = list ? counted(of.length, "item") : counted(of.length, "field");
  return (
    <details
      className="json"
      open={open}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        {list ? "[…]" : "{…}"} <span className="dim">{size}</span>
      </summary>
      {open ? (
        <ul>
          {of.slice(0, most).map(([name, item]) => (
            <li key={name}>
              <bdi className="json-name">{visibleText(name)}</bdi>{" "}
              <Value value={item} depth={depth + 1} />
            </li>
          ))}
          {of.length > most ? (
            <li>
              <button type="button" className="quiet" onClick={() => setMost(most + ENTRIES_SHOWN)}>
                {numberWords(of.length - most)} more
              </button>
            </li>
          ) : null}
        </ul>
      ) : null}
    </details>
  );
}

function Text({ value }: { readonly value: string }) {
  const [whole, setWhole] = useState(value.length <= TEXT_SHOWN);
  return (
    <>
      <code className="json-text">
        "<Foreign text={whole ? value : `${value.slice(0, TEXT_SHOWN)}…`} />"
      </code>
      {whole ? null : (
        <button type="button" className="quiet" onClick={() => setWhole(true)}>
          all {numberWords(value.length)} characters
        </button>
      )}
    </>
  );
}
