/** Stalled progress while its agent sends heartbeats: heartbeats alone never move it. */
import { expect, test } from "vitest";
import type { Outcome } from "../../../server/core/model/attempt.ts";
import { cancelled, success, unknown } from "../../support/core-outcomes.ts";
import {
  createWorld,
  START,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const timeouts = { stallMs: 25_000, heartbeatMs: 10_000, cancelMs: 5_000, attemptMs: 500_000 };

/** Heartbeats every ten seconds until then; `progress`: with each comes some. */
function heartbeatUntil(world: World, at: number, progress = false): void {
  while (world.now() < at) {
    world.advance(Math.min(10_000, at - world.now()));
    world.heartbeat("s1", progress);
  }
}

function stalled(more: TaskOptions = {}): { world: World; held: ReturnType<World["claim"]> } {
  const world = createWorld(workflow({ a: { timeouts, ...more } }));
  const held = world.claim("a");
  heartbeatUntil(world, START + 25_000);
  world.fire("a");
  return { world, held };
}

/** How each task has ended, in order. */
function endsOf(world: World): Outcome[] {
  return world.effects.flatMap((effect) =>
    effect.kind === "task-ended" ? [effect.attempt.outcome] : [],
  );
}

test("a step that does not ask for it may stall for ever", () => {
  const world = createWorld(workflow({ a: { timeouts: { heartbeatMs: 10_000 } } }));
  world.claim("a");
  heartbeatUntil(world, START + 500_000);
  world.fire("a");
  expect(world.step("a").forward).toMatchObject({ kind: "LEASED", cancel: { kind: "none" } });
});

test("an attempt whose progress stalls is cancelled, and not before its time", () => {
  const world = createWorld(workflow({ a: { timeouts } }));
  world.claim("a");
  heartbeatUntil(world, START + 24_999);
  world.fire("a");
  expect(world.step("a").forward).toMatchObject({ cancel: { kind: "none" } });
  world.advance(1);
  world.fire("a");
  expect(world.step("a").forward).toMatchObject({
    kind: "LEASED",
    cancel: { kind: "asked", cause: "stalled" },
  });
  expect(world.interventions("stall")).toMatchObject([{ dueAt: START + 25_000 }]);
});

test("an attempt that makes progress is left alone, and its timer moves", () => {
  const world = createWorld(workflow({ a: { timeouts } }));
  world.claim("a");
  heartbeatUntil(world, START + 200_000, true);
  world.fire("a");
  expect(world.step("a").forward).toMatchObject({
    kind: "LEASED",
    cancel: { kind: "none" },
    wakeAt: world.now() + timeouts.stallMs,
  });
});

test("time in which no server could receive progress does not count", () => {
  const world = createWorld(workflow({ a: { timeouts } }));
  world.claim("a");
  heartbeatUntil(world, START + 30_000);
  world.fire("a", { watchingSince: START + 20_000 });
  expect(world.step("a").forward).toMatchObject({ cancel: { kind: "none" } });
});

test("when its grace is over it is unknown, with drover.stalled", () => {
  const { world } = stalled();
  world.heartbeat();
  world.fireNext();
  expect(world.step("a")).toMatchObject({
    forward: { kind: "BACKOFF" },
    attempt: 1,
    lost: 0,
    strategies: [{ effectStatus: "UNSETTLED" }],
  });
  expect(world.effects).toContainEqual(
    expect.objectContaining({
      kind: "task-ended",
      attempt: expect.objectContaining({
        outcome: expect.objectContaining({ kind: "unknown", code: "drover.stalled" }),
      }),
    }),
  );
});

test("an agent that stops when cancelled has stalled, and one that falls silent too", () => {
  const retry = [{ on: ["drover.stalled"], initialMs: 3_000 }];
  const stopping = stalled({ retry });
  stopping.world.heartbeat();
  stopping.world.report(stopping.held, cancelled());
  const silent = stalled({ retry });
  silent.world.advance(10_000);
  silent.world.fire("a");
  for (const { world } of [stopping, silent])
    expect(world.step("a").forward).toMatchObject({ kind: "BACKOFF", wakeAt: world.now() + 3_000 });
});

test("where its agent stops, its outcome has the cause of the cancel", () => {
  const { world, held } = stalled();
  world.report(held, cancelled());
  expect(endsOf(world)).toMatchObject([{ kind: "unknown", code: "drover.stalled" }]);
  expect(world.step("a")).toMatchObject({ forward: { kind: "BACKOFF" }, attempt: 1 });
});

test("where its agent knows that nothing is there it is cancelled, and retried as stalled", () => {
  const { world, held } = stalled({ retry: [{ on: ["drover.stalled"], initialMs: 3_000 }] });
  world.report(held, cancelled({ noEffect: true }));
  expect(endsOf(world)).toEqual([{ kind: "cancelled", noEffect: true }]);
  expect(world.step("a")).toMatchObject({
    forward: { kind: "BACKOFF", wakeAt: world.now() + 3_000 },
    strategies: [{ effectStatus: "NONE" }],
  });
});

test("one that its run has stopped is cancelled, and nothing else", () => {
  const world = createWorld(workflow({ a: { timeouts } }));
  const held = world.claim("a");
  world.cancel(false);
  world.report(held, cancelled());
  expect(endsOf(world)).toEqual([{ kind: "cancelled", noEffect: false }]);
});

test("a verify that is cancelled has found nothing out, whatever it reports of effects", () => {
  const verify = { task: "find", timeouts, retry: [{ on: ["drover.stalled"], initialMs: 3_000 }] };
  const world = createWorld(workflow({ a: { effects: "verifiable", verify } }));
  world.report(world.claim("a"), unknown());
  const held = world.claim("a");
  heartbeatUntil(world, START + 25_000);
  world.fire("a");
  world.report(held, cancelled({ noEffect: true }));
  expect(endsOf(world)[1]).toMatchObject({ kind: "unknown", code: "drover.stalled" });
  expect(world.step("a").forward).toMatchObject({ task: "verify", wakeAt: world.now() + 3_000 });
});

test("a stalled attempt is tried with other parameters where that is the next strategy", () => {
  const input = { kind: "json", json: '{"preset":"slow"}' } as const;
  const { world, held } = stalled({ retry: [{ on: ["busy"] }], fallback: [{ input }] });
  world.report(held, cancelled());
  expect(world.step("a")).toMatchObject({
    forward: { kind: "READY" },
    strategies: [{ planned: 0, effectStatus: "UNSETTLED" }, { planned: 1 }],
  });
});

test("a success after it was cancelled still counts", () => {
  const { world, held } = stalled();
  world.heartbeat();
  world.report(held, success());
  expect(world.run().state.kind).toBe("COMPLETED");
});

test("an undo and a verify are watched by timeouts of their own", () => {
  const world = createWorld(
    workflow({ a: { compensate: { task: "undo", timeouts } }, b: { needs: ["a"] } }),
  );
  world.report(world.claim("a"), success());
  world.cancel(true);
  world.claim("a");
  heartbeatUntil(world, world.now() + 25_000);
  world.fire("a");
  expect(world.step("a").undo).toMatchObject({ cancel: { kind: "asked", cause: "stalled" } });
});
