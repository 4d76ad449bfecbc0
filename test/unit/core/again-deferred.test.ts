/**
 * An attempt that continues without its agent: *again* asks to be asked again, *deferred* hands the
 * outcome over to the holder of the callback token. No capacity is used, and no attempt is counted.
 */
import { describe, expect, test } from "vitest";
import {
  again,
  broken,
  calledBack,
  deferred,
  failure,
  success,
  unknown,
} from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  lose,
  START,
  succeed,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const DAY_MS = 24 * 3_600_000;
const compensate = { task: "undo" };
const verifiable: TaskOptions = { effects: "verifiable", verify: { task: "find" } };

describe("asked again", () => {
  test("a step waits as long as its agent asked, and no attempt is counted", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), again(7_000));
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "perform", cause: "again", wakeAt: world.now() + 7_000 },
      attempt: 0,
      tries: [],
    });
    world.fireNext();
    expect(world.step("a").forward).toMatchObject({ kind: "READY", attempt: 1, fence: 2 });
  });

  test("a step may defer any number of times: it uses up no try", () => {
    const world = createWorld(workflow({ a: { retry: [{ attempts: 1 }] } }));
    for (let time = 0; time < 20; time++) {
      world.report(world.claim("a"), again());
      world.fireNext();
    }
    expect(world.report(world.claim("a"), success())).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({ attempt: 1, fence: 21 });
  });

  test("a step is bounded by its total time, at once where the wait would end after it", () => {
    const world = createWorld(workflow({ a: { timeouts: { totalMs: 60_000 } } }));
    world.report(world.claim("a"), again(59_999));
    expect(world.step("a").forward.kind).toBe("BACKOFF");
    world.fireNext();
    world.report(world.claim("a"), again(1));
    expect(world.now()).toBe(START + 59_999);
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.total" }),
    );
  });

  test("a step that may run once only is asked again: that is no unknown", () => {
    const world = createWorld(workflow({ a: { effects: "once" } }));
    world.report(world.claim("a"), again());
    world.fireNext();
    succeed(world, "a");
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("a step breaks a row of losses: its agent was there", () => {
    const world = createWorld(workflow({ a: {} }));
    lose(world, "a", "s1");
    lose(world, "a", "s2");
    world.report(world.claim("a", "s3"), again());
    expect(world.step("a").lost).toBe(0);
  });

  test("a step may have started something: a run that is cancelled undoes it", () => {
    const world = createWorld(workflow({ a: { compensate } }));
    world.report(world.claim("a"), again());
    world.cancel(true);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "CANCELLED" },
      undo: { kind: "READY" },
    });
  });

  test("a step is over for its agent: another report of that attempt is refused", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, again());
    expect(world.report(held, again())).toEqual({ kind: "repeated" });
    expect(world.report(held, success())).toEqual({ kind: "over", outcome: "again" });
  });

  test("an undo waits likewise", () => {
    const world = createWorld(workflow({ a: { compensate }, b: { needs: ["a"] } }));
    succeed(world, "a");
    world.cancel(true);
    world.report(world.claim("a"), again(7_000));
    expect(world.step("a")).toMatchObject({
      undo: { kind: "BACKOFF", cause: "again", wakeAt: world.now() + 7_000 },
      attempt: 0,
    });
    world.fireNext();
    succeed(world, "a");
    expect(world.run().state.kind).toBe("COMPENSATED");
  });
});

