/** A person cancels a run, undoing what it has done or leaving it, in each state of the run. */
import { describe, expect, test } from "vitest";
import { cancelled, failure, success } from "../../support/core-outcomes.ts";
import { createWorld, succeed, type World, workflow } from "../../support/core-world.ts";

const UNDO = true;
const LEAVE = false;
const compensate = { task: "undo" };
const broken = failure("broken", { permanent: true });
const BY_USER = "CANCELLED_BY_USER";

/** a has succeeded, b is leased, c is ready, d waits for b. */
function underWay(): { world: World; held: ReturnType<World["claim"]> } {
  const world = createWorld(
    workflow({
      a: { compensate },
      b: { needs: ["a"], compensate },
      c: { needs: ["a"], compensate },
      d: { needs: ["b"], compensate },
    }),
  );
  world.report(world.claim("a"), success());
  return { world, held: world.claim("b") };
}

/** The undo of a has failed for good. */
function undoFailed(): World {
  const world = createWorld(workflow({ a: { compensate }, b: {} }));
  world.report(world.claim("a"), success());
  world.report(world.claim("b"), broken);
  world.report(world.claim("a"), broken);
  return world;
}

function poisoned(): World {
  const world = createWorld(workflow({ z: { compensate }, a: { needs: ["z"], compensate } }));
  world.report(world.claim("z"), success());
  for (const session of ["s1", "s2", "s3"]) {
    world.claim("a", session);
    world.advance(30_000);
    world.fire("a");
  }
  return world;
}

describe("a RUNNING run", () => {
  test.each([UNDO, LEAVE])(
    "hands out nothing new, and cancels what is leased (undo: %s)",
    (undo) => {
      const { world } = underWay();
      expect(world.cancel(undo)).toEqual({ kind: "done" });
      expect(world.run().state).toMatchObject({
        kind: "STOPPING",
        stopReason: { reason: BY_USER, undo },
      });
      expect(world.step("b").forward).toMatchObject({ cancel: { kind: "asked", cause: "run" } });
      expect(world.step("c").forward.kind).toBe("CANCELLED");
      expect(world.step("d").forward.kind).toBe("BLOCKED");
    },
  );

  test("undoes all that was done, also what succeeded after the cancel", () => {
    const { world, held } = underWay();
    world.cancel(UNDO);
    world.report(held, success());
    expect(world.step("d").forward.kind).toBe("BLOCKED");
    world.report(world.claim("b"), success());
    world.report(world.claim("a"), success());
    expect(world.run()).toMatchObject({
      state: { kind: "COMPENSATED", reason: BY_USER },
      undone: 2,
    });
  });

  test("leaves all that was done, if asked to", () => {
    const { world, held } = underWay();
    world.cancel(LEAVE);
    world.report(held, success());
    expect(world.run()).toMatchObject({ state: { kind: "CANCELLED", reason: BY_USER }, undone: 0 });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      undo: { kind: "NONE" },
    });
  });

  test("is CANCELLED and not COMPENSATED if there was nothing to undo", () => {
    const world = createWorld(workflow({ a: { compensate } }));
    const held = world.claim("a");
    world.cancel(UNDO);
    world.report(held, cancelled({ noEffect: true }));
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: BY_USER });
  });

  test("undoes a step whose agent stopped without reporting that it had no effect", () => {
    const world = createWorld(workflow({ a: { compensate } }));
    const held = world.claim("a");
    world.cancel(UNDO);
    world.report(held, cancelled());
    expect(world.step("a")).toMatchObject({
      forward: { kind: "CANCELLED" },
      strategies: [{ effectStatus: "UNSETTLED" }],
    });
    expect(world.step("a").undo.kind).toBe("READY");
  });

  test("ends at once if nothing is leased", () => {
    const world = createWorld(workflow({ a: {} }));
    world.cancel(LEAVE);
    expect(world.run().state.kind).toBe("CANCELLED");
  });

  test("ends when an agent that was cancelled does not stop, after its grace", () => {
    const { world } = underWay();
    world.cancel(LEAVE);
    world.heartbeat();
    world.advance(10_000);
    world.fire("b");
    expect(world.run().state.kind).toBe("CANCELLED");
  });

  test("counts the reports of the same pass first", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    const [refused, done] = world.pass([
      { kind: "cancel", undo: UNDO, note: "too late" },
      world.reportOf(held, success()),
    ]);
    expect(done).toEqual({ kind: "done" });
    expect(refused).toMatchObject({ kind: "refused", run: "COMPLETED" });
  });
});

