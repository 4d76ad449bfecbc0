/**
 * `always`: a step that runs once, last, whatever happened, after undoing too. `pivot`: a step from
 * whose success on the run goes only forward.
 */
import { describe, expect, test } from "vitest";
import { broken, cancelled, failure, success } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  succeed,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const compensate = { task: "undo" };
const kindOf = (world: World, id: string): string => world.step(id).forward.kind;

describe("an always step", () => {
  const tidy: TaskOptions = { always: true };

  /** a, then b; `tidy` always runs. */
  function worldOf(more: TaskOptions = {}): World {
    return createWorld(workflow({ a: { compensate }, b: { needs: ["a"], ...more }, tidy }));
  }

  test("waits until all others have ended, and how the run ends is certain", () => {
    const world = worldOf();
    expect(kindOf(world, "tidy")).toBe("BLOCKED");
    succeed(world, "a", "b");
    const end = { kind: "COMPLETED", reason: "DONE" };
    expect(world.run().state).toEqual({ kind: "FINISHING", end });
    expect(kindOf(world, "tidy")).toBe("READY");
    succeed(world, "tidy");
    expect(world.run().state).toEqual(end);
  });

  test("runs after a failure that leaves things as they are", () => {
    const world = worldOf({ onFailure: "fail" });
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    expect(world.run().state).toMatchObject({ kind: "FINISHING", end: { kind: "FAILED" } });
    succeed(world, "tidy");
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("runs after all is undone, and not before", () => {
    const world = worldOf();
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    expect(world.run().state.kind).toBe("COMPENSATING");
    expect(kindOf(world, "tidy")).toBe("BLOCKED");
    succeed(world, "a");
    expect(kindOf(world, "tidy")).toBe("READY");
    succeed(world, "tidy");
    expect(world.run().state.kind).toBe("COMPENSATED");
  });

  test("runs after a cancel, and after the deadline", () => {
    const left = worldOf();
    left.cancel(false);
    expect(left.run().state).toMatchObject({ kind: "FINISHING", end: { kind: "CANCELLED" } });
    const late = createWorld(workflow({ a: {}, tidy }, { timeoutMs: 1_000 }));
    late.fireNext();
    expect(late.run().state).toMatchObject({ end: { kind: "FAILED", reason: "TIMED_OUT" } });
    succeed(late, "tidy");
    expect(late.run().state).toEqual({ kind: "FAILED", reason: "TIMED_OUT" });
  });

  test("runs once: its run cannot be cancelled or paused any more", () => {
    const world = worldOf();
    succeed(world, "a", "b");
    expect(world.cancel(true)).toMatchObject({ kind: "refused", run: "FINISHING" });
    expect(world.pause()).toMatchObject({ kind: "refused", run: "FINISHING" });
    const cancelledRun = worldOf();
    cancelledRun.cancel(false);
    expect(cancelledRun.cancel(false)).toEqual({ kind: "done" });
  });

  test("is tried again like any other", () => {
    const world = worldOf();
    succeed(world, "a", "b");
    world.report(world.claim("tidy"), failure("busy"));
    expect(kindOf(world, "tidy")).toBe("BACKOFF");
    world.fireNext();
    succeed(world, "tidy");
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("that fails for good asks a person, who can do no more than get it done or skip it", () => {
    const world = worldOf();
    succeed(world, "a", "b");
    world.report(world.claim("tidy"), broken);
    expect(world.run().state).toMatchObject({ kind: "ESCALATED", from: { kind: "FINISHING" } });
    const { n, reason } = lastQuestion(world);
    expect(reason).toBe("step-failed");
    expect(world.answer(n, "compensate")).toMatchObject({ kind: "refused" });
    expect(world.answer(n, "fail")).toMatchObject({ kind: "refused" });
    expect(world.answer(n, "skip")).toEqual({ kind: "done" });
    expect(world.run().state).toEqual({ kind: "COMPLETED", reason: "DONE" });
  });

  test("that fails for good is left where a person cancels the run and leaves things", () => {
    const world = worldOf();
    succeed(world, "a", "b");
    world.report(world.claim("tidy"), broken);
    expect(world.cancel(true)).toMatchObject({ kind: "refused" });
    expect(world.cancel(false)).toEqual({ kind: "done" });
    expect(kindOf(world, "tidy")).toBe("CANCELLED");
    expect(world.run().state).toEqual({ kind: "COMPLETED", reason: "DONE" });
  });

  test("whose failure is continued leaves a warning", () => {
    const tidyUp: TaskOptions = { always: true, onFailure: "continue" };
    const world = createWorld(workflow({ a: {}, tidyUp }));
    succeed(world, "a");
    world.report(world.claim("tidyUp"), broken);
    expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1 });
  });

  test("may need another always step", () => {
    const world = createWorld(workflow({ a: {}, tidy, tell: { ...tidy, needs: ["tidy"] } }));
    succeed(world, "a");
    expect([kindOf(world, "tidy"), kindOf(world, "tell")]).toEqual(["READY", "BLOCKED"]);
    succeed(world, "tidy", "tell");
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("is all that a run of nothing else does", () => {
    const world = createWorld(workflow({ tidy }));
    expect(world.run().state.kind).toBe("FINISHING");
    succeed(world, "tidy");
    expect(world.run().state.kind).toBe("COMPLETED");
  });
});

describe("after the pivot", () => {
  /** `pay` is the pivot and has succeeded; `ship` comes after it. */
  function pivoted(ship: TaskOptions = {}, timeoutMs = 100_000): World {
    const steps = {
      book: { compensate },
      pay: { needs: ["book"], pivot: true, compensate },
      ship: { needs: ["pay"], compensate, ...ship },
    };
    const world = createWorld(workflow(steps, { timeoutMs }));
    succeed(world, "book", "pay");
    return world;
  }

  test("a failure asks a person, and never compensates", () => {
    const world = pivoted();
    world.report(world.claim("ship"), broken);
    const { n, reason } = lastQuestion(world);
    expect(reason).toBe("after-pivot");
    expect(world.answer(n, "compensate")).toMatchObject({ kind: "refused" });
    expect(world.answer(n, "retry")).toEqual({ kind: "done" });
    succeed(world, "ship");
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("a failure follows on_failure where that undoes nothing", () => {
    const world = pivoted({ onFailure: "continue" });
    world.report(world.claim("ship"), broken);
    expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1 });
    const left = pivoted({ onFailure: "fail" });
    left.report(left.claim("ship"), broken);
    expect(left.run()).toMatchObject({ state: { kind: "FAILED" }, undone: 0 });
  });

  test("a cancel that undoes is refused, and its message names what ends the run", () => {
    const world = pivoted();
    const answer = world.cancel(true);
    expect(answer).toMatchObject({ kind: "refused", run: "RUNNING" });
    expect(answer).toHaveProperty("why", expect.stringContaining("LEAVE"));
    expect(world.cancel(false)).toEqual({ kind: "done" });
    expect(world.run()).toMatchObject({ state: { kind: "CANCELLED" }, undone: 0 });
  });

  test("the deadline stops nothing: it is noted, and bounds no further attempt", () => {
    const world = pivoted();
    expect(world.step("ship").forward).toMatchObject({ until: world.now() + 100_000 });
    world.fireNext();
    expect(world.run().state).toEqual({ kind: "RUNNING", deadline: null });
    expect(world.interventions("deadline")).toHaveLength(1);
    const { forward } = world.step("ship");
    if (forward.kind !== "READY") throw new Error(forward.kind);
    expect(forward.until).toBeGreaterThan(world.now());
    succeed(world, "ship");
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("what was decided before it remains: a run that stops is undone, its pivot too", () => {
    const world = createWorld(
      workflow({ pay: { pivot: true, compensate }, other: {}, last: { needs: ["pay"] } }),
    );
    const held = world.claim("pay");
    world.report(world.claim("other"), broken);
    world.report(held, success());
    expect(world.step("pay").undo.kind).toBe("READY");
  });

  test("before it, all is undone as ever", () => {
    const world = createWorld(
      workflow({ book: { compensate }, pay: { needs: ["book"], pivot: true } }),
    );
    succeed(world, "book");
    world.report(world.claim("pay"), broken);
    succeed(world, "book");
    expect(world.run().state.kind).toBe("COMPENSATED");
  });

  test("a pivot that did not succeed is none", () => {
    const world = createWorld(workflow({ pay: { pivot: true, compensate }, other: {} }));
    const held = world.claim("pay");
    world.cancel(true);
    world.report(held, cancelled());
    expect(world.step("pay").undo.kind).toBe("READY");
  });
});
