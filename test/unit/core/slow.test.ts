/** An attempt that runs far longer than others of its step is marked as suspect, and continues. */
import { expect, test } from "vitest";
import { movingSide } from "../../../server/core/model/model.ts";
import { success } from "../../support/core-outcomes.ts";
import { createWorld, type World, workflow } from "../../support/core-world.ts";

const typical = { samples: 431, p99Ms: 8_000, slowAfterMs: 12_000 };
const HEARTBEAT_MS = 30_000;

function leaseOf(world: World, id = "a") {
  const state = movingSide(world.step(id))?.state;
  if (state?.kind !== "LEASED") throw new Error(`${id} is not leased`);
  return state;
}

test("it is marked once its time has passed, with its evidence, and not before", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a");
  const granted = world.now();
  world.advance(11_999);
  world.fire("a", { typical });
  expect(leaseOf(world)).toMatchObject({ suspectAt: null, wakeAt: granted + 12_000 });
  world.advance(1);
  world.fire("a", { typical });
  expect(leaseOf(world)).toMatchObject({
    suspectAt: world.now(),
    wakeAt: leaseOf(world).attemptBy,
    cancel: { kind: "none" },
  });
  expect(world.interventions("slow")).toMatchObject([
    {
      step: 0,
      fence: 1,
      dueAt: granted + 12_000,
      actedAt: granted + 12_000,
      saw: expect.stringMatching(/has run for 12 s: of 431 successful ones 99 % took 8 s at most/),
    },
  ]);
});

test("the typical duration was learned after its wake-up had been set: it is due at that, not before", () => {
  const world = createWorld(workflow({ a: { timeouts: { stallMs: 30_000 } } }));
  const { grantedAt } = world.claim("a");
  const { wakeAt } = leaseOf(world);
  expect(wakeAt).toBe(grantedAt + 30_000);
  world.advance(20_000);
  world.heartbeat("s1", true);
  world.advance(10_500);
  world.fire("a", { typical });
  expect(world.interventions("slow")).toMatchObject([{ dueAt: wakeAt, actedAt: world.now() }]);
});

test("while no typical duration is known, it is checked after a half and three quarters of its time", () => {
  const world = createWorld(workflow({ a: { timeouts: { attemptMs: 80_000 } } }));
  const { grantedAt } = world.claim("a");
  expect(leaseOf(world).wakeAt).toBe(grantedAt + 40_000);
  for (const seconds of [20, 40, 60]) {
    world.advance(20_000);
    world.heartbeat();
    world.fire("a");
    expect(leaseOf(world).wakeAt).toBe(grantedAt + Math.min(2 * seconds, seconds + 20) * 1_000);
  }
  expect(leaseOf(world).suspectAt).toBeNull();
});

test("what others of its step take may become known while it runs: then it is marked", () => {
  const world = createWorld(workflow({ a: { timeouts: { attemptMs: 80_000 } } }));
  world.claim("a");
  for (const known of [false, true]) {
    world.advance(20_000);
    world.heartbeat();
    world.fire("a", known ? { typical } : {});
    expect(world.interventions("slow")).toHaveLength(known ? 1 : 0);
  }
});

test("it is marked once, however long it runs, and then succeeds as any other", () => {
  const world = createWorld(workflow({ a: {} }));
  const held = world.claim("a");
  for (let round = 0; round < 5; round++) {
    world.advance(20_000);
    world.heartbeat();
    world.fire("a", { typical });
  }
  expect(world.interventions("slow")).toHaveLength(1);
  expect(world.report(held, success())).toEqual({ kind: "done" });
  expect(world.run().state).toMatchObject({ kind: "COMPLETED" });
});

test("it moves no version of the run, so that no watcher is woken by it", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a");
  const { version } = world.run();
  world.advance(12_000);
  world.fire("a", { typical });
  expect(world.run().version).toBe(version);
});

test("where too little is known no attempt is suspect", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a");
  world.advance(25_000);
  world.fire("a");
  expect(leaseOf(world).suspectAt).toBeNull();
  expect(world.interventions("slow")).toEqual([]);
});

test("silence, and the end of an attempt, come before it", () => {
  const silent = createWorld(workflow({ a: {} }));
  silent.claim("a");
  silent.advance(HEARTBEAT_MS);
  silent.fire("a", { typical });
  expect(silent.step("a").forward.kind).toBe("READY");
  const late = createWorld(workflow({ a: { timeouts: { attemptMs: 12_000 } } }));
  late.claim("a");
  late.advance(12_000);
  late.fire("a", { typical });
  expect(leaseOf(late)).toMatchObject({ suspectAt: null, cancel: { cause: "timeout" } });
});

test("the next attempt is evaluated from its own grant", () => {
  const world = createWorld(workflow({ a: {} }));
  world.claim("a", "s1");
  world.advance(12_000);
  world.fire("a", { typical });
  world.advance(18_000);
  world.fire("a", { typical });
  world.advance(2_000);
  world.claim("a", "s2");
  world.advance(11_999);
  world.fire("a", { typical });
  expect(leaseOf(world).suspectAt).toBeNull();
  world.advance(1);
  world.fire("a", { typical });
  expect(world.interventions("slow").map(({ fence }) => fence)).toEqual([1, 2]);
});
