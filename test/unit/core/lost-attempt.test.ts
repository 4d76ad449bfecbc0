/** An agent falls silent: its lease ends, and another gets the task at once. */
import { expect, test } from "vitest";
import { failure, released, success } from "../../support/core-outcomes.ts";
import { createWorld, type World, workflow } from "../../support/core-world.ts";

const HEARTBEAT_MS = 30_000;

/** Session after session gets the task and falls silent. */
function loseTimes(world: World, times: number): void {
  for (let time = 1; time <= times; time++) {
    world.claim("a", `lost ${time}`);
    world.advance(HEARTBEAT_MS);
    world.fire("a");
  }
}

test("an attempt is lost when no heartbeat came within the time allowed, and not before", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a");
  world.advance(HEARTBEAT_MS - 1);
  world.fire("a");
  expect(world.step("a").forward.kind).toBe("LEASED");
  world.advance(1);
  world.fire("a");
  expect(world.step("a").forward.kind).toBe("READY");
  expect(world.interventions("lease")).toMatchObject([{ step: 0, fence: 1 }]);
});

test("a lost attempt is ready again at once, counts as no try, and has the next fence", () => {
  const world = createWorld(workflow({ a: { retry: [{ attempts: 1 }] } }));
  loseTimes(world, 1);
  expect(world.step("a").forward).toMatchObject({ kind: "READY", attempt: 1, fence: 2 });
  expect(world.step("a")).toMatchObject({
    attempt: 0,
    lost: 1,
    tries: [],
    strategies: [{ effectStatus: "UNSETTLED" }],
  });
});

test("a lost task goes to another session than the one that lost it, for a while", () => {
  const world = createWorld(workflow({ a: {} }));
  loseTimes(world, 1);
  expect(world.tryClaim("a", "lost 1")).toBeUndefined();
  world.advance(2_000);
  expect(world.tryClaim("a", "lost 1")).toBeDefined();
});

test("a heartbeat puts the end of the lease off, and moves nothing of it", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a");
  const leased = world.step("a");
  world.advance(20_000);
  world.heartbeat();
  world.advance(10_000);
  world.fire("a");
  expect(world.step("a")).toEqual(leased);
  expect(world.interventions("lease")).toEqual([]);
  expect(world.nextTimer()).toEqual({ at: world.now() + 20_000, step: 0 });
  world.fireNext();
  expect(world.step("a").forward.kind).toBe("READY");
});

test("a lease is checked by itself at the end of its attempt, whatever its session does", () => {
  const world = createWorld(workflow({ a: { timeouts: { attemptMs: 70_000 } } }));
  const { grantedAt } = world.claim("a");
  world.advance(52_500);
  world.heartbeat();
  world.fire("a");
  expect(world.step("a").forward).toMatchObject({ wakeAt: grantedAt + 70_000 });
});

test("silence counts only while a server could have received a heartbeat", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a");
  world.advance(10 * HEARTBEAT_MS);
  const watchingSince = world.now() - 1_000;
  world.fire("a", { watchingSince });
  expect(world.step("a").forward.kind).toBe("LEASED");
  world.advance(HEARTBEAT_MS - 1_001);
  world.fire("a", { watchingSince });
  expect(world.step("a").forward.kind).toBe("LEASED");
  world.advance(1);
  world.fire("a", { watchingSince });
  expect(world.interventions("lease")).toMatchObject([{ dueAt: watchingSince + HEARTBEAT_MS }]);
});

test("the third loss in a row is poison: a person is asked", () => {
  const world = createWorld(workflow({ a: {} }));
  loseTimes(world, 2);
  expect(world.step("a").forward.kind).toBe("READY");
  loseTimes(world, 1);
  expect(world.step("a").forward.kind).toBe("ESCALATED");
  expect(world.run().state.kind).toBe("ESCALATED");
  expect(world.openEscalations()).toEqual([0]);
  expect(world.effects).toContainEqual(
    expect.objectContaining({ kind: "escalated", reason: "poison", code: "drover.poison" }),
  );
});

test("an attempt that ended otherwise breaks the row of losses", () => {
  const world = createWorld(workflow({ a: {} }));
  loseTimes(world, 2);
  world.report(world.claim("a"), failure("busy"));
  world.fireNext();
  loseTimes(world, 2);
  expect(world.step("a")).toMatchObject({ forward: { kind: "READY" }, lost: 2 });
});

test("a task that was given back in between does not break the row of losses", () => {
  const world = createWorld(workflow({ a: {} }));
  loseTimes(world, 1);
  world.report(world.claim("a", "draining"), released);
  loseTimes(world, 1);
  world.undelivered(world.claim("a", "unreached"));
  loseTimes(world, 1);
  expect(world.step("a").forward.kind).toBe("ESCALATED");
});

test("a run in which a step waits for a person is RUNNING while another can move", () => {
  const world = createWorld(workflow({ a: {}, b: {}, c: { needs: ["a", "b"] } }));
  loseTimes(world, 3);
  expect(world.run().state.kind).toBe("RUNNING");
  world.report(world.claim("b"), success());
  expect(world.run().state.kind).toBe("ESCALATED");
});

test("the timer of a lease that is over does nothing", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a", "s1");
  const stale = world.timerEventOf("a");
  world.advance(HEARTBEAT_MS);
  world.fire("a");
  world.claim("a", "s2");
  const before = world.step("a");
  world.advance(HEARTBEAT_MS);
  if (stale) world.pass([stale]);
  expect(world.step("a")).toEqual(before);
});
