// Laws of expressions and templates that hold for any text and any JSON.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileExpression, evaluate, type Facts } from "../../server/expressions/expression.ts";
import { isJsonObject, type Json } from "../../server/expressions/json.ts";
import { compileSchema } from "../../server/expressions/schema.ts";
import { compileTemplate, mergeInput, renderTemplate } from "../../server/expressions/template.ts";
import { jsonValues } from "../support/json-values.ts";

const SEED = 20_260_101;

const scope = { steps: ["a", "b-c"], allSteps: ["a", "b-c", "d"], hasItem: true };

function factsOf(input: Json): Facts {
  return {
    input,
    item: input,
    run: { id: "r", workflow: "w", version: 1, labels: {}, key: "", createdTimeMs: 0 },
    steps: new Map([
      ["a", { status: "SUCCEEDED", output: input, error: null }],
      ["b-c", { status: "FAILED", output: null, error: { code: "x", message: "y" } }],
    ]),
  };
}

const json = jsonValues(4).map((value): Json => JSON.parse(JSON.stringify(value)));

/** Tokens that expressions are made of, in any order: most are refused, some are read. */
const tokens = fc
  .array(
    fc.constantFrom(
      ..."input item run steps .a .output .x .id x true null 1 1.5 -2 'a' \"b\" b'c' ( ) [ ] { } : ? , + - * / % < >= == in && || !".split(
        " ",
      ),
      "size(",
      "has(",
      ".map(x,",
      ".all(x,",
      ".filter(x,",
      ".matches(",
      '["b-c"]',
      "//",
      "\n",
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(" "));

/** Expressions that are read, and fail or not when they are evaluated. */
const readable = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom("input", "item.x", "steps.a.output", "run.id", "1", "2.5", '"t"', "null", "[]"),
    fc
      .tuple(tie("value"), fc.constantFrom("+", "*", "==", "<", "||", "in"), tie("value"))
      .map(([left, sign, right]) => `(dyn(${left}) ${sign} dyn(${right}))`),
    tie("value").map((of) => `dyn(${of}).map(x, [x, ${of}])`),
    fc.tuple(tie("value"), tie("value")).map(([of, key]) => `dyn(${of})[dyn(${key})]`),
    fc.tuple(tie("value"), tie("value")).map(([one, two]) => `{"k": ${one}, "l": [${two}]}`),
    fc.tuple(tie("value"), tie("value")).map(([if_, then]) => `(dyn(${if_}) ? ${then} : null)`),
  ),
})).value;

