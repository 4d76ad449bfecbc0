/** A task comes back unstarted: released by its agent, or never delivered to it. */
import { expect, test } from "vitest";
import { failure, released, success } from "../../support/core-outcomes.ts";
import { createWorld, lastQuestion, type World, workflow } from "../../support/core-world.ts";

test("a released task is ready at once, as the same attempt with the next fence", () => {
  const world = createWorld(workflow({ a: { retry: [{ attempts: 1 }] } }));
  world.report(world.claim("a"), released);
  expect(world.step("a").forward).toMatchObject({ kind: "READY", attempt: 1, fence: 2 });
  expect(world.step("a")).toMatchObject({
    attempt: 0,
    lost: 0,
    tries: [],
    strategies: [{ effectStatus: "CLEARED" }],
  });
});

test("a released task goes to another session than the one that is draining, for a while", () => {
  const world = createWorld(workflow({ a: {} }));
  world.report(world.claim("a", "s1"), released);
  expect(world.tryClaim("a", "s1")).toBeUndefined();
  expect(world.tryClaim("a", "s2")).toBeDefined();
});

test("a task that never arrived is ready at once for any session, and nothing is counted", () => {
  const world = createWorld(workflow({ a: {} }));
  expect(world.undelivered(world.claim("a", "s1"))).toEqual({ kind: "done" });
  expect(world.step("a")).toMatchObject({
    forward: { kind: "READY", attempt: 1, fence: 2, avoid: null },
    attempt: 0,
    lost: 0,
    strategies: [{ effectStatus: "NONE" }],
    settleUntil: null,
  });
  expect(world.interventions("delivery")).toHaveLength(1);
});

test("a task that never arrived is given back once", () => {
  const world = createWorld(workflow({ a: {} }));
  const held = world.claim("a");
  world.undelivered(held);
  const before = world.step("a");
  world.undelivered(held);
  expect(world.step("a")).toEqual(before);
  expect(world.interventions("delivery")).toHaveLength(1);
});

test("a lost poll proves nothing about a later hand-out of the task", () => {
  const world = createWorld(workflow({ a: {} }));
  const first = world.claim("a");
  world.undelivered(first);
  const second = world.claim("a");
  world.undelivered(first);
  expect(world.report(second, success())).toEqual({ kind: "done" });
});

test("a report of a task comes before the news that its poll was lost", () => {
  const world = createWorld(workflow({ a: {} }));
  const held = world.claim("a");
  const { step, fence, secret } = held;
  world.pass([{ kind: "undelivered", step, fence, secret }, world.reportOf(held, success())]);
  expect(world.run().state.kind).toBe("COMPLETED");
});

test("an undo that is given back is ready at once and counts as no try", () => {
  const world = createWorld(workflow({ a: { compensate: { task: "undo-a" } }, b: {} }));
  world.report(world.claim("a"), success());
  world.report(world.claim("b"), failure("broken", { permanent: true }));
  world.report(world.claim("a"), released);
  world.undelivered(world.claim("a", "s2"));
  expect(world.step("a")).toMatchObject({
    undo: { kind: "READY", attempt: 1, fence: 4 },
    attempt: 0,
  });
});

test("a task that is given back while its run stops is not handed out again", () => {
  const world = createWorld(workflow({ a: {}, b: {} }));
  const [a, b] = [world.claim("a"), world.claim("b")];
  world.cancel(true);
  world.report(a, released);
  world.undelivered(b);
  expect(world.step("a").forward.kind).toBe("CANCELLED");
  expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
});

const NO_INPUT = "the input is a list that has grown beyond its limit";

test("a task that cannot be made is not handed out again, and a person is asked", () => {
  const world = createWorld(workflow({ a: {}, b: {} }));
  expect(world.undelivered(world.claim("a"), NO_INPUT)).toEqual({ kind: "done" });
  expect(world.step("a")).toMatchObject({
    forward: { kind: "ESCALATED" },
    attempt: 0,
    strategies: [{ effectStatus: "NONE" }],
  });
  expect(lastQuestion(world)).toMatchObject({ step: 0, code: "drover.expression" });
  expect(world.interventions("delivery")).toMatchObject([
    { saw: expect.stringContaining(NO_INPUT), did: "a person is asked" },
  ]);
  // Its neighbour has lost nothing.
  expect(world.step("b").forward.kind).toBe("READY");
});

