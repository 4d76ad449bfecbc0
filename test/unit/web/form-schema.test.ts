/** The form of an approval in the dashboard: fields of its JSON Schema, and JSON of the fields. */
import { expect, test } from "vitest";
import { formFields, formJson } from "../../../web/src/words/form-schema.ts";

const fieldsOf = (schema: object) => formFields(JSON.stringify(schema));

test("text, numbers, yes or no and choices become fields", () => {
  const properties = {
    reason: { type: "string" },
    cents: { type: "integer" },
    urgent: { type: "boolean" },
    tier: { enum: ["gold", "silver"] },
  };
  const fields = fieldsOf({ type: "object", required: ["reason", "tier"], properties });
  expect(fields).toEqual([
    { kind: "text", name: "reason", required: true },
    { kind: "number", name: "cents", required: false },
    { kind: "boolean", name: "urgent", required: false },
    { kind: "choice", name: "tier", required: true, options: ["gold", "silver"] },
  ]);
  const filled = new Map([
    ["reason", "late"],
    ["cents", "5"],
    ["tier", "gold"],
  ]);
  const json = formJson(fields ?? [], (name) => filled.get(name) ?? null);
  expect(JSON.parse(json)).toEqual({ reason: "late", cents: 5, urgent: false, tier: "gold" });
});

test("what is required and not described is text", () => {
  expect(fieldsOf({ required: ["reason"] })).toEqual([
    { kind: "text", name: "reason", required: true },
  ]);
});

test("what is left empty is left out", () => {
  expect(formJson(fieldsOf({ required: ["reason"] }) ?? [], () => "")).toBe("{}");
});

test.each([
  ["a list", { properties: { lines: { type: "array" } } }],
  ["nothing that is named", { type: "object" }],
  ["a choice of numbers", { properties: { size: { enum: [1, 2] } } }],
])("a person writes JSON for %s", (_name, schema) => {
  expect(fieldsOf(schema)).toBeNull();
});
