// A definition as text: the same text for the same content, whatever the order in which it was put
// together, so that each content has one id. Bytes are base64 under a key of their own.
import type { Definition } from "../core/definition.ts";

const BYTES_KEY = "$bytes";

export function definitionText(definition: Definition): string {
  return JSON.stringify(definition, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return { [BYTES_KEY]: Buffer.from(value).toString("base64") };
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Reads what `definitionText` wrote; nothing else may be given to it. */
export function definitionFromText(text: string): Definition {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || !(BYTES_KEY in value)) return value;
    return new Uint8Array(Buffer.from(String(value[BYTES_KEY]), "base64"));
  });
}
