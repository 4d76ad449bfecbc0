// A definition as text, and what else is kept as it was said: the same text for the same content,
// whatever the order in which it was put together, so that each content is known again. Bytes are
// base64 under a key of their own.
import type { Definition } from "../core/definition.ts";
import type { ScheduleSpec } from "./schedules.ts";

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
  return JSON.stringify(content, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return { [BYTES_KEY]: Buffer.from(value).toString("base64") };
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function withBytes(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !(BYTES_KEY in value)) return value;
  return new Uint8Array(Buffer.from(String(value[BYTES_KEY]), "base64"));
}
