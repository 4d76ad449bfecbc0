// A definition as text, and what else is kept as it was said: the same text for the same content,
// whatever the order in which it was put together, so that each content is known again. Bytes are
// base64 under a key of their own.
import type { Definition } from "../core/definition.ts";
import type { ScheduleSpec } from "./schedules.ts";

/** Where a payload keeps its bytes. */
const BYTES_FIELD = "data";
const BYTES_KEY = "$bytes";

export function definitionText(definition: Definition): string {
  return contentText(definition);
}

/** Reads what `definitionText` wrote; nothing else may be given to it. */
export function definitionFromText(text: string): Definition {
  return JSON.parse(text, withBytes);
}

export function specText(spec: ScheduleSpec): string {
  return contentText(spec);
}

/** Reads what `specText` wrote; nothing else may be given to it. */
export function specFromText(text: string): ScheduleSpec {
  return JSON.parse(text, withBytes);
}

function contentText(content: object): string {
  return JSON.stringify(content, function (this: object, key: string, shown: unknown) {
    // A Buffer, and such comes from the wire, has made JSON of its own of itself by now: `shown`.
    const value: unknown = Reflect.get(this, key);
    if (value instanceof Uint8Array) return { [BYTES_KEY]: Buffer.from(value).toString("base64") };
    if (typeof shown !== "object" || shown === null || Array.isArray(shown)) return shown;
    return Object.fromEntries(Object.entries(shown).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Only a payload's field: labels have names of any kind, these keys among them. */
function withBytes(key: string, value: unknown): unknown {
  if (key !== BYTES_FIELD || typeof value !== "object" || value === null) return value;
  if (BYTES_KEY in value) return new Uint8Array(Buffer.from(String(value[BYTES_KEY]), "base64"));
  // Rows of before 0.1.0 hold what a Buffer makes of itself.
  if ("data" in value && Array.isArray(value.data)) return Uint8Array.from(value.data);
  return value;
}
