// Definitions and the specs of cron schedules as text. Equal content has equal text, whatever the
// order of its fields, so that content which is stored already is recognized. Bytes are base64, in
// an object with a key of its own.
import type { Definition } from "../core/definition/definition.ts";
import type { ScheduleSpec } from "./schedules.ts";

/** The field of a payload that contains its bytes. */
const BYTES_FIELD = "data";
const BYTES_KEY = "$bytes";

export function definitionText(definition: Definition): string {
  return contentText(definition);
}

/** The text must come from `definitionText`. */
export function definitionFromText(text: string): Definition {
  return JSON.parse(text, withBytes);
}

export function specText(spec: ScheduleSpec): string {
  return contentText(spec);
}

/** The text must come from `specText`. */
export function specFromText(text: string): ScheduleSpec {
  return JSON.parse(text, withBytes);
}

function contentText(content: object): string {
  return JSON.stringify(content, function (this: object, key: string, shown: unknown) {
    // JSON.stringify has already called the toJSON of a Buffer, and payloads from the wire are
    // Buffers: `shown` is that result, so the value itself is read here.
    const value: unknown = Reflect.get(this, key);
    if (value instanceof Uint8Array) return { [BYTES_KEY]: Buffer.from(value).toString("base64") };
    if (typeof shown !== "object" || shown === null || Array.isArray(shown)) return shown;
    return Object.fromEntries(Object.entries(shown).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Decodes only the field of a payload: labels may have any name, these keys included. */
function withBytes(key: string, value: unknown): unknown {
  if (key !== BYTES_FIELD || typeof value !== "object" || value === null) return value;
  if (BYTES_KEY in value) return new Uint8Array(Buffer.from(String(value[BYTES_KEY]), "base64"));
  // Rows from before 0.1.0 contain what a Buffer's toJSON returns.
  if ("data" in value && Array.isArray(value.data)) return Uint8Array.from(value.data);
  return value;
}
