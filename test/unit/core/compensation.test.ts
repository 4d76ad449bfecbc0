/**
 * A step has failed for good: what was done is undone, last first, once nothing can act any more.
 */
import { describe, expect, test } from "vitest";
import { failure, released, success, unknown } from "../../support/core-outcomes.ts";
import { createWorld, type World, workflow } from "../../support/core-world.ts";

const compensate = { task: "undo" };
const broken = failure("broken", { permanent: true });

function succeed(world: World, ...ids: readonly string[]): void {
  for (const id of ids) world.report(world.claim(id), success());
}

const undosOf = (world: World, ...ids: readonly string[]): string[] =>
  ids.map((id) => world.step(id).undo.kind);

describe("the order of undoing", () => {
  test("is the reverse of a chain, one after the other", () => {
    const world = createWorld(
      workflow({
        a: { compensate },
        b: { needs: ["a"], compensate },
        c: { needs: ["b"] },
      }),
    );
    succeed(world, "a", "b");
    world.report(world.claim("c"), broken);
    expect(undosOf(world, "a", "b")).toEqual(["PENDING", "READY"]);
    succeed(world, "b");
    expect(undosOf(world, "a", "b")).toEqual(["READY", "DONE"]);
    succeed(world, "a");
    expect(world.run()).toMatchObject({
      state: { kind: "COMPENSATED", reason: "STEP_FAILED" },
      undone: 2,
      undosLeft: 0,
    });
  });

  test("takes the arms of a diamond side by side, and its root when both are done", () => {
    const world = createWorld(
      workflow({
        root: { compensate },
        left: { needs: ["root"], compensate },
        right: { needs: ["root"], compensate },
        join: { needs: ["left", "right"] },
      }),
    );
    succeed(world, "root", "left", "right");
    world.report(world.claim("join"), broken);
    expect(undosOf(world, "root", "left", "right")).toEqual(["PENDING", "READY", "READY"]);
    succeed(world, "left");
    expect(world.step("root").undo.kind).toBe("PENDING");
    succeed(world, "right");
    expect(world.step("root").undo.kind).toBe("READY");
  });

  test("does not make independent branches wait for each other", () => {
    const world = createWorld(workflow({ a: { compensate }, b: { compensate }, c: {} }));
    succeed(world, "a", "b");
    world.report(world.claim("c"), broken);
    expect(undosOf(world, "a", "b")).toEqual(["READY", "READY"]);
  });

  test("holds across a step that has nothing to undo", () => {
    const world = createWorld(
      workflow({
        a: { compensate },
        b: { needs: ["a"] },
        c: { needs: ["b"], compensate },
        d: { needs: ["c"] },
      }),
    );
    succeed(world, "a", "b", "c");
    world.report(world.claim("d"), broken);
    expect(undosOf(world, "a", "b", "c")).toEqual(["PENDING", "NONE", "READY"]);
  });
});

