/** What is wrong with a definition as a whole, with a helpful message and the path of the field. */
import { expect, test } from "vitest";
import { definitionProblems } from "../../../server/core/definition/definition-check.ts";
import { planOf } from "../../../server/core/plan/plan.ts";
import { workflow } from "../../support/core-world.ts";

test("a definition whose needs all exist and form no circle has no problem", () => {
  expect(
    definitionProblems(workflow({ a: {}, b: { needs: ["a"] }, c: { needs: ["a", "b"] } })),
  ).toEqual([]);
});

test("a need may name a step that is further down", () => {
  expect(definitionProblems(workflow({ a: { needs: ["b"] }, b: {} }))).toEqual([]);
});

test("an unknown need is named, with the step that was probably meant", () => {
  expect(definitionProblems(workflow({ hotel: {}, car: { needs: ["hotle"] } }))).toEqual([
    {
      path: "steps[1].needs[0]",
      message: 'step "car" needs "hotle", which is no step of this workflow: did you mean "hotel"?',
    },
  ]);
});

test("an unknown need that resembles no step gets the list of steps", () => {
  const [problem] = definitionProblems(workflow({ hotel: {}, car: { needs: ["insurance"] } }));
  expect(problem?.message).toContain("the steps are hotel, car");
});

test("a step id that is taken is reported with the other step", () => {
  const definition = workflow({ a: {}, b: {} });
  const twice = { ...definition, steps: definition.steps.map((step) => ({ ...step, id: "a" })) };
  expect(definitionProblems(twice)).toEqual([
    {
      path: "steps[1].id",
      message: 'step id "a" is taken by steps[0]: give each step an id of its own',
    },
  ]);
});

test("a step that needs itself is refused", () => {
  expect(definitionProblems(workflow({ a: { needs: ["a"] } }))).toEqual([
    { path: "steps[0].needs[0]", message: 'step "a" needs itself: remove it' },
  ]);
});

test("a need that is named twice is reported at its second position", () => {
  expect(definitionProblems(workflow({ a: {}, b: { needs: ["a", "a"] } }))).toMatchObject([
    { path: "steps[1].needs[1]" },
  ]);
});

test("a circle is reported step by step, without those that only wait behind it", () => {
  const [problem] = definitionProblems(
    workflow({
      behind: { needs: ["a"] },
      a: { needs: ["c"] },
      b: { needs: ["a"] },
      c: { needs: ["b"] },
    }),
  );
  expect(problem).toEqual({
    path: "steps[1].needs",
    message:
      "steps wait for each other in a circle: a needs c needs b needs a. Remove one of these needs",
  });
});

test("every problem is reported at once, in the order of the steps", () => {
  const paths = definitionProblems(
    workflow({ a: { needs: ["x1"] }, b: { needs: ["b", "nothing"] } }),
  ).map(({ path }) => path);
  expect(paths).toEqual(["steps[0].needs[0]", "steps[1].needs[0]", "steps[1].needs[1]"]);
});

test("a plan fills in every default, and numbers needs and successors", () => {
  const plan = planOf(workflow({ a: { timeouts: { heartbeatMs: 2_000 } }, b: { needs: ["a"] } }));
  expect(plan).toMatchObject({ timeoutMs: 7 * 24 * 3_600_000 });
  expect(plan.steps[0]).toMatchObject({
    no: 0,
    needs: [],
    successors: [1],
    onFailure: null,
    onPickup: "alarm",
    runIf: "ended",
    effects: "idempotent",
    work: {
      kind: "task",
      strategies: [
        {
          queue: "default",
          retry: [{ attempts: 5, initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.2 }],
        },
      ],
    },
    timeouts: {
      pickupMs: 300_000,
      attemptMs: 900_000,
      heartbeatMs: 2_000,
      totalMs: 86_400_000,
      cancelMs: 10_000,
      // As long as a heartbeat, and at least five seconds.
      settleMs: 5_000,
    },
  });
  expect(plan.steps[1]).toMatchObject({ needs: [0], timeouts: { settleMs: 30_000 } });
});
