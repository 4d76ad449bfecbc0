/** An attempt runs past its time: it is cancelled, and its agent has a little while to stop. */
import { expect, test } from "vitest";
import { cancelled, success } from "../../support/core-outcomes.ts";
import { createWorld, type World, workflow } from "../../support/core-world.ts";

const timeouts = { attemptMs: 20_000, heartbeatMs: 30_000, cancelMs: 10_000 };

/** A step whose agent sends heartbeats, and whose attempt has just run past its time. */
function overrun(): { world: World; held: ReturnType<World["claim"]> } {
  const world = createWorld(workflow({ a: { timeouts } }));
  const held = world.claim("a");
  world.advance(20_000);
  world.heartbeat();
  world.fire("a");
  return { world, held };
}

test("an attempt past its time is cancelled, and keeps its lease until its agent knows", () => {
  const { world } = overrun();
  expect(world.step("a").forward).toMatchObject({
    kind: "LEASED",
    cancel: { kind: "asked", cause: "timeout", at: world.now() },
    wakeAt: world.now() + 30_000,
  });
  expect(world.interventions("attempt")).toMatchObject([{ n: 0, dueAt: world.now() }]);
});

test("it is cancelled once, however often its timer fires", () => {
  const { world } = overrun();
  world.fire("a");
  expect(world.effects.filter((effect) => effect.kind === "cancel-asked")).toHaveLength(1);
});

test("from the heartbeat that cancels it the lease lasts the grace, and no heartbeat extends it", () => {
  const { world } = overrun();
  world.heartbeat();
  const by = world.now() + 10_000;
  expect(world.step("a").forward).toMatchObject({ cancel: { kind: "received", by }, wakeAt: by });
  world.advance(9_999);
  world.heartbeat();
  world.fire("a");
  expect(world.step("a").forward).toMatchObject({ kind: "LEASED", cancel: { by } });
  world.advance(1);
  world.fire("a");
  expect(world.step("a").forward.kind).toBe("BACKOFF");
});

test("when the grace is over the attempt is unknown, counts, and is tried again", () => {
  const { world } = overrun();
  world.heartbeat();
  world.fireNext();
  expect(world.step("a")).toMatchObject({
    forward: { kind: "BACKOFF" },
    attempt: 1,
    tries: [1],
    lost: 0,
    strategies: [{ effectStatus: "UNSETTLED" }],
  });
  expect(world.effects).toContainEqual(
    expect.objectContaining({
      kind: "task-ended",
      attempt: expect.objectContaining({
        outcome: expect.objectContaining({ kind: "unknown", code: "drover.timeout" }),
      }),
    }),
  );
});

test("an agent that never learns it ends by its silence, as timed out and not as lost", () => {
  const { world } = overrun();
  world.fireNext();
  expect(world.step("a")).toMatchObject({ forward: { kind: "BACKOFF" }, attempt: 1, lost: 0 });
});

test("an agent that sends heartbeats and no longer names the task cannot keep it for ever", () => {
  const { world } = overrun();
  const asked = world.now();
  world.advance(29_999);
  world.heartbeatUnnamed();
  world.fire("a");
  expect(world.step("a").forward).toMatchObject({ kind: "LEASED", wakeAt: asked + 30_000 });
  world.advance(1);
  world.heartbeatUnnamed();
  world.fire("a");
  expect(world.step("a").forward.kind).toBe("BACKOFF");
  expect(world.interventions("lease")).toMatchObject([
    {
      saw: "agent of s1 sends heartbeats, and does not name this task any more",
      dueAt: asked + 30_000,
    },
  ]);
});

test("nor can it keep a run from stopping", () => {
  const world = createWorld(workflow({ a: { timeouts } }));
  world.claim("a");
  world.cancel(false);
  world.advance(30_000);
  world.heartbeatUnnamed();
  world.fire("a");
  expect(world.run().state.kind).toBe("CANCELLED");
});

test("but time in which no server could receive heartbeats does not count against it", () => {
  const { world } = overrun();
  world.advance(30_000);
  world.heartbeatUnnamed();
  world.fire("a", { watchingSince: world.now() - 10_000 });
  expect(world.step("a").forward).toMatchObject({ kind: "LEASED", wakeAt: world.now() + 20_000 });
});

test("an agent that stops when cancelled has timed out", () => {
  const { world, held } = overrun();
  world.heartbeat();
  world.report(held, cancelled());
  expect(world.step("a")).toMatchObject({
    forward: { kind: "BACKOFF" },
    attempt: 1,
    strategies: [{ effectStatus: "UNSETTLED" }],
  });
});

test("an agent that stops without having had any effect leaves nothing to undo", () => {
  const { world, held } = overrun();
  world.report(held, cancelled({ noEffect: true }));
  expect(world.step("a").strategies).toMatchObject([{ effectStatus: "NONE" }]);
});

test("a success after it was cancelled still counts", () => {
  const { world, held } = overrun();
  world.heartbeat();
  world.advance(5_000);
  expect(world.report(held, success())).toEqual({ kind: "done" });
  expect(world.run().state.kind).toBe("COMPLETED");
});

test("a timeout is retried by the policy that names it, and not at all where none does", () => {
  const retry = [{ on: ["busy"] }];
  const world = createWorld(workflow({ a: { retry, timeouts } }));
  world.claim("a");
  world.advance(20_000);
  world.heartbeat();
  world.fire("a");
  world.heartbeat();
  world.fireNext();
  expect(world.step("a").forward.kind).toBe("FAILED");
});

test("an agent that stops without a request is an unknown outcome that counts", () => {
  const world = createWorld(workflow({ a: {} }));
  world.report(world.claim("a"), cancelled());
  expect(world.step("a")).toMatchObject({
    forward: { kind: "BACKOFF" },
    attempt: 1,
    strategies: [{ effectStatus: "UNSETTLED" }],
  });
});

test("an undo that runs past its time is cancelled, and tried again", () => {
  const compensate = { task: "undo-a", timeouts };
  const world = createWorld(workflow({ a: { compensate }, b: { needs: ["a"] } }));
  world.report(world.claim("a"), success());
  world.cancel(true);
  world.claim("a");
  world.advance(20_000);
  world.heartbeat();
  world.fire("a");
  world.heartbeat();
  world.advance(10_000);
  world.fire("a");
  expect(world.step("a")).toMatchObject({ undo: { kind: "BACKOFF" }, attempt: 1 });
});
