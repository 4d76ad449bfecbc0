/**
 * Long texts in tables: cut, unless the user asks for whole texts. No text is cut that fits in a
 * line of the terminal.
 */
import type { Output } from "./output.ts";
import { clip } from "./words.ts";

const textShownMax = 100;
/** For a payload on a line of its own. */
const payloadShownMax = 200;
/** An error names its cause and its subject in whole sentences. */
const errorShownMax = 500;

export interface Texts {
  text(of: string): string;
  payload(of: string): string;
  error(of: string): string;
  /** Whether any text was cut so far. */
  readonly cut: boolean;
}

export function cutTexts({ columns, isWide }: Pick<Output, "columns" | "isWide">): Texts {
  let cut = false;
  const cutAt = (shownMax: number) => (of: string) => {
    const lengthMax = Math.max(shownMax, columns ?? 0);
    if (isWide || of.length <= lengthMax) return of;
    cut = true;
    return clip(of, lengthMax);
  };
  return Object.freeze({
    text: cutAt(textShownMax),
    payload: cutAt(payloadShownMax),
    error: cutAt(errorShownMax),
    get cut() {
      return cut;
    },
  });
}
