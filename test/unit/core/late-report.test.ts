/**
 * The end of a lease revokes nothing by itself: a report counts while its attempt is current, that
 * is until another perform or compensate task of the step is handed out.
 */
import { describe, expect, test } from "vitest";
import { failure, success, unknown } from "../../support/core-outcomes.ts";
import type { Held } from "../../support/core-rows.ts";
import { createWorld, type World, workflow } from "../../support/core-world.ts";

const HEARTBEAT_MS = 30_000;
const broken = failure("broken", { permanent: true });

function lose(world: World, session: string, id = "a"): Held {
  const held = world.claim(id, session);
  world.advance(HEARTBEAT_MS);
  world.fire(id);
  return held;
}

/** Three in a row are lost: the step waits for a person. The last of them. */
function poison(world: World): Held {
  lose(world, "s1");
  lose(world, "s2");
  return lose(world, "s3");
}

describe("a report of the current attempt", () => {
  test("succeeds a step that is ready again, and takes it out of its queue", () => {
    const world = createWorld(workflow({ a: {}, b: { needs: ["a"] } }));
    const held = lose(world, "s1");
    expect(world.report(held, success())).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { fence: 1, kind: "perform", n: 0 },
      attempt: 1,
      lost: 0,
    });
    expect(world.step("b").forward.kind).toBe("READY");
  });

  test("succeeds a step that backs off", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, unknown());
    expect(world.step("a").forward.kind).toBe("BACKOFF");
    expect(world.report(held, success())).toEqual({ kind: "done" });
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("succeeds a step that waits for a person, closes the question and moves the run on", () => {
    const world = createWorld(workflow({ a: {}, b: { needs: ["a"] } }, { timeoutMs: 200_000 }));
    const held = poison(world);
    expect(world.run().state).toMatchObject({
      kind: "ESCALATED",
      from: { kind: "RUNNING", leftMs: 110_000 },
    });
    world.advance(1_000_000);
    world.report(held, success());
    expect(world.openEscalations()).toEqual([]);
    expect(world.run().state).toEqual({ kind: "RUNNING", deadline: world.now() + 110_000 });
    expect(world.step("b").forward).toMatchObject({ kind: "READY", until: world.now() + 110_000 });
  });

  test("completes the run where it was all that the run waited for", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(poison(world), success());
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("counts a failure that its loss did not count, and backs off", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = lose(world, "s1");
    world.report(held, failure("busy"));
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", wakeAt: world.now() + 1_000 },
      attempt: 1,
      tries: [1],
      lost: 0,
    });
  });

  test("does not count an attempt twice that counted when it ended", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, unknown());
    world.report(held, failure("busy", { retryAfterMs: 9_000 }));
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", wakeAt: world.now() + 9_000 },
      attempt: 1,
      tries: [1],
    });
  });

  test("fails a step for good, from READY, BACKOFF and ESCALATED", () => {
    const ready = createWorld(workflow({ a: {} }));
    ready.report(lose(ready, "s1"), broken);
    const backoff = createWorld(workflow({ a: {} }));
    const held = backoff.claim("a");
    backoff.report(held, unknown());
    backoff.report(held, broken);
    const escalated = createWorld(workflow({ a: {} }));
    escalated.report(poison(escalated), broken);
    for (const world of [ready, backoff, escalated]) {
      expect(world.step("a").forward.kind).toBe("FAILED");
      expect(world.openEscalations()).toEqual([]);
    }
  });

  test("settles an undo that was given up, and lets the undoing continue", () => {
    const compensate = { task: "undo" };
    const world = createWorld(
      workflow({ a: { compensate }, b: { needs: ["a"], compensate }, c: { needs: ["b"] } }),
    );
    world.report(world.claim("a"), success());
    world.report(world.claim("b"), success());
    world.cancel(true);
    lose(world, "s1", "b");
    lose(world, "s2", "b");
    const held = lose(world, "s3", "b");
    expect(world.run().state.kind).toBe("ESCALATED");
    world.report(held, success());
    expect(world.run().state.kind).toBe("COMPENSATING");
    expect(world.openEscalations()).toEqual([]);
    world.report(world.claim("a"), success());
    expect(world.run().state.kind).toBe("COMPENSATED");
  });
});

