// What the schemas of a definition refuse: the output of each kind of step that may have one, and
// what an approver fills in.
import { describe, expect, test } from "vitest";
import type { StepRules, StepWork } from "../../../server/core/definition/definition.ts";
import type { Payload } from "../../../server/core/model/payload.ts";
import { stepKeyOf } from "../../../server/core/model/step-key.ts";
import { evaluatorOf } from "../../../server/expressions/evaluator.ts";

const json = (value: unknown): Payload => ({ kind: "json", json: JSON.stringify(value) });
const bytes: Payload = { kind: "data", data: new Uint8Array(1), contentType: "image/png" };
const cents = json({
  type: "object",
  required: ["cents"],
  properties: { cents: { type: "integer", minimum: 0 } },
});

const evaluatorFor = (step: StepWork, more: Partial<StepRules> = {}) =>
  evaluatorOf({ workflow: "w", steps: [{ id: "a", needs: [], ...step, ...more }] });

/** Each kind of step that has an output, and the key that its output comes from. */
const KINDS: readonly (readonly [string, StepWork, number])[] = [
  ["of a task", { kind: "task", task: "price" }, 0],
  ["of an item of a map", { kind: "map", task: "price", over: "3" }, stepKeyOf(0, 2)],
  ["of a child run", { kind: "run", workflow: "pricing" }, 0],
];

describe.each(KINDS)("an output %s", (_of, work, place) => {
  const { outputProblem } = evaluatorFor(work, { outputSchema: cents });

  test("that keeps its schema has no problem", () => {
    expect(outputProblem(place, json({ cents: 5 }))).toBeNull();
  });

  test.each<[string, Payload | null, string]>([
    ["lacks a field", json({}), 'the value must have "cents", but is {}'],
    ["has a field of another type", json({ cents: "5" }), 'cents must be an integer, but is "5"'],
    ["has a field out of its bounds", json({ cents: -1 }), "cents must be >= 0, but is -1"],
    ["is none", null, "the value must be an object, but is null"],
    ["is not JSON", bytes, "it is not JSON, and its schema asks for it"],
  ])("that %s is reported with where, why, and what came", (_why, output, problem) => {
    expect(outputProblem(place, output)).toBe(problem);
  });

  test("has no problem where no schema is asked for", () => {
    expect(evaluatorFor(work).outputProblem(place, json({ cents: "5" }))).toBeNull();
  });
});

test("a long value is quoted in part", () => {
  const { outputProblem } = evaluatorFor({ kind: "task", task: "price" }, { outputSchema: cents });
  expect(outputProblem(0, json({ cents: "5".repeat(1_000) }))).toBe(
    `cents must be an integer, but is "${"5".repeat(99)}…`,
  );
});

test("a value of a step that handles secrets is not quoted", () => {
  const more = { outputSchema: cents, logs: "off" } as const;
  const { outputProblem } = evaluatorFor({ kind: "task", task: "price" }, more);
  expect(outputProblem(0, json({ cents: "4711" }))).toBe("cents must be an integer");
});

test("the output of the gate of a map is not that of an item, and its schema asks nothing of it", () => {
  const map = { kind: "map", task: "price", over: "3", waves: { gate: { task: "look" } } } as const;
  expect(evaluatorFor(map, { outputSchema: cents }).outputProblem(0, json("fine"))).toBeNull();
});

test("each step is asked for its own schema", () => {
  const task = { kind: "task", task: "t", needs: [] } as const;
  const { outputProblem } = evaluatorOf({
    workflow: "w",
    steps: [
      { ...task, id: "a", outputSchema: json({ type: "string" }) },
      { ...task, id: "b", outputSchema: json({ type: "number" }) },
    ],
  });
  expect([outputProblem(0, json(1)), outputProblem(1, json(1))]).toEqual([
    "the value must be a string, but is 1",
    null,
  ]);
});

test("a schema that cannot be read lets nothing through, and is reported", () => {
  const outputSchema: Payload = { kind: "json", json: "{" };
  const { outputProblem } = evaluatorFor({ kind: "task", task: "price" }, { outputSchema });
  expect(outputProblem(0, json({ cents: 5 }))).toMatch(/^its schema is none: /);
});

describe("what an approver fills in", () => {
  const { formProblem } = evaluatorFor({ kind: "approval", approvers: [], form: cents });

  test("has no problem where it keeps the form", () => {
    expect(formProblem(0, json({ cents: 5 }))).toBeNull();
  });

  test.each<[string, Payload | null, string]>([
    ["lacks a field", json({}), 'the value must have "cents"'],
    ["has a field of another type", json({ cents: "5" }), "cents must be an integer"],
    ["is nothing", null, "the value must be an object"],
    ["is not JSON", bytes, "it is not JSON, and its schema asks for it"],
  ])("is reported with where and why where it %s", (_why, form, problem) => {
    expect(formProblem(0, form)).toBe(problem);
  });

  test("is anything where the step has no form", () => {
    expect(evaluatorFor({ kind: "approval", approvers: [] }).formProblem(0, json(1))).toBeNull();
  });
});
