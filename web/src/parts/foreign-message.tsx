// A message of an agent, a caller or the server, of any length.
import { useEffect, useRef, useState } from "react";
import { visibleText } from "../words/foreign-words.ts";

/** Its first three lines; the remaining lines on request. */
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
          className="foreign-more"
          aria-expanded={whole}
          onClick={() => setWhole(!whole)}
        >
          {whole ? "less" : "more"}
        </button>
      ) : null}
    </>
  );
}
