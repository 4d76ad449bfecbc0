// JSON with expressions in its texts, conditions, times, and the inputs of fallbacks.
import { describe, expect, test } from "vitest";
import { evaluate } from "../../../server/expressions/expression.ts";
import type { Json } from "../../../server/expressions/json.ts";
import {
  compileCondition,
  compileTemplate,
  compileTime,
  mergeInput,
  renderTemplate,
} from "../../../server/expressions/template.ts";
import { facts, scope } from "./facts.ts";

function render(payload: Json): Json {
  const compiled = compileTemplate(payload, scope, "input");
  if (!compiled.ok) return compiled.problems.map(({ path, message }) => `${path}: ${message}`);
  const result = renderTemplate(compiled.template, facts);
  return result.ok ? result.value : `failed: ${result.message}`;
}

function problems(payload: Json): readonly string[] {
  const compiled = compileTemplate(payload, scope, "input");
  if (compiled.ok) return [];
  return compiled.problems.map(
    ({ path, line, column, message }) => `${path} ${line}:${column} ${message}`,
  );
}

describe("a template", () => {
  test("gives a lone expression's value with its type", () => {
    expect(render({ n: "${input.n}", all: ["${input.list}", "${input.none}"] })).toEqual({
      n: 2,
      all: [[1, 2, 3], null],
    });
  });

  test("puts values into a text, texts as they are and others as JSON", () => {
    expect(render("Dear ${input.name}, ${input.n} of ${input.list}: ${input.none}")).toBe(
      "Dear Ann, 2 of [1,2,3]: null",
    );
    expect(render("${input.name}${input.n}")).toBe("Ann2");
    expect(render(" ${input.n}")).toBe(" 2");
  });

  test("leaves what has no expression as it is", () => {
    const plain = { a: [1, "$", "{}", "$5", "}", { b: null }], "some key": true };
    expect(render(plain)).toEqual(plain);
  });

  test("writes $${ for a ${ that is meant", () => {
    expect(render("costs $${price}")).toBe("costs ${price}");
    expect(render("$${${input.n}}")).toBe("${2}");
    expect(render({ "$${key}": 1 })).toEqual({ "${key}": 1 });
  });

  test("finds the end of an expression behind braces and quotes within it", () => {
    expect(render('${ {"a": {"b": "}"}}.a.b }')).toBe("}");
    expect(render("<${'}'}${\"it's {\"}>")).toBe("<}it's {>");
    expect(render('${r"\\}" + """}"}"""}')).toBe('\\}}"}');
  });

  test("lists the steps that it refers to", () => {
    const compiled = compileTemplate(
      { a: "${steps.flight.output.price}", b: ["x ${steps.a.status}"] },
      scope,
      "input",
    );
    expect(compiled.ok && compiled.template.steps).toEqual(["flight", "a"]);
  });

  test("reports every mistake with the path of its text and the position in it", () => {
    expect(
      problems({
        traveller: { name: "Dear\n  ${inptu.name} and ${input.x +}" },
        list: ["${steps.car.output}"],
        "odd key": "${",
        "${input.n}": 1,
      }),
    ).toEqual([
      'input.traveller.name 2:5 there is no "inptu": did you mean input?',
      'input.traveller.name 2:31 it ends after "+", where a value is missing',
      'input.list[0] 1:9 step "car" is not upstream of this one, so it may not have ended yet: add it to needs',
      'input["odd key"] 1:3 "${" is never closed: write a "}" behind the expression',
      'input 1:3 the key "${input.n}" is computed: keys are written as they are, $${ for a literal ${',
    ]);
  });

  test("reports where it fails when it is rendered", () => {
    expect(render({ traveller: { name: "Dear ${input.nme}" } })).toBe(
      'failed: input.traveller.name: input.nme: there is no "nme": did you mean "name"? (line 1, column 13)',
    );
  });

  test("shares its limits among its expressions", () => {
    const compiled = compileTemplate(["${input.list}", "${input.list}"], scope, "input");
    if (!compiled.ok) throw new Error("was refused");
    expect(renderTemplate(compiled.template, facts, { cost: 1_000, bytes: 20 }).ok).toBe(true);
    expect(renderTemplate(compiled.template, facts, { cost: 1_000, bytes: 10 }).ok).toBe(false);
    expect(renderTemplate(compiled.template, facts, { cost: 1, bytes: 1_000 }).ok).toBe(false);
  });
});

describe("a condition", () => {
  const holds = (text: string) => {
    const compiled = compileCondition(text, scope);
    if (!compiled.ok) return `${compiled.line}:${compiled.column} ${compiled.message}`;
    const result = evaluate(compiled.expression, facts);
    return result.ok ? result.value : result.message;
  };

  test("is an expression, with ${} around it or without", () => {
    expect(holds("input.wants_car")).toBe(true);
    expect(holds("${input.wants_car}")).toBe(true);
    expect(holds("  ${ input.n > 5 }  ")).toBe(false);
  });

  test("must be a bool, and a mistake in it has its position in the whole text", () => {
    expect(holds("size(input.list)")).toBe("1:1 this is an int, where a bool is needed");
    expect(holds(" ${ inptu.x }")).toBe('1:5 there is no "inptu": did you mean input?');
    expect(holds("${input.a} && ${input.b}")).toMatch(/^1:12 "\$\{\.\.\.\}" is all of a condition/);
    expect(holds("${input.a")).toMatch(/^1:3 "\$\{" is never closed/);
  });
});

test("a time is a timestamp, or a part of the input, which may hold one as a text", () => {
  const ok = (text: string) => compileTime(text, scope).ok;
  expect(ok('run.created_time + duration("1h")')).toBe(true);
  expect(ok("${input.at}")).toBe(true);
  expect(ok("1 + 1")).toBe(false);
});

describe("the input of a fallback", () => {
  test("goes over the step's input key by key", () => {
    expect(mergeInput({ a: 1, b: { c: 1 } }, { b: { d: 2 }, e: 3 })).toEqual({
      ok: true,
      value: { a: 1, b: { d: 2 }, e: 3 },
    });
  });

  test("replaces it where it is no object", () => {
    expect(mergeInput({ a: 1 }, [1])).toEqual({ ok: true, value: [1] });
    expect(mergeInput(null, "x")).toEqual({ ok: true, value: "x" });
  });

  test("cannot go over what has no keys", () => {
    expect(mergeInput([1], { a: 1 })).toEqual({
      ok: false,
      message:
        "the fallback's input names keys, and the step's input is a list: only an object can be merged with",
    });
  });
});
