/** The parts of the JSON Schemas (draft 7, which editors read) of texts. */
import { durationForm } from "../duration-text.ts";

export type Schema = { readonly [key: string]: unknown };

export const DURATION_SCHEMA: Schema = Object.freeze({
  type: "string",
  minLength: 1,
  pattern: durationForm.source,
});

/** A map with these keys and no others. `choice`: further rules of which keys it has. */
export function mapSchema(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  choice: Schema = {},
): Schema {
  return {
    type: "object",
    additionalProperties: false,
    ...(required.length > 0 ? { required: [...required] } : {}),
    ...choice,
    properties,
  };
}

/** "": there is no description. */
export function describedAs(description: string, schema: Schema): Schema {
  // Draft 7 ignores all keywords beside a `$ref`.
  const whole = "$ref" in schema ? { allOf: [schema] } : schema;
  return description === "" ? whole : { description, ...whole };
}