describe("a run that is already on its way to an end", () => {
  test("STOPPING: a repeated cancel changes nothing", () => {
    const { world } = underWay();
    world.cancel(UNDO);
    const before = world.run();
    expect(world.cancel(UNDO)).toEqual({ kind: "done" });
    expect(world.run()).toEqual(before);
  });

  test("COMPENSATING: a cancel changes nothing", () => {
    const world = createWorld(workflow({ a: { compensate }, b: {} }));
    world.report(world.claim("a"), success());
    world.report(world.claim("b"), broken);
    const before = world.run();
    expect(world.cancel(UNDO)).toEqual({ kind: "done" });
    expect(world.run()).toEqual(before);
  });
});

describe("an ESCALATED run", () => {
  test("that waits for a poisoned step is undone once its lost attempts have settled", () => {
    const world = poisoned();
    world.cancel(UNDO);
    expect(world.openEscalations()).toEqual([]);
    expect(world.step("a").forward.kind).toBe("CANCELLED");
    expect(world.run().state).toMatchObject({
      kind: "STOPPING",
      settleUntil: world.now() + 30_000,
    });
    world.fireNext();
    world.report(world.claim("a"), success());
    world.report(world.claim("z"), success());
    expect(world.run().state).toEqual({ kind: "COMPENSATED", reason: BY_USER });
  });

  test("that waits for a poisoned step ends as it is, if asked to leave things", () => {
    const world = poisoned();
    world.cancel(LEAVE);
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: BY_USER });
    expect(world.openEscalations()).toEqual([]);
  });

  test("whose undoing failed refuses to be undone, with a message that names what ends it", () => {
    const world = undoFailed();
    const answer = world.cancel(UNDO);
    expect(answer).toMatchObject({ kind: "refused", run: "ESCALATED" });
    expect(answer).toHaveProperty("why", expect.stringContaining("LEAVE"));
    expect(world.run().state.kind).toBe("ESCALATED");
  });

  test("whose undoing failed, being cancelled, takes a repeat of the cancel for what it is", () => {
    const world = createWorld(workflow({ a: { compensate }, b: {} }));
    succeed(world, "a");
    world.cancel(UNDO);
    world.report(world.claim("a"), broken);
    const before = world.run();
    expect(before.state.kind).toBe("ESCALATED");
    expect(world.cancel(UNDO)).toEqual({ kind: "done" });
    expect(world.run()).toEqual(before);
  });

  test("whose undoing failed ends as it is, if asked to leave things", () => {
    const world = undoFailed();
    expect(world.cancel(LEAVE)).toEqual({ kind: "done" });
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: BY_USER });
    expect(world.openEscalations()).toEqual([]);
    expect(world.step("a").undo.kind).toBe("FAILED");
  });
});

describe("a run that has ended", () => {
  test("refuses a cancel: final is final", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), success());
    expect(world.cancel(UNDO)).toMatchObject({ kind: "refused", run: "COMPLETED" });
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("accepts a repeat of the cancel that ended it", () => {
    const world = createWorld(workflow({ a: {} }));
    world.cancel(UNDO);
    const before = world.run();
    expect(world.cancel(UNDO)).toEqual({ kind: "done" });
    expect(world.run()).toEqual(before);
  });
});
