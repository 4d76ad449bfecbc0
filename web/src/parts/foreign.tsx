// Text of agents, callers and servers, isolated from the words of the page.
import { visibleText } from "../words/foreign-words.ts";

/** Inside a line; its writing direction does not affect the text around it. */
export function Foreign({ text }: { readonly text: string }) {
  return <bdi>{visibleText(text)}</bdi>;
}

/** Inside a row of a table, which cuts it; hovering shows the whole text. */
export function CutText({ text }: { readonly text: string }) {
  return (
    <span title={visibleText(text)}>
      <Foreign text={text} />
    </span>
  );
}
