// What agents, callers and servers have written, set apart from the words of the page.
import { useEffect, useRef, useState } from "react";
import { visibleText } from "../words/foreign-words.ts";

/** Within a line; its direction of writing does not reach what stands beside it. */
export function Foreign({ text }: { readonly text: string }) {
  return <bdi>{visibleText(text)}</bdi>;
}

/** A message of any length: its first three lines, and the rest if somebody wants it. */
export function ForeignMessage({ text }: { readonly text: string }) {
  const box = useRef<HTMLElement>(null);
  const [whole, setWhole] = useState(false);
  const [isCut, setCut] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text has another height.
  useEffect(() => {
    const target = box.current;
    if (target === null) return;
    // A line of the font may be a fraction of a pixel higher than its box.
    const measure = () => setCut(target.scrollHeight > target.clientHeight + 1);
    measure();
    const resize = new ResizeObserver(measure);
    resize.observe(target);
    return () => resize.disconnect();
  }, [text]);
  return (
    <>
      <bdi ref={box} className="foreign" data-whole={whole}>
        {visibleText(text)}
      </bdi>
      {isCut || whole ? (
        <button
          type="button"
          className="quiet foreign-more"
          aria-expanded={whole}
          onClick={() => setWhole(!whole)}
        >
          {whole ? "less" : "more"}
        </button>
      ) : null}
    </>
  );
}
