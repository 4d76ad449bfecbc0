/** A session lists all that it holds, and leaves out a task that had arrived. */
import { expect, test } from "vitest";
import { success } from "../../support/core-outcomes.ts";
import { createWorld, type World, workflow } from "../../support/core-world.ts";

function forget(world: World, session = "s1"): void {
  world.forgotten(world.claim("a", session));
}

test("a forgotten task is lost: ready again at once, for another session, and counted as a loss", () => {
  const world = createWorld(workflow({ a: {} }));
  forget(world);
  expect(world.step("a")).toMatchObject({
    forward: { kind: "READY", attempt: 1, fence: 2, avoid: { session: "s1" } },
    lost: 1,
    strategies: [{ effectStatus: "UNSETTLED" }],
  });
  expect(world.interventions("forgotten")).toMatchObject([
    { step: 0, fence: 1, dueAt: world.now(), did: expect.stringContaining("drover.lost") },
  ]);
});

test("a task that is forgotten three times in a row is poison", () => {
  const world = createWorld(workflow({ a: {} }));
  for (const session of ["s1", "s2", "s3"]) forget(world, session);
  expect(world.step("a").forward.kind).toBe("ESCALATED");
});

test("a step that may run only once asks a person when its task is forgotten", () => {
  const world = createWorld(workflow({ a: { effects: "once" } }));
  forget(world);
  expect(world.step("a").forward.kind).toBe("ESCALATED");
});

test("what was cancelled and is forgotten then ends by the cause of its cancel", () => {
  const world = createWorld(workflow({ a: { timeouts: { attemptMs: 1_000 } } }));
  const held = world.claim("a");
  world.advance(1_000);
  world.fire("a");
  world.forgotten(held);
  expect(world.interventions("forgotten")).toMatchObject([
    { did: expect.stringContaining("drover.timeout") },
  ]);
});

test("a task is forgotten once, and nothing happens to the next hand-out of its step", () => {
  const world = createWorld(workflow({ a: {} }));
  const held = world.claim("a", "s1");
  world.forgotten(held);
  const next = world.claim("a", "s2");
  expect(world.forgotten(held)).toEqual({ kind: "done" });
  expect(world.report(next, success())).toEqual({ kind: "done" });
  expect(world.interventions("forgotten")).toHaveLength(1);
});

test("the late report of a forgotten task settles its step while no other was handed out", () => {
  const world = createWorld(workflow({ a: {} }));
  const held = world.claim("a");
  world.forgotten(held);
  expect(world.report(held, success())).toEqual({ kind: "done" });
  expect(world.step("a").forward.kind).toBe("SUCCEEDED");
});
