// Every expression, template and schema of a definition, when it is registered.
import { describe, expect, test } from "vitest";
import type { Payload } from "../../../server/core/model/payload.ts";
import {
  checkDefinitionExpressions,
  type StepExpressions,
} from "../../../server/expressions/definition-expressions.ts";

const json = (value: unknown): Payload => ({ kind: "json", json: JSON.stringify(value) });

function problems(...steps: readonly StepExpressions[]): readonly string[] {
  return checkDefinitionExpressions(steps).map(({ path, line, column, message }) =>
    line === undefined ? `${path}: ${message}` : `${path} ${line}:${column}: ${message}`,
  );
}

const flight: StepExpressions = { id: "flight", needs: [] };
const hotel: StepExpressions = { id: "book-hotel", needs: ["flight"] };

test("a definition without mistakes has no problems", () => {
  expect(
    problems(
      { ...flight, input: json({ to: "${input.to}" }), form: json({ required: ["to"] }) },
      {
        ...hotel,
        when: "${steps.flight.status == 'SUCCEEDED'}",
        input: json({ id: "${steps.flight.output.id}" }),
        fallback: [{}, { input: json({ chain: "second ${run.key}" }) }],
        outputSchema: json({ type: "object" }),
      },
      { id: "wait", needs: ["book-hotel"], until: 'run.created_time + duration("1h")' },
      {
        id: "each",
        needs: ["wait"],
        hasItem: true,
        input: json(['${item.host + steps["book-hotel"].status}']),
      },
    ),
  ).toEqual([]);
});

test("every mistake is named by the path of its field, in the order of the steps", () => {
  expect(
    problems(
      { ...flight, when: "${inptu.x}", input: json({ to: { city: "${input.to +}" } }) },
      {
        ...hotel,
        when: "1 + 1",
        until: '"tomorrow"',
        fallback: [{}, { input: json(["${item}"]) }],
        form: json({ properties: { a: { tpye: "x" } } }),
        outputSchema: { kind: "json", json: "{" },
      },
    ),
  ).toEqual([
    'steps[0].when 1:3: there is no "inptu": did you mean input?',
    'steps[0].input.to.city 1:12: it ends after "+", where a value is missing',
    "steps[1].when 1:1: this is an int, where a bool is needed",
    "steps[1].until 1:1: this is a string, where a timestamp is needed",
    "steps[1].fallback[1].input[0] 1:3: there is an item only in the steps of a map",
    expect.stringMatching(/^steps\[1\]\.output_schema: is not JSON: /),
    'steps[1].form.properties.a.tpye: there is no keyword "tpye": did you mean "type"?',
  ]);
});

test("a payload that is not JSON is carried, and a schema must be JSON", () => {
  const data: Payload = { kind: "data", contentType: "image/png", data: new Uint8Array() };
  expect(problems({ ...flight, input: data })).toEqual([]);
  expect(problems({ ...flight, form: data })).toEqual([
    "steps[0].form: a schema is JSON, and this is image/png",
  ]);
});

test("what compiles for longer than others can wait is refused", () => {
  const long = `\${["${"x".repeat(4_000)}"]}`;
  const many = Array.from({ length: 60 }, () => long);
  expect(problems({ ...flight, input: json(many.slice(0, 40)) })).toEqual([]);
  expect(problems({ ...flight, input: json(many) })[0]).toContain(
    "the expressions of this workflow have more than 200000 characters together",
  );
  const patterns = Array.from({ length: 100 }, (_, no) => `\${run.id.matches("a{${no + 200}}")}`);
  expect(problems({ ...flight, input: json(patterns) })[0]).toContain("takes more work than");
  const parts = Array.from({ length: 900 }, (_, no) => [`p${no}`, {}]);
  const form = json({ properties: Object.fromEntries(parts) });
  const steps = Array.from({ length: 7 }, (_, no) => ({ id: `s${no}`, needs: [], form }));
  expect(problems(...steps)[0]).toContain("take too long together");
});

describe("a step may refer", () => {
  const refersTo = (id: string, step: StepExpressions): StepExpressions => ({
    ...step,
    when: `steps["${id}"].status == "SUCCEEDED"`,
  });

  test("to its needs and to theirs", () => {
    const confirm = { id: "confirm", needs: ["book-hotel"] };
    expect(problems(flight, hotel, refersTo("flight", confirm))).toEqual([]);
  });

  test("to no other step, and not to itself", () => {
    const car = { id: "car", needs: ["flight"] };
    expect(problems(flight, hotel, refersTo("book-hotel", car))[0]).toContain(
      'step "book-hotel" is not upstream of this one',
    );
    expect(problems(refersTo("flight", flight))[0]).toContain('step "flight" is not upstream');
  });

  test("when it is always run, to every step that is not", () => {
    const clean = { id: "clean", needs: [], always: true };
    const report = { id: "report", needs: [], always: true };
    expect(problems(flight, hotel, refersTo("book-hotel", clean))).toEqual([]);
    expect(problems(flight, refersTo("report", clean), report)[0]).toContain("is not upstream");
  });

  test("where needs are wrong, to those that are right", () => {
    const circle = [
      { id: "a", needs: ["b", "missing"] },
      { id: "b", needs: ["a"] },
    ];
    expect(problems(...circle, refersTo("a", { id: "c", needs: ["b"] }))).toEqual([]);
  });
});