describe("an expression", () => {
  const anyText = fc.oneof(tokens, readable, fc.string({ unit: "binary", maxLength: 60 }));

  test("is refused with a position in its text, or gives a value or a message: it never throws", () => {
    fc.assert(
      fc.property(anyText, json, (text, input) => {
        const compiled = compileExpression(text, scope);
        if (!compiled.ok) {
          const lines = text.split("\n");
          expect(compiled.line).toBeGreaterThanOrEqual(1);
          expect(compiled.line).toBeLessThanOrEqual(lines.length);
          expect(compiled.column).toBeGreaterThanOrEqual(1);
          expect(compiled.column).toBeLessThanOrEqual((lines[compiled.line - 1] ?? "").length + 1);
          return;
        }
        const result = evaluate(compiled.expression, factsOf(input));
        expect(result.ok || result.message.length > 0).toBe(true);
      }),
      { seed: SEED, numRuns: 3_000 },
    );
  });

  test("has the same result each time, also after others, and depends on its facts alone", () => {
    fc.assert(
      fc.property(readable, readable, json, (text, other, input) => {
        const first = compileExpression(text, scope);
        const again = compileExpression(text, scope);
        if (!first.ok || !again.ok) throw new Error(`${text} is refused`);
        const before = evaluate(first.expression, factsOf(input));
        const between = compileExpression(other, scope);
        if (between.ok) evaluate(between.expression, factsOf(input));
        const copy: Json = JSON.parse(JSON.stringify(input));
        expect(evaluate(again.expression, factsOf(copy))).toEqual(before);
        expect(evaluate(first.expression, factsOf(input))).toEqual(before);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test("gives back the JSON that it names", () => {
    fc.assert(
      fc.property(json, (input) => {
        const compiled = compileExpression("input", scope);
        if (!compiled.ok) throw new Error(compiled.message);
        expect(evaluate(compiled.expression, factsOf(input))).toEqual({ ok: true, value: input });
      }),
      { seed: SEED },
    );
  });
});

/** The template text that renders as this text. */
function escapeTemplate(text: string): string {
  // By a function: in a replacement text, "$$" would mean one "$".
  return text.replaceAll("${", () => "$${");
}

describe("a template", () => {
  const escaped = (value: Json): Json => {
    if (typeof value === "string") return escapeTemplate(value);
    if (Array.isArray(value)) return value.map(escaped);
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).map(([key, item]) => [
      escapeTemplate(key),
      escaped(item),
    ]);
    return Object.fromEntries(entries);
  };
  const dollars = fc
    .array(fc.constantFrom("$", "{", "}", "${", "$${", '"', "x", "\\"), { maxLength: 12 })
    .map((parts) => parts.join(""));
  const payload = fc.oneof(json, dollars, fc.dictionary(dollars, dollars), fc.array(dollars));

  test("that is escaped renders as what was meant", () => {
    fc.assert(
      fc.property(payload, (value) => {
        const compiled = compileTemplate(escaped(value), scope, "input");
        if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
        expect(renderTemplate(compiled.template, factsOf(null))).toEqual({ ok: true, value });
      }),
      { seed: SEED, numRuns: 1_000 },
    );
  });

  test("is refused or rendered, whatever is in it", () => {
    const text = fc.tuple(dollars, tokens, dollars).map(([a, b, c]) => `${a}\${${b}}${c}`);
    fc.assert(
      fc.property(fc.array(text), json, (texts, input) => {
        const compiled = compileTemplate(texts, scope, "input");
        if (compiled.ok) renderTemplate(compiled.template, factsOf(input));
        else expect(compiled.problems.length).toBeGreaterThan(0);
      }),
      { seed: SEED },
    );
  });

  test("with one expression has its value, and beside a text the value as text", () => {
    fc.assert(
      fc.property(json, (input) => {
        const compiled = compileTemplate(["${input}", ">${input}"], scope, "input");
        if (!compiled.ok) throw new Error("was refused");
        const text = typeof input === "string" ? input : JSON.stringify(input);
        expect(renderTemplate(compiled.template, factsOf(input))).toEqual({
          ok: true,
          value: [input, `>${text}`],
        });
      }),
      { seed: SEED },
    );
  });
});

test("a fallback's input has its own keys, and those of the step's input that it does not name", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), json),
      fc.dictionary(fc.string(), json),
      (base, over) => {
        const merged = mergeInput(base, over);
        if (!merged.ok || !isJsonObject(merged.value)) throw new Error("was refused");
        const names = new Set([...Object.keys(base), ...Object.keys(over)]);
        expect(new Set(Object.keys(merged.value))).toEqual(names);
        for (const name of names)
          expect(merged.value[name]).toEqual(Object.hasOwn(over, name) ? over[name] : base[name]);
      },
    ),
  );
});

test("any JSON is a schema or is refused, and a check returns a problem or nothing", () => {
  const keyword = fc.constantFrom(
    ..."type properties items allOf anyOf not required enum const pattern minimum $ref $defs if then uniqueItems x".split(
      " ",
    ),
  );
  const value = fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(true, "string", "#", "#/$defs/type", 1, ["a"], ["object", "array"]),
      fc.dictionary(keyword, tie("schema"), { maxKeys: 4 }),
      fc.array(tie("schema"), { maxLength: 3 }),
    ),
  })).schema;
  fc.assert(
    fc.property(value, json, (schema, checked) => {
      const compiled = compileSchema(schema);
      const problem = compiled.ok ? compiled.check(checked) : compiled.message;
      expect(problem === null || problem.length > 0).toBe(true);
    }),
    { seed: SEED, numRuns: 500 },
  );
});
