/** When a step becomes ready, and when the run is done. */
import { expect, test } from "vitest";
import { success } from "../../support/core-outcomes.ts";
import { createWorld, workflow } from "../../support/core-world.ts";

const kindOf = (world: ReturnType<typeof createWorld>, id: string): string =>
  world.step(id).forward.kind;

test("steps without needs are ready at the start, all others wait", () => {
  const world = createWorld(workflow({ a: {}, b: {}, c: { needs: ["a", "b"] } }));
  expect(["a", "b", "c"].map((id) => kindOf(world, id))).toEqual(["READY", "READY", "BLOCKED"]);
  expect(world.run()).toMatchObject({ state: { kind: "RUNNING" }, stepsLeft: 3, moving: 2 });
});

test("a step is ready when the last of its needs has succeeded, and not before", () => {
  const world = createWorld(workflow({ a: {}, b: {}, c: { needs: ["a", "b"] } }));
  world.report(world.claim("b"), success());
  expect(world.step("c").forward).toMatchObject({ kind: "BLOCKED", waitingFor: 1 });
  world.report(world.claim("a"), success());
  expect(world.step("c").forward).toMatchObject({ kind: "READY", fence: 1, attempt: 1 });
});

test("one success makes every step ready that waited for it alone", () => {
  const world = createWorld(
    workflow({ a: {}, b: { needs: ["a"] }, c: { needs: ["a"] }, d: { needs: ["b", "c"] } }),
  );
  world.report(world.claim("a"), success());
  expect(["b", "c", "d"].map((id) => kindOf(world, id))).toEqual(["READY", "READY", "BLOCKED"]);
});

test("two needs that succeed in one pass make their successor ready once", () => {
  const world = createWorld(workflow({ a: {}, b: {}, c: { needs: ["a", "b"] } }));
  const [a, b] = [world.claim("a"), world.claim("b")];
  world.pass([world.reportOf(a, success()), world.reportOf(b, success())]);
  const made = world.effects.filter((effect) => effect.kind === "made-ready" && effect.step === 2);
  expect(made).toHaveLength(1);
});

test("a success is recorded with the fence of the attempt whose output it is", () => {
  const world = createWorld(workflow({ a: {} }));
  const lost = world.claim("a", "s1");
  world.fireNext();
  world.report(world.claim("a", "s2"), success());
  expect(world.step("a")).toMatchObject({
    fence: 2,
    result: { fence: 2, kind: "perform" },
    attempt: 1,
    strategies: [{ effectStatus: "MADE" }],
  });
  expect(lost.fence).toBe(1);
});

test("the run is COMPLETED with its last step", () => {
  const world = createWorld(workflow({ a: {}, b: { needs: ["a"] } }));
  world.report(world.claim("a"), success());
  expect(world.run().state.kind).toBe("RUNNING");
  world.report(world.claim("b"), success());
  expect(world.run()).toMatchObject({
    state: { kind: "COMPLETED", reason: "DONE" },
    stepsLeft: 0,
    moving: 0,
  });
});

test("the version of a run grows by one with each pass that a reader can see", () => {
  const world = createWorld(workflow({ a: {} }));
  expect(world.run().version).toBe(1);
  const held = world.claim("a");
  world.heartbeat();
  world.fire("a");
  expect(world.run().version).toBe(1);
  world.report(held, success());
  expect(world.run().version).toBe(2);
});
