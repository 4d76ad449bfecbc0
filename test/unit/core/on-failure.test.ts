/** Recovery 3: a step has failed for good, and its `on_failure` decides what follows. */
import { describe, expect, test } from "vitest";
import type { OnFailure } from "../../../server/core/definition/definition.ts";
import { broken, success } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  succeed,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const compensate = { task: "undo" };
const FAILED = { kind: "FAILED", reason: "STEP_FAILED" };

/** z has succeeded and can be undone, a fails for good, b waits for a. */
function failed(onFailure?: OnFailure, more: TaskOptions = {}): World {
  const setting = onFailure === undefined ? {} : { onFailure };
  const world = createWorld(
    workflow({ z: { compensate }, a: { needs: ["z"], ...setting, ...more }, b: { needs: ["a"] } }),
  );
  succeed(world, "z");
  world.report(world.claim("a"), broken);
  return world;
}

describe("by default", () => {
  test("all that was done is undone, if anything can be", () => {
    const world = failed();
    expect(world.step("z").undo.kind).toBe("READY");
    succeed(world, "z");
    expect(world.run().state).toEqual({ kind: "COMPENSATED", reason: "STEP_FAILED" });
  });

  test("the run has FAILED where nothing can be: it is never called COMPENSATED", () => {
    const world = createWorld(workflow({ z: {}, a: { needs: ["z"] } }));
    succeed(world, "z");
    world.report(world.claim("a"), broken);
    expect(world.run().state).toEqual(FAILED);
  });

  test("that is decided when all has stopped: what succeeds meanwhile is undone too", () => {
    const world = createWorld(workflow({ z: { compensate }, a: {} }));
    const held = world.claim("z");
    world.report(world.claim("a"), broken);
    world.report(held, success());
    expect(world.step("z").undo.kind).toBe("READY");
  });
});

test("compensate: as by default", () => {
  expect(failed("compensate").step("z").undo.kind).toBe("READY");
});

test("fail: what was done is left as it is", () => {
  const world = failed("fail");
  expect(world.run()).toMatchObject({ state: FAILED, undone: 0 });
  expect(world.step("z").undo.kind).toBe("NONE");
});

describe("continue", () => {
  test("lets the run continue with a warning; what waited for the step begins", () => {
    const world = failed("continue");
    expect(world.run()).toMatchObject({ state: { kind: "RUNNING" }, warnings: 1 });
    expect(world.step("a").forward.kind).toBe("FAILED");
    succeed(world, "b");
    expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1 });
  });

  test("gives expressions of what follows that it failed, how, and with no output", () => {
    const world = failed("continue");
    expect(world.facts()?.steps.get(1)).toEqual({
      status: "FAILED",
      output: null,
      error: { code: "broken", message: "it failed with broken" },
    });
  });

  test("ends a run COMPLETED that has nothing else to do", () => {
    const world = createWorld(workflow({ a: { onFailure: "continue" } }));
    world.report(world.claim("a"), broken);
    expect(world.run()).toMatchObject({
      state: { kind: "COMPLETED", reason: "DONE" },
      warnings: 1,
    });
  });

  test("does not keep a later failure of another step from stopping the run", () => {
    const world = failed("continue");
    world.report(world.claim("b"), broken);
    expect(world.step("z").undo.kind).toBe("READY");
  });
});

test("escalate: a person is asked, and nothing is undone before the answer", () => {
  const world = failed("escalate");
  expect(world.step("a").forward.kind).toBe("ESCALATED");
  expect(lastQuestion(world)).toMatchObject({ step: 1, reason: "step-failed" });
  expect(world.run().state.kind).toBe("ESCALATED");
  expect(world.step("z").undo.kind).toBe("NONE");
});

test("the first stop reason remains, whatever fails afterwards", () => {
  const world = createWorld(
    workflow({ z: { compensate }, a: { onFailure: "fail" }, b: { onFailure: "compensate" } }),
  );
  succeed(world, "z");
  const held = world.claim("b");
  world.report(world.claim("a"), broken);
  world.report(held, broken);
  expect(world.run()).toMatchObject({ state: FAILED, undone: 0 });
});
