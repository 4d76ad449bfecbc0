/** Reruns: what a new run reuses of an ended one, and how it continues from there. */
import { expect, test } from "vitest";
import { planOf } from "../../../server/core/plan/plan.ts";
import type { ReusedStep } from "../../../server/core/recovery/reuse.ts";
import { stepsToReuse } from "../../../server/core/recovery/reuse.ts";
import { broken, success, unknown } from "../../support/core-outcomes.ts";
import { createWorld, START, undoneBy, workflow } from "../../support/core-world.ts";
import { reusedOf } from "../../support/reused-steps.ts";

const undone = { compensate: undoneBy("undo") };
/** a, then b and c side by side, then d. */
const diamond = workflow({
  a: { ...undone },
  b: { needs: ["a"], ...undone },
  c: { needs: ["a"] },
  d: { needs: ["b", "c"] },
});

/** `a` and `c` succeed, `b` fails for good, and what was done stays. */
function failed() {
  const world = createWorld(
    workflow({
      a: { ...undone },
      b: { needs: ["a"], onFailure: "fail", ...undone },
      c: { needs: ["a"] },
      d: { needs: ["b", "c"] },
    }),
  );
  world.report(world.claim("a"), success());
  const [b, c] = [world.claim("b"), world.claim("c", "s2")];
  world.report(c, success());
  world.report(b, broken);
  expect(world.run().state.kind).toBe("FAILED");
  return world;
}

const numbers = (reused: readonly ReusedStep[]) => reused.map(({ no }) => no);

test("a retry reuses what succeeded, and continues at what failed", () => {
  const reused = reusedOf(failed(), { kind: "failed" });
  expect(numbers(reused)).toEqual([0, 2]);
  const world = createWorld(diamond, undefined, { reused: reused });
  expect(world.steps().map(({ forward }) => forward.kind)).toEqual([
    "SUCCEEDED",
    "READY",
    "SUCCEEDED",
    "BLOCKED",
  ]);
  expect(world.run()).toMatchObject({ stepsLeft: 2, moving: 1 });
  world.report(world.claim("b"), success());
  world.report(world.claim("d"), success());
  expect(world.run().state.kind).toBe("COMPLETED");
});

test("a retry that has to wait continues from what it reuses once it starts", () => {
  const reused = reusedOf(failed(), { kind: "failed" });
  const world = createWorld(diamond, undefined, { reused: reused, startAt: START + 60_000 });
  expect(world.run()).toMatchObject({ state: { kind: "PENDING" }, stepsLeft: 2, moving: 0 });
  expect(world.tryClaim("b")).toBeUndefined();
  world.advance(61_000);
  world.fireRun();
  world.report(world.claim("b"), success());
  world.report(world.claim("d"), success());
  expect(world.run().state.kind).toBe("COMPLETED");
});

test("a re-run from a step does it again, with all that comes after it", () => {
  const old = createWorld(diamond);
  for (const id of ["a", "b", "c", "d"]) old.report(old.claim(id), success());
  expect(numbers(reusedOf(old, { kind: "step", no: 2 }))).toEqual([0, 1]);
  expect(numbers(reusedOf(old, { kind: "step", no: 0 }))).toEqual([]);
  expect(reusedOf(old, { kind: "start" })).toEqual([]);
  expect(numbers(reusedOf(old, { kind: "failed" }))).toEqual([0, 1, 2, 3]);
});

test("what is reused is undone with the rest, with fences that continue those of the old run", () => {
  const reused = reusedOf(failed(), { kind: "failed" });
  const world = createWorld(diamond, undefined, { reused: reused });
  world.report(world.claim("b"), broken);
  expect(world.run().state.kind).toBe("COMPENSATING");
  const undo = world.claim("a");
  expect(undo).toMatchObject({ task: "compensate", fence: 2 });
  world.report(undo, success());
  expect(world.run().state).toMatchObject({ kind: "COMPENSATED" });
});

test("of a reused step that had no undo before, all that its strategies left is undone, last first", () => {
  const fallback = [{ queue: "eu" }];
  const was = {
    a: { fallback, retry: [{ attempts: 1 }] },
    b: { needs: ["a"], onFailure: "fail" },
  } as const;
  const old = createWorld(workflow(was));
  old.report(old.claim("a"), unknown());
  old.report(old.claim("a"), success());
  old.report(old.claim("b"), broken);
  expect(old.step("a").strategies).toMatchObject([
    { effectStatus: "UNSETTLED" },
    { effectStatus: "MADE" },
  ]);
  const is = { a: { fallback, ...undone }, b: { needs: ["a"] } };
  const reused = reusedOf(old, { kind: "failed" });
  const world = createWorld(workflow(is), undefined, { reused: reused });
  world.report(world.claim("b"), broken);
  const effectStatuses = () => world.step("a").strategies.map(({ effectStatus }) => effectStatus);
  world.report(world.claim("a"), success());
  expect(effectStatuses()).toEqual(["UNSETTLED", "UNDONE"]);
  world.report(world.claim("a"), success());
  expect(effectStatuses()).toEqual(["UNDONE", "UNDONE"]);
  expect(world.run().state).toMatchObject({ kind: "COMPENSATED" });
});

test("a step whose undoing had started is not reused", () => {
  const old = createWorld(diamond);
  old.report(old.claim("a"), success());
  const [b, c] = [old.claim("b"), old.claim("c", "s2")];
  old.report(b, success());
  old.report(c, broken);
  old.report(old.claim("b"), success());
  old.report(old.claim("a"), success());
  expect(old.run().state.kind).toBe("COMPENSATED");
  expect(reusedOf(old, { kind: "failed" })).toEqual([]);
});

test("a reused pivot stays one: what fails after it waits for a person", () => {
  const definition = workflow({ a: { pivot: true }, b: { needs: ["a"] } });
  const old = createWorld(definition);
  for (const id of ["a", "b"]) old.report(old.claim(id), success());
  const world = createWorld(definition, undefined, {
    reused: reusedOf(old, { kind: "step", no: 1 }),
  });
  expect(world.run().pivoted).toBe(true);
  world.report(world.claim("b"), broken);
  expect(world.run().state.kind).toBe("ESCALATED");
});

test("a run whose steps are all reused runs its always steps, and completes", () => {
  const definition = workflow({ a: {}, last: { always: true } });
  const old = createWorld(definition);
  for (const id of ["a", "last"]) old.report(old.claim(id), success());
  const reused = reusedOf(old, { kind: "step", no: 1 });
  expect(numbers(reused)).toEqual([0]);
  const world = createWorld(definition, undefined, { reused: reused });
  expect(world.run().state.kind).toBe("FINISHING");
  world.report(world.claim("last"), success());
  expect(world.run().state.kind).toBe("COMPLETED");
});

test("in a newer version steps are the same by id, if they are of the same kind", () => {
  const old = createWorld(diamond);
  for (const id of ["a", "b", "c", "d"]) old.report(old.claim(id), success());
  const steps = new Map(old.steps().map((step) => [step.no, step]));
  const newer = planOf(
    workflow({ first: {}, c: { needs: ["a"] }, a: {}, b: { needs: ["a", "first"] } }),
  );
  const reused = stepsToReuse({ plan: old.plan, steps }, newer, { kind: "failed" });
  expect([...reused]).toEqual([
    [1, 2],
    [2, 0],
  ]);
  const other = planOf(workflow({ a: { kind: "wait", forMs: 1 } }));
  expect(stepsToReuse({ plan: old.plan, steps }, other, { kind: "failed" }).size).toBe(0);
});