describe("what is undone", () => {
  test("is a failed step too, if an earlier attempt of it may have had an effect", () => {
    const world = createWorld(workflow({ a: { compensate } }));
    world.report(world.claim("a"), unknown());
    world.fireNext();
    world.report(world.claim("a"), broken);
    expect(world.step("a")).toMatchObject({ forward: { kind: "FAILED" }, undo: { kind: "READY" } });
  });

  test("is not a step whose agent reports that nothing of it exists", () => {
    const world = createWorld(workflow({ a: { compensate } }));
    world.report(world.claim("a"), unknown());
    world.fireNext();
    world.report(world.claim("a"), failure("broken", { permanent: true, noEffect: true }));
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("is nothing where the failure of a step leaves things as they are", () => {
    const world = createWorld(workflow({ a: { compensate }, b: { onFailure: "fail" } }));
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    expect(world.run()).toMatchObject({
      state: { kind: "FAILED", reason: "STEP_FAILED" },
      undone: 0,
    });
    expect(world.step("a").undo.kind).toBe("NONE");
  });

  test("is nothing where no step can be undone: the run has FAILED", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("is a branch that succeeds while it is being cancelled", () => {
    const world = createWorld(workflow({ a: { compensate }, b: {} }));
    const held = world.claim("a");
    world.report(world.claim("b"), broken);
    expect(world.run().state.kind).toBe("STOPPING");
    world.report(held, success());
    expect(world.step("a").undo.kind).toBe("READY");
  });
});

describe("before the first undo", () => {
  test("every leased step has reported", () => {
    const world = createWorld(workflow({ a: { compensate }, b: {}, c: {} }));
    succeed(world, "a");
    const held = world.claim("b");
    world.report(world.claim("c"), broken);
    expect(world.step("a").undo.kind).toBe("NONE");
    world.report(held, failure("busy"));
    expect(world.step("b").forward.kind).toBe("FAILED");
    expect(world.step("a").undo.kind).toBe("READY");
  });

  test("a lost attempt has had its lease and the settle time after it", () => {
    const timeouts = { heartbeatMs: 10_000, settleMs: 7_000 };
    const world = createWorld(workflow({ a: { compensate, timeouts }, b: {} }));
    world.claim("a");
    world.report(world.claim("b", "s2"), broken);
    world.advance(10_000);
    world.fire("a");
    const settleUntil = world.now() + 7_000;
    expect(world.run()).toMatchObject({ state: { kind: "STOPPING", settleUntil }, moving: 0 });
    world.advance(6_999);
    world.fireRun();
    expect(world.run().state.kind).toBe("STOPPING");
    world.advance(1);
    world.fireRun();
    expect(world.step("a")).toMatchObject({
      forward: { kind: "CANCELLED" },
      undo: { kind: "READY" },
    });
    expect(world.interventions("settle")).toMatchObject([{ dueAt: settleUntil }]);
  });

  test("an attempt that was lost before the stop has settled too", () => {
    const world = createWorld(workflow({ a: { compensate }, b: {} }));
    world.claim("a");
    world.advance(30_000);
    world.fire("a");
    const settleUntil = world.now() + 30_000;
    world.cancel(true);
    expect(world.run().state).toMatchObject({ kind: "STOPPING", settleUntil });
  });

  test("an unknown that its own agent reports needs no time to settle", () => {
    const world = createWorld(workflow({ a: { compensate }, b: {} }));
    const held = world.claim("a");
    world.report(world.claim("b"), broken);
    world.report(held, unknown());
    expect(world.step("a").undo.kind).toBe("READY");
  });

  test("nothing settles for a run that leaves things as they are", () => {
    const world = createWorld(workflow({ a: { compensate }, b: { onFailure: "fail" } }));
    world.claim("a");
    world.report(world.claim("b", "s2"), broken);
    world.advance(30_000);
    world.fire("a");
    expect(world.run().state.kind).toBe("FAILED");
  });
});

describe("an undo", () => {
  /** a is done, b has failed, and the undo of a is ready. */
  function undoing(): World {
    const world = createWorld(workflow({ a: { compensate }, b: {} }));
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    return world;
  }

  test("is tried again with numbers of its own, and fences that continue", () => {
    const world = undoing();
    expect(world.step("a").undo).toMatchObject({ task: "compensate", attempt: 1, fence: 2 });
    world.report(world.claim("a"), failure("busy"));
    world.fireNext();
    expect(world.step("a").undo).toMatchObject({ kind: "READY", attempt: 2, fence: 3 });
    succeed(world, "a");
    expect(world.run().state.kind).toBe("COMPENSATED");
  });

  test("that failed for good asks a person, with what happened", () => {
    const world = undoing();
    world.report(world.claim("a"), broken);
    expect(world.run().state).toMatchObject({ kind: "ESCALATED" });
    expect(world.openEscalations()).toEqual([0]);
    expect(world.effects).toContainEqual(
      expect.objectContaining({
        kind: "escalated",
        reason: "undo-failed",
        message: '"a" could not be undone after 1 try: broken: it failed with broken',
      }),
    );
  });

  test("that used up its tries asks a person", () => {
    const world = undoing();
    for (let tries = 1; tries < 10; tries++) {
      world.report(world.claim("a"), failure("busy"));
      world.fireNext();
    }
    world.report(world.claim("a"), failure("busy"));
    expect(world.step("a")).toMatchObject({ undo: { kind: "FAILED" }, attempt: 10 });
  });

  test("that was lost three times in a row asks a person", () => {
    const world = undoing();
    for (const session of ["s1", "s2", "s3"]) {
      world.claim("a", session);
      world.advance(30_000);
      world.fire("a");
    }
    expect(world.step("a").undo.kind).toBe("FAILED");
    expect(world.run().state.kind).toBe("ESCALATED");
  });

  test("that is given back goes to the next agent", () => {
    const world = undoing();
    world.report(world.claim("a", "s1"), released);
    expect(world.tryClaim("a", "s2")).toBeDefined();
  });

  test("that failed holds up what came before it, and nothing else", () => {
    const world = createWorld(
      workflow({
        a: { compensate },
        b: { needs: ["a"], compensate },
        other: { compensate },
        last: { needs: ["b", "other"] },
      }),
    );
    succeed(world, "a", "b", "other");
    world.report(world.claim("last"), broken);
    world.report(world.claim("b"), broken);
    expect(undosOf(world, "a", "b", "other")).toEqual(["PENDING", "FAILED", "READY"]);
    expect(world.run().state.kind).toBe("COMPENSATING");
    succeed(world, "other");
    expect(world.run()).toMatchObject({ state: { kind: "ESCALATED" }, undone: 1, undosLeft: 2 });
  });
});
