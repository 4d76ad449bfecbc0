/** The tolerated failures of a run: as many as it has counted, each with its own message. */
import { describe, expect, test } from "vitest";
import { warningsOf } from "../../../server/core/explain/warnings.ts";
import { broken, success } from "../../support/core-outcomes.ts";
import { createWorld, succeed, type World, workflow } from "../../support/core-world.ts";
import { seenOf } from "../../support/seen-run.ts";

const CONTINUE = { onFailure: "continue" } as const;

function warningsIn(world: World) {
  const seen = seenOf(world);
  const warnings = warningsOf(world.plan, { ...seen, run: world.run() });
  return warnings.map(({ step, ...more }) => ({ id: world.plan.steps[step]?.id, ...more }));
}

const broke = (id: string) => ({ id, code: "broken", message: "it failed with broken" });

describe("a failure that the run continues after", () => {
  test("is listed with its step and its own message, in the order of the definition", () => {
    const world = createWorld(workflow({ a: CONTINUE, b: CONTINUE, c: { needs: ["a", "b"] } }));
    world.report(world.claim("b"), broken);
    world.report(world.claim("a"), broken);
    expect(world.run().warnings).toBe(2);
    expect(warningsIn(world)).toEqual([broke("a"), broke("b")]);
  });

  test("is listed while the run continues, and when it has ended otherwise", () => {
    const compensate = { task: "undo" };
    const world = createWorld(
      workflow({ z: { compensate }, a: CONTINUE, b: { needs: ["a", "z"] } }),
    );
    succeed(world, "z");
    world.report(world.claim("a"), broken);
    world.report(world.claim("b"), broken);
    expect(warningsIn(world)).toEqual([broke("a")]);
    succeed(world, "z");
    expect(world.run()).toMatchObject({ state: { kind: "COMPENSATED" }, warnings: 1 });
    expect(warningsIn(world)).toEqual([broke("a")]);
  });

  test("is listed so where the attempt with its cause is no longer stored", () => {
    const world = createWorld(workflow({ a: CONTINUE, b: { needs: ["a"] } }));
    world.report(world.claim("a"), broken);
    const seen = { ...seenOf(world), attempts: [], run: world.run() };
    expect(warningsOf(world.plan, seen)).toEqual([
      {
        step: 0,
        code: "",
        message: '"a" failed, and the attempt with the reason is no longer stored',
      },
    ]);
  });
});

test("a map that tolerated failed items is listed with how many, and one that failed is not", () => {
  const map = (tolerate: number) => {
    const m = { kind: "map", task: "work", over: "2", tolerate } as const;
    const world = createWorld(workflow({ m, z: { needs: ["m"] } }));
    world.report(world.claim("m[1]"), broken);
    succeed(world, "m[0]");
    world.fire("m");
    return warningsIn(world);
  };
  const message = "1 of 2 items failed, and 1 may";
  expect(map(1)).toEqual([{ id: "m", code: "drover.items", message }]);
  expect(map(0)).toEqual([]);
});

describe("none is listed", () => {
  test("a step that fails while its run stops: the run does not continue after that", () => {
    const world = createWorld(workflow({ a: CONTINUE, b: CONTINUE, c: {} }));
    const held = world.claim("a");
    world.report(world.claim("b"), broken);
    world.report(world.claim("c"), broken);
    world.report(held, broken);
    expect(world.step("a").forward.kind).toBe("FAILED");
    expect(world.run().warnings).toBe(1);
    expect(warningsIn(world)).toEqual([broke("b")]);
  });

  test("a step that succeeded, or whose failure decided how the run ends", () => {
    const world = createWorld(workflow({ a: CONTINUE, b: {} }));
    world.report(world.claim("a"), success());
    world.report(world.claim("b"), broken);
    expect(warningsIn(world)).toEqual([]);
  });
});

test("what runs last comes after what failed as the run stopped, and is listed", () => {
  const world = createWorld(
    workflow({ a: CONTINUE, b: {}, last: { ...CONTINUE, always: true, needs: [] } }),
  );
  const held = world.claim("a");
  world.report(world.claim("b"), broken);
  world.report(held, broken);
  world.report(world.claim("last"), broken);
  expect(world.run().warnings).toBe(1);
  expect(warningsIn(world)).toEqual([broke("last")]);
});
