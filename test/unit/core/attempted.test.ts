/** `when: attempted`: a step that failed half-way has left something, and is undone too. */
import { describe, expect, test } from "vitest";
import { broken, failure, nothingThere, released, unknown } from "../../support/core-outcomes.ts";
import {
  createWorld,
  succeed,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const attempted: TaskOptions = { compensate: { task: "undo", when: "attempted" } };
const finished: TaskOptions = { compensate: { task: "undo" } };

function failed(more: TaskOptions, outcome = broken): World {
  const world = createWorld(workflow({ a: more }));
  world.report(world.claim("a"), outcome);
  return world;
}

describe("a step that failed half-way", () => {
  test("is undone, and the run is COMPENSATED", () => {
    const world = failed(attempted);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "FAILED" },
      undo: { kind: "READY" },
      strategies: [{ effectStatus: "ATTEMPTED" }],
    });
    succeed(world, "a");
    expect(world.run().state).toEqual({ kind: "COMPENSATED", reason: "STEP_FAILED" });
  });

  test("is not undone by default: it has finished nothing", () => {
    expect(failed(finished).run().state.kind).toBe("FAILED");
  });

  test("is not undone where its agent reports that nothing of it exists", () => {
    const world = failed(attempted, failure("full", { permanent: true, noEffect: true }));
    expect(world.run().state.kind).toBe("FAILED");
  });

  test("is undone also where another step stops the run", () => {
    const world = createWorld(workflow({ a: attempted, b: {} }));
    world.report(world.claim("a"), failure("busy"));
    world.report(world.claim("b"), broken);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "CANCELLED" },
      undo: { kind: "READY" },
    });
  });

  test("is undone before the run continues without it", () => {
    const world = createWorld(
      workflow({ a: { ...attempted, onFailure: "continue" }, b: { needs: ["a"] } }),
    );
    world.report(world.claim("a"), broken);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "UNDOING" },
      undo: { kind: "READY" },
    });
    expect(world.step("b").forward.kind).toBe("BLOCKED");
    succeed(world, "a");
    expect(world.step("a")).toMatchObject({
      forward: { kind: "FAILED" },
      undo: { kind: "NONE" },
      strategies: [{ effectStatus: "UNDONE" }],
    });
    succeed(world, "b");
    expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1, undone: 0 });
  });

  test("needs no verify and asks no person: its agent knows how it ended", () => {
    const world = failed({ ...attempted, effects: "once", onFailure: "continue" });
    succeed(world, "a");
    expect(world.escalations()).toEqual([]);
    expect(world.run().state.kind).toBe("COMPLETED");
  });
});

test("a step that was never handed out, or given back unstarted, was not attempted", () => {
  const world = createWorld(workflow({ a: attempted, b: attempted, c: {} }));
  world.report(world.claim("a"), released);
  world.undelivered(world.claim("b"));
  world.report(world.claim("c"), broken);
  expect(world.run().state.kind).toBe("FAILED");
});

test("a strategy that failed half-way is undone before the next, and the last one with its run", () => {
  const world = failed({ ...attempted, fallback: [{ queue: "eu" }] });
  expect(world.step("a")).toMatchObject({ forward: { kind: "UNDOING" }, undo: { kind: "READY" } });
  succeed(world, "a");
  expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "perform" });
  world.report(world.claim("a"), broken);
  expect(world.step("a").strategies.map(({ effectStatus }) => effectStatus)).toEqual([
    "UNDONE",
    "ATTEMPTED",
  ]);
  succeed(world, "a");
  expect(world.run()).toMatchObject({ state: { kind: "COMPENSATED" }, undone: 1 });
});

test("a verify that finds nothing counts for the earlier attempts of its strategy too", () => {
  const world = createWorld(
    workflow({ a: { ...attempted, effects: "verifiable", verify: { task: "find" } } }),
  );
  world.report(world.claim("a"), failure("busy"));
  world.fireNext();
  world.report(world.claim("a"), unknown());
  world.report(world.claim("a"), nothingThere);
  expect(world.step("a").strategies).toMatchObject([{ effectStatus: "CLEARED" }]);
});

test("a success after a failure half-way is undone once", () => {
  const world = createWorld(workflow({ a: attempted, b: { needs: ["a"] } }));
  world.report(world.claim("a"), failure("busy"));
  world.fireNext();
  succeed(world, "a");
  world.cancel(true);
  succeed(world, "a");
  expect(world.run()).toMatchObject({ state: { kind: "COMPENSATED" }, undone: 1 });
});
