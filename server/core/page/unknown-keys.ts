// Keys of stored JSON that this version does not know. They are preserved.
import type { UnknownKeys } from "./page.ts";

export function encodeUnknown(unknown: UnknownKeys | undefined): string {
  if (unknown === undefined) return "";
  const text = JSON.stringify(unknown);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

/** The unknown keys of an object that was read. */
export function unknownOf(
  raw: object,
  known: ReadonlySet<string>,
): { readonly unknown?: UnknownKeys } {
  const found = Object.entries(raw).filter(([key]) => !known.has(key));
  return found.length === 0 ? {} : { unknown: Object.fromEntries(found) };
}
