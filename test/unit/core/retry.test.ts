/** Recovery 1: which failures are tried again, how often, and after how long. */
import { describe, expect, test } from "vitest";
import { RETRY_DEFAULT, UNDO_RETRY_DEFAULT } from "../../../server/core/plan/plan.ts";
import { backoffMs, policyFor } from "../../../server/core/recovery/recovery.ts";
import { failure } from "../../support/core-outcomes.ts";
import { createWorld, MIDDLE, type World, workflow } from "../../support/core-world.ts";

const calm = { ...RETRY_DEFAULT, jitter: 0 };

/** Milliseconds until the step's next try. */
function waitOf(world: World, id = "a"): number {
  const { forward } = world.step(id);
  if (forward.kind !== "BACKOFF") throw new Error(`step ${id} is ${forward.kind}`);
  return forward.wakeAt - world.now();
}

/** Fails the step until it is not tried again; returns the waits between the tries. */
function waitsUntilFailed(world: World, code: string): number[] {
  const waits: number[] = [];
  for (;;) {
    world.report(world.claim("a"), failure(code));
    if (world.step("a").forward.kind !== "BACKOFF") return waits;
    waits.push(waitOf(world));
    world.fireNext();
  }
}

describe("the backoff", () => {
  test("doubles from a second up to a minute by default", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((tries) => backoffMs(calm, tries, 0, null));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  test("grows by its factor", () => {
    const policy = { ...calm, initialMs: 100, factor: 3 };
    expect([1, 2, 3].map((tries) => backoffMs(policy, tries, 0, null))).toEqual([100, 300, 900]);
    expect(backoffMs({ ...policy, factor: 1 }, 9, 0, null)).toBe(100);
  });

  test("stays within its share of jitter on both sides, also at its most", () => {
    expect(backoffMs(RETRY_DEFAULT, 1, 0, null)).toBe(800);
    expect(backoffMs(RETRY_DEFAULT, 1, MIDDLE, null)).toBe(1_000);
    expect(backoffMs(RETRY_DEFAULT, 1, 0.999_999, null)).toBe(1_200);
    expect(backoffMs(RETRY_DEFAULT, 50, 0.999_999, null)).toBe(72_000);
  });

  test("is never shorter than the remote service asked for, nor shortened by it", () => {
    expect(backoffMs(calm, 1, 0, 7_000)).toBe(7_000);
    expect(backoffMs(calm, 4, 0, 7_000)).toBe(8_000);
  });

  test("stays a number after a great many tries", () => {
    expect(backoffMs(calm, 10_000, 0, null)).toBe(60_000);
  });
});

describe("the policy", () => {
  test("is the first that names the code, or that names none", () => {
    const policies = [{ ...calm, on: ["busy"] }, calm, { ...calm, on: ["odd"] }];
    expect([policyFor(policies, "busy"), policyFor(policies, "odd")]).toEqual([0, 1]);
  });

  test("is none where no policy names the code", () => {
    expect(policyFor([{ ...calm, on: ["busy"] }], "odd")).toBeNull();
    expect(policyFor([], "odd")).toBeNull();
  });
});

describe("a step", () => {
  test("is tried five times by default, the first included", () => {
    const world = createWorld(workflow({ a: {} }));
    expect(waitsUntilFailed(world, "busy")).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(world.step("a")).toMatchObject({ forward: { kind: "FAILED" }, attempt: 5, fence: 5 });
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("is tried no second time where a policy allows one attempt", () => {
    const world = createWorld(workflow({ a: { retry: [{ attempts: 1 }] } }));
    expect(waitsUntilFailed(world, "busy")).toEqual([]);
  });

  test("is not tried again for a code that no policy names", () => {
    const world = createWorld(workflow({ a: { retry: [{ on: ["busy"], attempts: 9 }] } }));
    expect(waitsUntilFailed(world, "odd")).toEqual([]);
  });

  test("is not tried again after a permanent failure", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), failure("bad-input", { permanent: true }));
    expect(world.step("a").forward.kind).toBe("FAILED");
  });

  test("counts the tries of each policy by themselves", () => {
    const retry = [
      { on: ["busy"], attempts: 3, initialMs: 100 },
      { attempts: 2, initialMs: 7_000 },
    ];
    const world = createWorld(workflow({ a: { retry } }));
    const waits: number[] = [];
    for (const code of ["busy", "odd", "busy"]) {
      world.report(world.claim("a"), failure(code));
      waits.push(waitOf(world));
      world.fireNext();
    }
    expect(waits).toEqual([100, 7_000, 200]);
    expect(world.step("a").tries).toEqual([2, 1]);
    world.report(world.claim("a"), failure("odd"));
    expect(world.step("a").forward.kind).toBe("FAILED");
  });

  test("is tried again when its backoff is over, and not before", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), failure("busy"));
    world.advance(999);
    world.fire("a");
    expect(world.step("a").forward.kind).toBe("BACKOFF");
    world.advance(1);
    world.fire("a");
    expect(world.step("a").forward).toMatchObject({ kind: "READY", attempt: 2, fence: 2 });
    expect(world.interventions("backoff")).toHaveLength(1);
  });

  test("draws its jitter from the number that the pass brings", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), failure("busy"), { draw: 0 });
    expect(waitOf(world)).toBe(800);
  });

  test("fails at once where the backoff would end after its total time", () => {
    const retry = [{ initialMs: 10_000, maxMs: 10_000 }];
    const world = createWorld(workflow({ a: { retry, timeouts: { totalMs: 10_000 } } }));
    world.report(world.claim("a"), failure("busy"));
    expect(world.step("a").forward.kind).toBe("FAILED");
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.total" }),
    );
  });

  test("is undone with ten tries up to five minutes by default", () => {
    expect(UNDO_RETRY_DEFAULT).toMatchObject({ attempts: 10, maxMs: 300_000 });
  });
});
