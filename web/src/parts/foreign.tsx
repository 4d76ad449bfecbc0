// What agents, callers and servers have written, set apart from the words of the page.
import { visibleText } from "../words/foreign-words.ts";

/** Within a line; its direction of writing does not reach what stands beside it. */
export function Foreign({ text }: { readonly text: string }) {
  return <bdi>{visibleText(text)}</bdi>;
}

/** Within a row of a table, which cuts it; all of it is a hover away. */
export function CutText({ text }: { readonly text: string }) {
  return (
    <span title={visibleText(text)}>
      <Foreign text={text} />
    </span>
  );
}
