// The fields that the form of an approval requires, in words for the person who left the form out.
import type { Payload } from "../model/payload.ts";

const OPTIONS_SHOWN_MAX = 8;

/** `reason (text) and amount (number) are required`; null: the schema names no required fields. */
export function requiredFields(schema: Payload | null): string | null {
  if (schema?.kind !== "json") return null;
  const parsed: unknown = JSON.parse(schema.json);
  const required = at(parsed, "required");
  if (!Array.isArray(required) || required.length === 0) return null;
  const properties = at(parsed, "properties");
  const fields = required.map((name) => fieldWords(String(name), at(properties, String(name))));
  const [last = "", ...before] = fields.toReversed();
  if (before.length === 0) return `${last} is required`;
  return `${before.toReversed().join(", ")} and ${last} are required`;
}

function fieldWords(name: string, schema: unknown): string {
  const kind = kindWords(schema);
  return kind === null ? name : `${name} (${kind})`;
}

function kindWords(schema: unknown): string | null {
  const options = at(schema, "enum");
  if (Array.isArray(options))
    return `one of ${options.slice(0, OPTIONS_SHOWN_MAX).map(String).join(", ")}${options.length > OPTIONS_SHOWN_MAX ? " and others" : ""}`;
  switch (at(schema, "type")) {
    case "string":
      return "text";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "true or false";
    default:
      return null;
  }
}

function at(value: unknown, key: string): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? Reflect.get(value, key) : undefined;
}
