// The limits of an evaluation. None of these tests asserts a time: without a limit each evaluation
// would run for minutes, or use up the memory.
import { describe, expect, test } from "vitest";
import { factsOf, outcome } from "./facts.ts";

const numbers = Array.from({ length: 20_000 }, (_, no) => no);
const long = "a".repeat(250_000);
const hostile = factsOf({
  numbers,
  long,
  needle: `${"a".repeat(100_000)}b${"a".repeat(100_000)}`,
  texts: numbers.map((no) => `k${no}`),
  objects: numbers.map((a) => ({ a })),
  keys: Object.fromEntries(numbers.map((no) => [`k${no}`, no])),
});

const repeated = (step: string, times: number) => step.repeat(times);

describe("ends, as it takes more work than one evaluation may", () => {
  test.each([
    ["loops within loops", "input.numbers.all(a, input.numbers.all(b, a + b >= 0))"],
    ["lists of lists of lists", "input.numbers.map(a, input.numbers.map(b, input.numbers)) == []"],
    ["a text that doubles", `[input.long]${repeated(".map(x, x + x)", 30)}[0].size()`],
    ["a list that doubles", `[[1, 2]]${repeated(".map(x, x + x)", 40)}[0].size()`],
    [
      "two trees of shared branches that are compared",
      `[1]${repeated(".map(x, [x, x])", 40)} == [1]${repeated(".map(x, [x, x])", 40)}`,
    ],
    ["such a tree that is looked for", `[2] in [[1]${repeated(".map(x, [x, x])", 40)}]`],
    [
      "a pattern over a long text, again and again",
      'input.numbers.all(x, input.long.matches("(a|aa)+$"))',
    ],
    ["a pattern for each text", 'input.texts.all(x, x.matches("^" + x + "$"))'],
    ["a pattern that is large when compiled", '"x".matches("\\\\pL" + "{1000}")'],
    ["a search that nearly matches everywhere", "input.long.contains(input.needle)"],
    ["a text put in for each character", 'input.long.replace("", input.long)'],
    ["a long separator", "input.texts.join(input.long)"],
    ["a list in a list", "input.numbers.all(x, x in input.numbers)"],
    ["errors by the thousand", "input.objects.exists(x, x.b == 1 || x.c == 1 || x.d == 1)"],
    ["operators on what is no bool", `input.numbers.exists(x, x${repeated(" && x", 700)})`],
    ["large literals in a loop", `input.numbers.map(x, [${repeated("x, ", 1_000)}x]).size()`],
    ["comparing what is long", 'input.numbers.all(x, (input.long + "b") == (input.long + "b"))'],
    ["numbers as keys of a large map", "input.numbers.exists(x, input.keys[x] == 1)"],
  ])("%s", (_what, text) => {
    expect(outcome(text, hostile)).toMatch(/it takes more work than one evaluation may$/);
  });
});

test("a pattern that doubles its work with each letter on other engines is a pattern like any", () => {
  expect(outcome('(input + "!").matches("^(a+)+$")', factsOf("a".repeat(50_000)))).toBe(false);
});

test("going through all of a payload is no great work", () => {
  expect(outcome("input.numbers.map(x, x + 1).filter(x, x % 2 == 0).size()", hostile)).toBe(10_000);
});

describe("the result is no larger than a payload may be", () => {
  test.each([
    ["a list of lists", "input.numbers.map(x, input.numbers)"],
    ["a tree of shared branches", `[1]${repeated(".map(x, [x, x])", 40)}`],
    ["a long text", "input.long + input.long"],
  ])("%s", (_what, text) => {
    expect(outcome(text, hostile)).toMatch(/the result is larger than a payload may be/);
  });

  test("in bytes, not characters", () => {
    const limits = { cost: 1_000, bytes: 10 };
    expect(outcome('"12345678"', hostile, limits)).toBe("12345678");
    expect(outcome('"é2345678"', hostile, limits)).toMatch(
      /larger than a payload may be, 10 bytes/,
    );
  });
});