test("an undo that cannot be made asks a person", () => {
  const world = createWorld(workflow({ a: { compensate: { task: "undo-a" } }, b: {} }));
  world.report(world.claim("a"), success());
  world.report(world.claim("b"), failure("broken", { permanent: true }));
  world.undelivered(world.claim("a"), NO_INPUT);
  expect(world.step("a").undo.kind).toBe("FAILED");
  expect(world.openEscalations()).toEqual([0]);
});

test("a verify that cannot be made finds nothing out, and a person is asked", () => {
  const world = createWorld(workflow({ a: { effects: "verifiable", verify: { task: "ask-a" } } }));
  world.forgotten(world.claim("a"));
  world.fireNext();
  world.undelivered(world.claim("a"), NO_INPUT);
  expect(lastQuestion(world)).toMatchObject({ reason: "unverified", code: "drover.expression" });
});

test("a task that cannot be made while its run stops is cancelled", () => {
  const world = createWorld(workflow({ a: {} }));
  const held = world.claim("a");
  world.cancel(true);
  world.undelivered(held, NO_INPUT);
  expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
});

/** Handed out and never delivered, so often; returns the backoff after each. */
function neverArrives(world: World, times: number): readonly number[] {
  return Array.from({ length: times }, () => {
    const { forward } = world.step("a");
    if (forward.kind === "BACKOFF") world.fireNext();
    world.undelivered(world.claim("a"));
    const after = world.step("a").forward;
    return after.kind === "BACKOFF" ? after.wakeAt - world.now() : 0;
  });
}

test("a task that never arrives backs off for longer and longer, and then a person is asked", () => {
  const world = createWorld(workflow({ a: {}, b: {} }));
  const seconds = neverArrives(world, 9).map((ms) => ms / 1_000);
  expect(seconds).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 60]);
  expect(world.interventions("delivery").at(-1)).toMatchObject({ did: "next try in 60 s" });
  neverArrives(world, 1);
  expect(world.step("a")).toMatchObject({ forward: { kind: "ESCALATED" }, attempt: 0 });
  expect(lastQuestion(world)).toMatchObject({ reason: "poison", code: "drover.undelivered" });
  expect(world.step("b").forward.kind).toBe("READY");
});

test("a task that has arrived begins a new row", () => {
  const world = createWorld(workflow({ a: { retry: [{ attempts: 5 }] } }));
  neverArrives(world, 4);
  world.fireNext();
  world.report(world.claim("a", "s2"), failure("busy"));
  expect(neverArrives(world, 3)).toEqual([0, 0, 1_000]);
});

test("an answer that had no room for a task proves nothing about it", () => {
  const world = createWorld(workflow({ a: {} }));
  for (let times = 0; times < 20; times++) {
    const { step, fence, secret } = world.claim("a");
    world.pass([{ kind: "undelivered", step, fence, secret, unsent: true }]);
  }
  expect(world.step("a").forward).toMatchObject({ kind: "READY", fence: 21 });
});

test("an undo and a verify that never arrive back off, and then a person is asked", () => {
  const undone = createWorld(workflow({ a: { compensate: { task: "undo-a" } }, b: {} }));
  undone.report(undone.claim("a"), success());
  undone.report(undone.claim("b"), failure("broken", { permanent: true }));
  const verified = createWorld(
    workflow({ a: { effects: "verifiable", verify: { task: "ask-a" } } }),
  );
  verified.forgotten(verified.claim("a"));
  verified.fireNext();
  for (const world of [undone, verified]) {
    for (let times = 0; times < 10; times++) {
      if (times > 2) world.fireNext();
      world.undelivered(world.claim("a"));
    }
    expect(world.openEscalations()).toEqual([0]);
    expect(lastQuestion(world)).toMatchObject({ code: "drover.undelivered" });
  }
});
