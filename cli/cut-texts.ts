/** Long texts in tables: cut, unless the caller asks for all of them. */
import { clip } from "./words.ts";

const textShownMax = 100;
/** Where it has a line of its own. */
const payloadShownMax = 200;
/** An error names its cause, and what it is about, in whole sentences. */
const errorShownMax = 500;

export interface Texts {
  text(of: string): string;
  payload(of: string): string;
  error(of: string): string;
  /** Whether any was cut so far. */
  readonly cut: boolean;
}

export function cutTexts({ full = false }: { readonly full?: boolean } = {}): Texts {
  let cut = false;
  const cutAt = (lengthMax: number) => (of: string) => {
    if (full || of.length <= lengthMax) return of;
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
