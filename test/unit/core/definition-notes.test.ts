// What `workflow check` prints about a valid definition [G19].
import { expect, test } from "vitest";
import type { StepRules, StepWork } from "../../../server/core/definition/definition.ts";
import { definitionNotes } from "../../../server/core/definition/definition-check.ts";

const notesOn = (rules: Partial<StepRules>, work: StepWork = { task: "book" }) =>
  definitionNotes({ workflow: "w", steps: [{ id: "hotel", needs: [], ...rules, ...work }] });

const fallback = [{ task: "book-plaza" }];
const compensate = { task: "cancel" };
const verify = { task: "look" };

test("an idempotent step with a fallback and no compensate may take effect twice", () => {
  const [note, ...others] = notesOn({ fallback });
  expect(others).toEqual([]);
  expect(note?.path).toBe("steps[0].fallback");
  expect(note?.message).toContain(
    'step "hotel" is idempotent and has a fallback, but no `compensate`',
  );
});

test("so may each item of a map", () => {
  expect(notesOn({ fallback }, { kind: "map", over: "3", task: "book" })).toHaveLength(1);
});

test("a step that undoes, verifies or asks before its fallback has no note", () => {
  expect(notesOn({ fallback, compensate })).toEqual([]);
  expect(notesOn({ fallback, verify, effects: "verifiable" })).toEqual([]);
  expect(notesOn({ fallback, effects: "once" })).toEqual([]);
});

test("nor has a step without a fallback, or one whose effect is a run that undoes itself", () => {
  expect(notesOn({})).toEqual([]);
  expect(notesOn({ fallback: [{ workflow: "other" }] }, { kind: "run", workflow: "w" })).toEqual(
    [],
  );
});
