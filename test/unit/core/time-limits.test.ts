/** The total time of a step and the deadline of the run. */
import { describe, expect, test } from "vitest";
import { runWakeAt } from "../../../server/core/evolve.ts";
import { failure, success } from "../../support/core-outcomes.ts";
import { createWorld, START, workflow } from "../../support/core-world.ts";

const undo = { task: "undo" };

describe("the total time of a step", () => {
  test("ends a step that no agent took, with drover.total", () => {
    const world = createWorld(workflow({ a: { timeouts: { totalMs: 60_000 } } }));
    world.fireNext();
    expect(world.now()).toBe(START + 60_000);
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.total" }),
    );
    expect(world.interventions("total")).toMatchObject([{ dueAt: START + 60_000 }]);
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("leaves a row with the cause though no agent reported it", () => {
    const world = createWorld(workflow({ a: { timeouts: { totalMs: 60_000 } } }));
    world.fireNext();
    expect(world.effects).toContainEqual(
      expect.objectContaining({
        kind: "attempt-stored",
        attempt: expect.objectContaining({
          kind: "engine",
          outcome: expect.objectContaining({ kind: "failure", code: "drover.total" }),
        }),
      }),
    );
  });

  test.each([true, false])("is not put off by a pickup time (lane polled: %s)", (polled) => {
    const timeouts = { pickupMs: 40_000, totalMs: 60_000 };
    const world = createWorld(workflow({ a: { timeouts } }));
    world.fireNext({ polled });
    expect(world.nextTimer()?.at).toBe(START + 60_000);
    world.fireNext({ polled });
    expect(world.step("a").forward.kind).toBe("FAILED");
  });

  test("runs over all tries, from the first time that the step was ready", () => {
    const retry = [{ attempts: 9, initialMs: 20_000, factor: 1 }];
    const world = createWorld(workflow({ a: { retry, timeouts: { totalMs: 50_000 } } }));
    let tries = 0;
    while (world.step("a").forward.kind !== "FAILED") {
      world.report(world.claim("a"), failure("busy"));
      tries++;
      if (world.step("a").forward.kind === "BACKOFF") world.fireNext();
    }
    expect(tries).toBe(3);
    expect(world.now()).toBe(START + 40_000);
  });

  test("does not begin before the step is ready", () => {
    const world = createWorld(
      workflow({ a: {}, b: { needs: ["a"], timeouts: { totalMs: 1_000 } } }),
    );
    world.advance(100_000);
    world.report(world.claim("a"), success());
    expect(world.step("b").forward).toMatchObject({ until: world.now() + 1_000 });
  });

  test("bounds each attempt", () => {
    const world = createWorld(workflow({ a: { timeouts: { totalMs: 60_000 } } }));
    world.advance(20_000);
    world.claim("a");
    expect(world.step("a").forward).toMatchObject({ attemptBy: START + 60_000 });
  });

  test("ends a step whose attempt is lost after it, without another try", () => {
    const timeouts = { totalMs: 20_000, heartbeatMs: 30_000 };
    const world = createWorld(workflow({ a: { timeouts } }));
    world.claim("a");
    world.advance(30_000);
    world.fire("a");
    expect(world.step("a").forward.kind).toBe("FAILED");
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.total" }),
    );
  });
});

describe("the deadline of a run", () => {
  test("stops it, and undoes what was done: TIMED_OUT", () => {
    const steps = { a: { compensate: undo }, b: { needs: ["a"] } };
    const world = createWorld(workflow(steps, { timeoutMs: 60_000 }));
    world.report(world.claim("a"), success());
    world.fireNext();
    expect(world.now()).toBe(START + 60_000);
    expect(world.interventions("deadline")).toHaveLength(1);
    expect(world.run().state).toEqual({
      kind: "COMPENSATING",
      stopReason: { reason: "TIMED_OUT", undo: true },
    });
    world.report(world.claim("a"), success());
    expect(world.run().state).toEqual({ kind: "COMPENSATED", reason: "TIMED_OUT" });
  });

  test("ends a run FAILED that has nothing to undo", () => {
    const world = createWorld(workflow({ a: {} }, { timeoutMs: 60_000 }));
    world.fireNext();
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "TIMED_OUT" });
  });

  test("cancels what is leased, and waits for it", () => {
    const world = createWorld(workflow({ a: { compensate: undo } }, { timeoutMs: 20_000 }));
    const held = world.claim("a");
    world.advance(20_000);
    world.fireRun();
    expect(world.step("a").forward).toMatchObject({
      kind: "LEASED",
      cancel: { kind: "asked", cause: "run" },
    });
    world.report(held, success());
    expect(world.run().state.kind).toBe("COMPENSATING");
  });

  test("does nothing before it has come", () => {
    const world = createWorld(workflow({ a: {} }, { timeoutMs: 60_000 }));
    world.advance(59_999);
    world.fireRun();
    expect(world.run()).toMatchObject({ state: { kind: "RUNNING" }, version: 1 });
  });

  test("no longer counts once there is a stop reason", () => {
    const steps = { a: { compensate: undo }, b: { needs: ["a"] } };
    const world = createWorld(workflow(steps, { timeoutMs: 60_000 }));
    world.report(world.claim("a"), success());
    world.cancel(true);
    expect(runWakeAt(world.run())).toBeNull();
    world.advance(1_000_000);
    world.fireRun();
    expect(world.run().state).toMatchObject({ stopReason: { reason: "CANCELLED_BY_USER" } });
  });

  test("bounds each attempt, which is cancelled when it has come", () => {
    const world = createWorld(workflow({ a: {} }, { timeoutMs: 60_000 }));
    world.advance(20_000);
    world.claim("a");
    expect(world.step("a").forward).toMatchObject({ attemptBy: START + 60_000 });
  });

  test("is no pickup alarm for what was ready for a shorter time", () => {
    const world = createWorld(workflow({ a: {} }, { timeoutMs: 60_000 }));
    world.advance(60_000);
    world.fire("a", { polled: false });
    expect(world.interventions("pickup")).toEqual([]);
  });

  test("does not run while the run waits for a person", () => {
    const world = createWorld(workflow({ a: {} }, { timeoutMs: 100_000 }));
    for (const session of ["s1", "s2", "s3"]) {
      world.claim("a", session);
      world.advance(30_000);
      world.fire("a");
    }
    expect(world.run().state).toMatchObject({
      kind: "ESCALATED",
      from: { kind: "RUNNING", leftMs: 10_000 },
    });
    expect(world.nextTimer()).toBeNull();
  });
});