describe("after another hand-out", () => {
  test("a report is answered lease lost, stored as evidence, and changes nothing", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = lose(world, "s1");
    world.claim("a", "s2");
    const before = world.step("a");
    expect(world.report(held, success())).toEqual({ kind: "lease-lost", run: "RUNNING" });
    expect(world.step("a")).toEqual(before);
    expect(world.effects.at(-1)).toMatchObject({
      kind: "attempt-stored",
      attempt: { kind: "late", fence: 1, outcome: { kind: "success" } },
    });
  });

  test("that is so also when the later attempt has ended", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = lose(world, "s1");
    world.report(world.claim("a", "s2"), failure("busy"));
    expect(world.report(held, success())).toMatchObject({ kind: "lease-lost" });
    expect(world.step("a").forward.kind).toBe("BACKOFF");
  });

  test("the report of the later attempt still counts", () => {
    const world = createWorld(workflow({ a: {} }));
    const lost = lose(world, "s1");
    const held = world.claim("a", "s2");
    world.report(lost, broken);
    expect(world.report(held, success())).toEqual({ kind: "done" });
  });
});

describe("a step or run that is final", () => {
  test("keeps a late report as evidence; a late success is an intervention", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = lose(world, "s1");
    world.report(world.claim("a", "s2"), success());
    expect(world.report(held, success())).toEqual({ kind: "lease-lost", run: "COMPLETED" });
    expect(world.interventions("late-effect")).toMatchObject([{ step: 0, fence: 1 }]);
  });

  test("is not moved by a late failure, which needs no reaction", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = lose(world, "s1");
    world.report(world.claim("a", "s2"), success());
    expect(world.report(held, broken)).toMatchObject({ kind: "lease-lost" });
    expect(world.interventions("late-effect")).toEqual([]);
  });

  test("a step that was cancelled before its lost attempt reported stays cancelled", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = lose(world, "s1");
    world.claim("b");
    world.cancel(false);
    expect(world.report(held, success())).toEqual({ kind: "lease-lost", run: "STOPPING" });
    expect(world.step("a").forward.kind).toBe("CANCELLED");
  });
});

describe("an attempt that its agent ended", () => {
  test("gets the same answer for the same report, however often", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.report(held, success());
    const before = world.run();
    for (let time = 0; time < 3; time++)
      expect(world.report(held, success())).toEqual({ kind: "repeated" });
    expect(world.run()).toEqual(before);
  });

  test("is over for another report, with how it ended", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.report(held, success());
    expect(world.report(held, broken)).toEqual({ kind: "over", outcome: "success" });
  });

  test("is found by a repeat in the same pass", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    const report = world.reportOf(held, success());
    expect(world.pass([report, { ...report }])).toEqual([{ kind: "done" }, { kind: "repeated" }]);
  });

  test("is found by another report in the same pass", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    const reports = [world.reportOf(held, unknown()), world.reportOf(held, success())];
    expect(world.pass(reports)).toEqual([{ kind: "done" }, { kind: "done" }]);
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("can be settled once after an unknown, and is over then", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.report(held, unknown());
    world.report(held, success());
    expect(world.report(held, success())).toEqual({ kind: "repeated" });
    expect(world.report(held, broken)).toEqual({ kind: "over", outcome: "success" });
  });

  test("is not settled by another report that settles nothing", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, unknown());
    const before = world.step("a");
    expect(world.report(held, unknown("drover.callback"))).toMatchObject({ kind: "lease-lost" });
    expect(world.step("a")).toEqual(before);
  });
});

test.each([
  ["another secret", (held: Held): Held => ({ ...held, secret: "guessed" })],
  ["a fence that was never handed out", (held: Held): Held => ({ ...held, fence: 9 })],
  ["a step that the workflow does not have", (held: Held): Held => ({ ...held, step: 9 })],
  ["another task", (held: Held): Held => ({ ...held, task: "compensate" })],
])("a token with %s is no task, whether the attempt runs or has ended", (_what, change) => {
  const world = createWorld(workflow({ a: {}, b: {} }));
  const held = world.claim("a");
  expect(world.report(change(held), success())).toEqual({ kind: "no-such-task" });
  world.report(held, success());
  expect(world.report(change(held), success())).toEqual({ kind: "no-such-task" });
});
