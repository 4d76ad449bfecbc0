// What an expression can express, and how each mistake is reported with its position.
import { describe, expect, test } from "vitest";
import { compileExpression, evaluate } from "../../../server/expressions/expression.ts";
import type { Json } from "../../../server/expressions/json.ts";
import { facts, factsOf, inMap, outcome, refusal, scope } from "./facts.ts";

test("a text that was read before is checked anew, and errs at its new position", () => {
  const other = { ...scope, hasItem: !scope.hasItem };
  for (const where of [scope, other, scope])
    expect(compileExpression("item.host", where).ok).toBe(where.hasItem);
  for (const line of [1, 5]) {
    const compiled = compileExpression("input.n + missing", scope, { origin: { line, column: 3 } });
    expect(compiled).toMatchObject({ ok: false, line, column: 13 });
  }
});

describe("values", () => {
  test.each<readonly [string, Json]>([
    ["input.n + 1", 3],
    ["input.n == 2 && input.n == 2.0", true],
    ["input.n / 4", 0],
    ["input.price * 1.5", 4.5],
    ["input.factor * 2", 3],
    ["7.0 - input.n", 5],
    ["input.name + '!'", "Ann!"],
    ['input["some key"].deep', "x"],
    ["input.none", null],
    ["input.none == null", true],
    ["has(input.none) && !has(input.nothing)", true],
    ['"none" in input && !("nothing" in input)', true],
    ["input.list.map(x, x * 2)", [2, 4, 6]],
    ["input.list.filter(x, x > 1).size()", 2],
    ["input.list.exists(x, x == 3) && input.list.all(x, x > 0)", true],
    ["has(input.nick) ? input.nick : input.name", "Ann"],
    ['{"n": input.n, "list": [1.5, true, null]}', { n: 2, list: [1.5, true, null] }],
    ['["a", "b"].join("-").upperAscii()', "A-B"],
    ['"b,a".split(",")[1]', "a"],
    ["item.host", "h1"],
    ["run.workflow + run.labels.team", "book-holidaytravel"],
    ["run.version + 1", 4],
  ])("%s", (text, value) => {
    expect(outcome(text)).toEqual(value);
  });

  test("whole numbers are ints, and others doubles", () => {
    expect(outcome("type(input.n) == int && type(input.factor) == double")).toBe(true);
  });

  test("times and durations come out as JSON has them", () => {
    expect(outcome('run.created_time + duration("90m")')).toBe("2026-03-29T04:00:00Z");
    expect(outcome('duration("90m")')).toBe("5400s");
    expect(outcome('timestamp("2026-04-01T00:00:00Z") - run.created_time > duration("48h")')).toBe(
      true,
    );
  });

  test("the hour of a time is that of UTC or of an offset, wherever it is asked", () => {
    // An hour that the clocks of Berlin skip.
    const zone = process.env.TZ;
    process.env.TZ = "Europe/Berlin";
    try {
      expect(outcome("run.created_time.getHours()")).toBe(2);
      expect(outcome('run.created_time.getHours("-03:00")')).toBe(23);
      expect(outcome('run.created_time.getHours("Europe/Berlin")')).toMatch(
        /write "UTC" or one as/,
      );
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  test("bytes come out as base64", () => {
    expect(outcome('bytes("abc")')).toBe("YWJj");
  });
});

describe("steps", () => {
  test("output, status and error of those before", () => {
    expect(outcome("steps.flight.output.price")).toBe(120);
    expect(outcome('steps["book-hotel"].status == "FAILED"')).toBe(true);
    expect(outcome('steps["book-hotel"].error.code')).toBe("no-room");
    expect(outcome("steps.flight.error == null")).toBe(true);
    expect(outcome("steps.a.output == null")).toBe(true);
  });

  test("an expression lists the steps that it refers to", () => {
    const compiled = compileExpression(
      'steps.flight.output.price > 1 ? steps["book-hotel"].status : steps.flight.status',
      scope,
    );
    expect(compiled.ok && compiled.expression.steps).toEqual(["flight", "book-hotel"]);
  });

  test("only an output that is asked for must be JSON", () => {
    expect(outcome('steps["a.b"].status')).toBe("SUCCEEDED");
    expect(outcome('steps["a.b"].output.id')).toMatch(/output of step "a\.b" is not JSON/);
    expect(outcome("1 + 1", factsOf(undefined))).toBe(2);
    expect(outcome("input.n", factsOf(undefined))).toMatch(/the run's input is not JSON/);
  });

  test.each([
    ["steps.flihgt.output", '1:7 there is no step "flihgt": did you mean "flight"?'],
    [
      "steps.car.output",
      '1:7 step "car" is not upstream of this one, so it may not have ended yet: add it to needs',
    ],
    ['steps["confirm"].output', '1:7 step "confirm" is not upstream'],
    ["steps.zzzzz.status", '1:7 there is no step "zzzzz": upstream are "flight", "book-hotel"'],
    [
      "steps.book-hotel.output",
      '1:7 this reads as "steps.book minus ...": write steps["book-hotel"]',
    ],
    ["steps.a.b.output", '1:9 the id of a step with dots is written in quotes: steps["a.b"]'],
    ["steps.flight.outptu", '1:14 there is no "outptu" here: did you mean output?'],
    ["steps.flight", "1:6 this is no value: name one of its fields output, status, error"],
    ["size(steps)", "1:6 steps is no value"],
    ["steps[input.name].output", "1:12 name the step by its id in quotes"],
    ["has(steps.flight.error)", "error is always set"],
    ['steps.flight.status == "SUCCEDED"', '1:24 "SUCCEDED" is no status of a step: did you mean'],
  ])("%s is refused", (text, message) => {
    expect(refusal(text)).toContain(message);
  });
});

describe("names and types", () => {
  test.each([
    ["inptu.n", '1:1 there is no "inptu": did you mean input?'],
    [
      "hello",
      '1:1 there is no "hello": input, run, steps can be used; a text is written in quotes',
    ],
    ["item.host", "1:1 there is an item only in the steps of a map"],
    ["run.lables", '1:5 there is no "lables" here: did you mean labels?'],
    ["foo(1)", "1:1 there is no function foo"],
    ["input.name.startWith('A')", "did you mean startsWith?"],
    ["getHours(run.created_time)", "1:1 write value.getHours(...)"],
    ["input.list.map(x)", "write list.map(x, value)"],
    ["has(input)", "has() asks for a field"],
    ["run.id + 1", "1:8 + does not take string and int: it takes"],
    ["size(3)", "1:1 size does not take int: it takes bytes; list; string; map"],
    ["run.id == 3", "1:8 a string is never equal to an int"],
    ["input.wants_car && 1", "1:20 an int is used beside &&, where a bool is needed"],
    ['"a" ? 1 : 2', "1:1 a string is used as a condition"],
    ["[1, 2]['a']", "a string is no index of a list"],
    ["run.id.exists(x, true)", "a string has no items to go through"],
    ["{1.5: 2}", "1:2 a double is no key"],
    ["Message{a: 1}", "there is no message Message: write a map"],
    ["9223372036854775808", "1:1 9223372036854775808 does not fit into 64 bits"],
    ['input.name.matches("(a")', '1:20 the pattern "(a" cannot be used'],
    ["type(1)", "1:1 this is a type and no value"],
    ["input.n\n  + run.nme", '2:9 there is no "nme" here'],
  ])("%s is refused", (text, message) => {
    expect(refusal(text)).toContain(message);
  });

  test("a variable of a macro is a name within it", () => {
    expect(outcome("input.list.all(input, input > 0)")).toBe(true);
    expect(refusal("input.list.all(x, y > 0)")).toContain('1:19 there is no "y"');
  });
});

describe("the text", () => {
  test.each([
    ["", "1:1 it is empty"],
    ["1 +", '1:3 it ends after "+", where a value is missing'],
    ["1 + * 2", '1:5 a value is missing between "+" and "*"'],
    ["(1", '1:1 "(" is never closed'],
    ["1)", '1:2 ")" closes nothing'],
    ["[1, 2)", '1:6 ")" does not close the "[" that is open: "]" would'],
    ["a b", "1:3 an operator is missing between a and b"],
    ["input.a and true", "1:9 an operator is missing between a and and: write && for and"],
    ['"abc', '1:1 the text that " begins here is never closed'],
    ["input.n = 2", '1:9 a single "=" is no operator: write == to compare'],
    ["a ? b", '1:3 "?" needs a ":"'],
    ["$" + "{input.n}", '1:1 "$" has no meaning within an expression'],
    ["input.`a-b`", "a name cannot be put in backticks"],
    ["input.x.\n(", "2:1"],
    [`${"(".repeat(1000)}1${")".repeat(1000)}`, "nested too deep"],
    [`"${"x".repeat(5000)}"`, "at most 4096 are read"],
  ])("%s is refused", (text, message) => {
    expect(refusal(text)).toContain(message);
  });
});

describe("what fails when it is evaluated", () => {
  test.each([
    ["input.nme", 'there is no "nme": did you mean "name"? (line 1, column 6)'],
    ["input.none.x", 'null has no field "x" (line 1, column 11)'],
    ["input.list[3]", "there is no item 3: the list has 3, counted from 0"],
    ["input.name + input.n", "+ does not take string and int (line 1, column 12)"],
    ["input.n ? 1 : 2", "the number 2 is given where true or false is needed"],
    ["input.n / 0", "divide by zero (line 1, column 9)"],
    ["9223372036854775807", "JSON cannot carry exactly"],
    ["1e999", "JSON cannot carry"],
    ['int("abc")', '"abc" is no int'],
    ['int("")', '"" is no int'],
    ['double("abc")', '"abc" is no double'],
  ])("%s", (text, message) => {
    expect(outcome(text)).toMatch(/^failed: /);
    expect(outcome(text)).toContain(message);
  });

  test("an operator takes the side that can be known", () => {
    expect(outcome("input.nothing || true")).toBe(true);
    expect(outcome("input.nothing && false")).toBe(false);
  });

  test("a step whose facts were not handed in", () => {
    const compiled = compileExpression("steps.flight.output", scope);
    if (!compiled.ok) throw new Error(compiled.message);
    const result = evaluate(compiled.expression, { ...facts, steps: new Map() });
    expect(result).toEqual({
      ok: false,
      message: 'steps.flight.output: the result of step "flight" is not known',
    });
  });

  test("a value that is nested deeper than can be walked", () => {
    let deep: Json = 1;
    for (let level = 0; level < 10_000; level++) deep = [deep];
    expect(outcome("input[0]", factsOf(deep))).toContain("nested deeper than 200 levels");
  });

  test("a key of JSON that means something to JavaScript is a key", () => {
    const input: Json = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}');
    expect(outcome("input.__proto__.a + input.constructor", factsOf(input))).toBe(3);
    expect(JSON.stringify(outcome("input", factsOf(input)))).toBe(JSON.stringify(input));
    expect(compileExpression("input.toString", inMap).ok && outcome("input.toString")).toContain(
      'there is no "toString"',
    );
  });
});
