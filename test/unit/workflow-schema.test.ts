// The JSON Schema of the text form, by which editors help: it takes what the server takes.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { workflowTextSchema } from "../../server/definition-text/schema.ts";
import type { Schema } from "../../server/definition-text/schema-parts.ts";

const schema = workflowTextSchema(() => "");
const step = (text: string) => `workflow: w\nsteps:\n  - id: a\n    ${text}\n`;

/** The little of draft 7 that the schema uses; each problem as the path where it is. */
function problems(value: unknown, rules: Schema, path = ""): string[] {
  const sub = (of: unknown, at: string) =>
    problems(
      at === "" ? value : member(value, at),
      of as Schema,
      at === "" ? path : `${path}/${at}`,
    );
  const fits = (of: unknown) => sub(of, "").length === 0;
  const wrong: string[] = [];
  const expectThat = (good: boolean) => void (good || wrong.push(path));
  for (const [rule, of] of Object.entries(rules)) {
    const list = of as unknown[];
    if (rule === "$ref") wrong.push(...sub(definition(String(of)), ""));
    if (rule === "allOf") for (const one of list) wrong.push(...sub(one, ""));
    if (rule === "anyOf") expectThat(list.some(fits));
    if (rule === "oneOf") expectThat(list.filter(fits).length === 1);
    if (rule === "not") expectThat(!fits(of));
    if (rule === "enum") expectThat(list.includes(value));
    if (rule === "type") expectThat([of].flat().some((type) => isOf(value, String(type))));
    if (rule === "pattern") expectThat(new RegExp(String(of)).test(String(value)));
    if (rule === "minimum") expectThat(Number(value) >= Number(of));
    if (rule === "maximum") expectThat(Number(value) <= Number(of));
    if (rule === "required")
      expectThat(list.every((key) => Object.hasOwn(Object(value), String(key))));
    if (rule === "items" && Array.isArray(value))
      for (const index of value.keys()) wrong.push(...sub(of, String(index)));
    if (rule === "properties" && isOf(value, "object"))
      for (const key of Object.keys(Object(value))) {
        const known = member(of, key) ?? patterned(rules, key);
        if (known === undefined) wrong.push(`${path}/${key}`);
        else wrong.push(...sub(known, key));
      }
  }
  return wrong;
}

const patterned = (rules: Schema, key: string) =>
  Object.entries(Object(rules.patternProperties)).find(([name]) => new RegExp(name).test(key))?.[1];
const member = (value: unknown, key: string): unknown => Reflect.get(Object(value), key);
const definition = (ref: string) =>
  member(schema.definitions, ref.replace("#/definitions/", "")) as Schema;

function isOf(value: unknown, type: string): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object")
    return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}

const examples = join(import.meta.dirname, "../../agents-examples");
const check = (text: string) => problems(parse(text), schema);

describe("the schema takes", () => {
  test.each(globSync("*/!(*.scenarios).yaml", { cwd: examples }))(
    "the workflow of the example %s",
    (path) => {
      expect(check(readFileSync(join(examples, path), "utf8"))).toEqual([]);
    },
  );

  test.each([
    ["a timer, in short and in full", "wait: 10m", "wait: { until: 2026-03-01T08:00:00Z }"],
    ["a signal", "signal: paid", "signal: { name: paid, within: 2d, on_expiry: skip }"],
    ["an approval", "approval: { approvers: [finance], need: 2, form: { type: object } }"],
    [
      "a child run",
      "run: other",
      "run: { workflow: other, version: 2 }, fallback: [{ run: third }]",
    ],
    ["one policy, or a list", "{ task: t, retry: { attempts: 2 } }", "{ task: t, retry: [{}] }"],
    ["a map", "map: { over: '3', task: t }", "map: { over: '3', task: t, tolerate: 1 }"],
    ["any input", "{ task: t, input: [1, a, { b: null }] }", "{ task: t, input: 5 }"],
    ["flags and schemas", "{ task: t, always: true, run_if: any_ok, output_schema: true }"],
  ])("%s", (_, ...texts) => {
    for (const text of texts) {
      const lines = text.startsWith("{") ? text.slice(1, -1) : text;
      expect(check(`workflow: w\nsteps: [{ id: a, ${lines} }]`)).toEqual([]);
    }
  });
});

describe("the schema refuses, where it is", () => {
  test.each([
    ["a misspelt key", step("task: t\n    timeout: { attempt: 1m }"), "/steps/0/timeout"],
    [
      "one deep inside",
      step("task: t\n    compensate: { task: u, wen: x }"),
      "/steps/0/compensate/wen",
    ],
    ["an unknown value", step("task: t\n    effects: twice"), "/steps/0/effects"],
    [
      "a duration without unit",
      step("task: t\n    timeouts: { attempt: 30 }"),
      "/steps/0/timeouts/attempt",
    ],
    ["a number out of its range", step("approval: { need: 0 }"), "/steps/0/approval/need"],
    [
      "two choices where one may be made",
      step("map: { over: '3', task: t, tolerate: 1, tolerate_percent: 5 }"),
      "/steps/0/map",
    ],
    ["two kinds", step("task: t\n    wait: 5m"), "/steps/0"],
    ["no kind", step("needs: []"), "/steps/0"],
    ["a kind that is not there yet", step("map: {}"), "/steps/0/map"],
    ["a bad name", step("task: a b"), "/steps/0/task"],
  ])("%s", (_, text, where) => {
    expect(check(text)).toContain(where);
  });
});
