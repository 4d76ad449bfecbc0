// JSON Schemas as text: of all keywords and kinds of values, usable or not, and bombs, whose check
// or compilation could cost far more than they weigh.
import fc from "fast-check";

const PATTERNS = [
  "^a+$",
  "(a+)+$",
  "(x|x)*y",
  "[",
  "(?=a)",
  "\\p{L}{900}",
  "a{1000}{1000}",
  "",
  "^.{0,100000}$",
];
const schema = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>(true, false, {}, 1, null, "x", []),
    fc.constantFrom<unknown>(
      { $ref: "#" },
      { $ref: "#/$defs/a" },
      { $ref: "#/$defs/b" },
      { $ref: "http://x/y" },
      { $ref: "#/properties/a" },
      { $dynamicRef: "#a" },
      { $id: "x", $anchor: "a" },
    ),
    fc.record(
      {
        type: fc.constantFrom<unknown>(
          "object",
          "array",
          "string",
          "number",
          "integer",
          "null",
          "x",
          ["string", "null"],
          1,
        ),
        properties: fc.dictionary(
          fc.constantFrom("a", "b", "__proto__", "constructor", ""),
          tie("schema"),
          { maxKeys: 3 },
        ),
        patternProperties: fc.dictionary(fc.constantFrom(...PATTERNS), tie("schema"), {
          maxKeys: 2,
        }),
        items: tie("schema"),
        prefixItems: fc.array(tie("schema"), { maxLength: 3 }),
        allOf: fc.array(tie("schema"), { maxLength: 4 }),
        anyOf: fc.array(tie("schema"), { maxLength: 4 }),
        oneOf: fc.array(tie("schema"), { maxLength: 4 }),
        not: tie("schema"),
        if: tie("schema"),
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: tie("schema"),
        $defs: fc.record({ a: tie("schema"), b: tie("schema") }),
        required: fc.constantFrom<unknown>(["a"], ["a", "a"], [], "a", [1]),
        pattern: fc.constantFrom<unknown>(...PATTERNS, 1),
        format: fc.constantFrom("date", "uuid", "regex", "x", "uri"),
        enum: fc.constantFrom<unknown>([1, 1], [], ["a"], [{}], 1),
        const: fc.constantFrom<unknown>(null, {}, 1e308, "a"),
        multipleOf: fc.constantFrom<unknown>(0, -1, 1e-300, 0.01, 1e300, "1"),
        minLength: fc.constantFrom<unknown>(-1, 0, 1.5, 1e300, "1"),
        maxItems: fc.constantFrom<unknown>(0, 1e9, -1),
        uniqueItems: fc.constantFrom<unknown>(true, false, "x"),
        additionalProperties: tie("schema"),
        unevaluatedProperties: tie("schema"),
        unevaluatedItems: tie("schema"),
        propertyNames: tie("schema"),
        dependentSchemas: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
        contains: tie("schema"),
        default: fc.constantFrom<unknown>(1, {}),
        nullable: fc.constant(true),
        $schema: fc.constantFrom("https://json-schema.org/draft/2020-12/schema", "x"),
        "drover:price": fc.constant(-1e9),
        $comment: fc.constant("*/ process.exit() /*"),
      },
      { requiredKeys: [] },
    ),
  ),
})).schema;

const SCHEMA_BOMBS: readonly unknown[] = [
  nestedSchema(400, (inner) => ({ properties: { a: inner } })),
  nestedSchema(12, (inner) => ({ allOf: [inner, inner, inner] })),
  nestedSchema(9, (inner) => ({ anyOf: [inner, inner, inner] })),
  {
    $defs: {
      a: { allOf: [{ $ref: "#/$defs/b" }, { $ref: "#/$defs/b" }] },
      b: { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] },
    },
    $ref: "#/$defs/a",
  },
  { $ref: "#" },
  { items: { $ref: "#" }, anyOf: [{ $ref: "#" }, { $ref: "#" }] },
  {
    properties: { a: { $ref: "#" }, b: { $ref: "#" } },
    unevaluatedProperties: false,
    allOf: [{ $ref: "#/properties/a" }],
  },
  { enum: Array.from({ length: 20_000 }, (_, no) => no) },
  { required: Array.from({ length: 20_000 }, (_, no) => `k${no}`) },
  {
    properties: Object.fromEntries(
      Array.from({ length: 900 }, (_, no) => [`k${no}`, { type: "string", pattern: `^a{${no}}$` }]),
    ),
  },
  { pattern: "(((a{1,100}){1,100}){1,100}){1,100}" },
  { not: { not: { not: { not: {} } } } },
  { oneOf: Array.from({ length: 900 }, () => ({ type: "object" })) },
];

function nestedSchema(depth: number, around: (inner: unknown) => unknown): unknown {
  return Array.from({ length: depth }).reduce<unknown>((inner) => around(inner), {});
}

export const schemaTexts = fc.oneof(
  { weight: 9, arbitrary: schema.map((made) => JSON.stringify(made)) },
  { weight: 1, arbitrary: fc.constantFrom(...SCHEMA_BOMBS.map((made) => shortened(made))) },
);

/** A bomb that shares its parts may be gigabytes of text. */
function shortened(made: unknown): string {
  return JSON.stringify(made).slice(0, 1_500_000);
}