describe("deferred", () => {
  function waiting(more: TaskOptions = {}): { world: World; held: ReturnType<World["claim"]> } {
    const world = createWorld(workflow({ a: { ...more }, b: { needs: ["a"] } }));
    const held = world.claim("a");
    world.report(held, deferred);
    return { world, held };
  }

  test("a step waits for its callback, a day by default, and no attempt is counted", () => {
    const { world } = waiting();
    expect(world.step("a")).toMatchObject({
      forward: { kind: "WAITING", on: "callback", wakeAt: world.now() + DAY_MS },
      attempt: 0,
      fence: 1,
      tries: [],
    });
    const own = waiting({ timeouts: { callbackMs: 5_000 } });
    expect(own.world.step("a").forward).toMatchObject({ wakeAt: own.world.now() + 5_000 });
  });

  test("a step has succeeded with the output that the callback brings", () => {
    const { world, held } = waiting();
    expect(world.callback(held, calledBack.success)).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { fence: 1, kind: "perform" },
      attempt: 1,
    });
    expect(world.step("b").forward.kind).toBe("READY");
  });

  test("a step is tried again where the callback reports a failure, and the try counts", () => {
    const { world, held } = waiting();
    world.callback(held, calledBack.failure);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "perform", cause: "retry" },
      attempt: 1,
      tries: [1],
    });
  });

  test("a step can be settled by its own agent too", () => {
    const { world, held } = waiting();
    expect(world.report(held, success())).toEqual({ kind: "done" });
    expect(world.step("a").forward.kind).toBe("SUCCEEDED");
    const failed = waiting();
    failed.world.report(failed.held, broken);
    expect(failed.world.step("a").forward.kind).toBe("FAILED");
  });

  test("a step whose callback does not come is an unknown that counts", () => {
    const { world } = waiting({ timeouts: { callbackMs: 5_000 } });
    world.fireNext();
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "perform" },
      attempt: 1,
      tries: [1],
      strategies: [{ effectStatus: "UNSETTLED" }],
    });
    expect(world.effects).toContainEqual(
      expect.objectContaining({
        kind: "attempt-settled",
        attempt: expect.objectContaining({
          outcome: expect.objectContaining({ kind: "unknown", code: "drover.callback" }),
        }),
      }),
    );
    expect(world.interventions("callback")).toMatchObject([{ dueAt: world.now() }]);
  });

  test("a missing callback is answered by the policy that names drover.callback, or by none", () => {
    const timeouts = { callbackMs: 5_000 };
    const retry = [{ on: ["drover.callback"], initialMs: 9_000 }];
    const named = waiting({ timeouts, retry });
    named.world.fireNext();
    expect(named.world.step("a").forward).toMatchObject({ wakeAt: named.world.now() + 9_000 });
    const unnamed = waiting({ timeouts, retry: [{ on: ["busy"] }] });
    unnamed.world.fireNext();
    expect(unnamed.world.step("a").forward.kind).toBe("FAILED");
  });

  test("a missing callback is verified at once, or asks a person, as the step's effects require", () => {
    const { world } = waiting(verifiable);
    world.fireNext();
    expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "verify" });
    const once = waiting({ effects: "once" });
    once.world.fireNext();
    expect(lastQuestion(once.world)).toMatchObject({ reason: "unknown" });
  });

  test("a callback that comes after its time still settles the attempt, while it is current", () => {
    const { world, held } = waiting(verifiable);
    world.fireNext();
    world.claim("a", "s2");
    expect(world.callback(held, calledBack.success)).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({ forward: { kind: "SUCCEEDED" }, attempt: 1 });
  });

  test("a step does not wait past a cancel: what it may have started is undone", () => {
    const { world, held } = waiting({ compensate });
    world.cancel(true);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "CANCELLED" },
      undo: { kind: "READY" },
    });
    expect(world.callback(held, calledBack.success)).toMatchObject({ kind: "lease-lost" });
    expect(world.interventions("late-effect")).toHaveLength(1);
  });

  test("a step breaks a row of losses", () => {
    const world = createWorld(workflow({ a: {} }));
    lose(world, "a", "s1");
    lose(world, "a", "s2");
    const held = world.claim("a", "s3");
    world.report(held, deferred);
    expect(world.step("a").lost).toBe(0);
  });

  test("an undo cannot be: it has no callback token, so its outcome is unknown", () => {
    const world = createWorld(workflow({ a: { compensate }, b: { needs: ["a"] } }));
    succeed(world, "a");
    world.cancel(true);
    const held = world.claim("a");
    world.report(held, deferred);
    expect(world.step("a")).toMatchObject({ undo: { kind: "BACKOFF" }, attempt: 1 });
    expect(world.callback(held, calledBack.success)).toEqual({ kind: "no-such-task" });
  });
});

test("an attempt that asked again or deferred may be followed by one that fails or is unknown", () => {
  const world = createWorld(workflow({ a: { retry: [{ attempts: 2 }] } }));
  world.report(world.claim("a"), again());
  world.fireNext();
  world.report(world.claim("a"), failure("busy"));
  world.fireNext();
  world.report(world.claim("a"), unknown());
  expect(world.step("a")).toMatchObject({ forward: { kind: "FAILED" }, attempt: 2 });
});
