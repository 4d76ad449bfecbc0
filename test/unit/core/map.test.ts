/** A map: one task for each item of a list, what bounds it, and what follows from its items. */
import { describe, expect, test } from "vitest";
import type { MapWork } from "../../../server/core/definition/definition.ts";
import { broken, failure, success, unknown } from "../../support/core-outcomes.ts";
import type { Held } from "../../support/core-rows.ts";
import {
  createWorld,
  lastQuestion,
  type StepOptions,
  succeed,
  undoneBy,
  type World,
  workflow,
} from "../../support/core-world.ts";

const MAP = { kind: "map", task: "work", over: "4" } as const;

type Options = Partial<MapWork> & Partial<Extract<StepOptions, { kind: "map" }>>;

/** A map `m`, and `z` behind it. */
function mapWorld(options: Options = {}): World {
  return createWorld(workflow({ m: { ...MAP, ...options }, z: { needs: ["m"] } }));
}

function ready(world: World): readonly string[] {
  const names = Array.from({ length: 10 }, (_, index) => `m[${index}]`);
  return names.filter((name) => isReady(world, name));
}

function isReady(world: World, name: string): boolean {
  try {
    const { forward, undo } = world.step(name);
    return forward.kind === "READY" || undo.kind === "READY";
  } catch {
    return false;
  }
}

/** The pass that ends a map, or undoes its next items, comes at once. */
function fireMap(world: World): void {
  expect(world.nextTimer()?.at).toBe(world.now());
  world.fire("m");
}

function outputOf(world: World, id = "m"): unknown {
  const { no } = world.step(id);
  const stored = world.effects.findLast(
    (effect) => effect.kind === "attempt-stored" && effect.attempt.step === no,
  );
  const outcome = stored?.kind === "attempt-stored" ? stored.attempt.outcome : null;
  const output = outcome?.kind === "success" ? outcome.output : null;
  return output?.kind === "json" ? JSON.parse(output.json) : null;
}

describe("its items", () => {
  test("begin side by side, as many as its concurrency, and each that ends lets one more begin", () => {
    const world = mapWorld({ concurrency: 2 });
    expect(ready(world)).toEqual(["m[0]", "m[1]"]);
    succeed(world, "m[1]");
    expect(ready(world)).toEqual(["m[0]", "m[2]"]);
    succeed(world, "m[0]", "m[2]");
    expect(ready(world)).toEqual(["m[3]"]);
  });

  test("end it once all have ended: it succeeds with the counts, and their outputs in order", () => {
    const world = mapWorld();
    succeed(world, "m[3]", "m[0]", "m[2]", "m[1]");
    fireMap(world);
    expect(world.step("m").forward.kind).toBe("SUCCEEDED");
    expect(outputOf(world)).toEqual({
      counts: { total: 4, succeeded: 4, failed: 0, skipped: 0 },
      items: ["of 0", "of 1", "of 2", "of 3"],
    });
    expect(world.step("z").forward.kind).toBe("READY");
  });

  test("of an empty list are none, and it succeeds at once", () => {
    const world = mapWorld({ over: "0" });
    fireMap(world);
    expect(outputOf(world)).toEqual({
      counts: { total: 0, succeeded: 0, failed: 0, skipped: 0 },
      items: [],
    });
  });

  test("are retried each by itself, with the policies of the step", () => {
    const world = mapWorld({ retry: [{ attempts: 2, initialMs: 500 }] });
    world.report(world.claim("m[0]"), failure("busy"));
    expect(world.step("m[0]").forward).toMatchObject({ kind: "BACKOFF" });
    expect(ready(world)).toEqual(["m[1]", "m[2]", "m[3]"]);
    world.advance(1_000);
    world.fire("m[0]");
    expect(world.claim("m[0]").attempt).toBe(2);
  });

  test("of a list that cannot be made ask a person", () => {
    const world = mapWorld({ over: "broken" });
    expect(lastQuestion(world)).toMatchObject({ step: 0, code: "drover.expression" });
  });

  test("are held while the run is paused, and continue when it is resumed", () => {
    const world = mapWorld({ concurrency: 1 });
    const held = world.claim("m[0]");
    world.pause();
    world.report(held, success());
    expect(world.step("m[1]").forward.kind).toBe("HELD");
    world.resume();
    expect(ready(world)).toEqual(["m[1]"]);
  });
});

describe("failed items", () => {
  test("fail it with drover.items, once those under way have ended; no other begins", () => {
    const world = mapWorld({ concurrency: 2 });
    world.report(world.claim("m[0]"), broken);
    expect(ready(world)).toEqual(["m[1]"]);
    succeed(world, "m[1]");
    expect(ready(world)).toEqual([]);
    fireMap(world);
    expect(world.step("m").forward.kind).toBe("FAILED");
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.items" }),
    );
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("are tolerated up to a number, and the run ends with a warning", () => {
    const world = mapWorld({ tolerate: 1 });
    world.report(world.claim("m[2]"), broken);
    succeed(world, "m[0]", "m[1]", "m[3]");
    fireMap(world);
    expect(outputOf(world)).toEqual({
      counts: { total: 4, succeeded: 3, failed: 1, skipped: 0 },
      items: ["of 0", "of 1", null, "of 3"],
    });
    succeed(world, "z");
    expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1 });
  });

  test("are tolerated up to a share of all", () => {
    const world = mapWorld({ toleratePercent: 50 });
    for (const item of ["m[0]", "m[1]"]) world.report(world.claim(item), broken);
    expect(ready(world)).toEqual(["m[2]", "m[3]"]);
    world.report(world.claim("m[2]"), broken);
    succeed(world, "m[3]");
    fireMap(world);
    expect(world.step("m").forward.kind).toBe("FAILED");
  });

  test("ask a person each, with on_failure escalate; skipped ones are counted as such", () => {
    const world = mapWorld({ onFailure: "escalate", over: "2" });
    world.report(world.claim("m[0]"), broken);
    expect(world.step("m[0]").forward.kind).toBe("ESCALATED");
    succeed(world, "m[1]");
    expect(world.run().state.kind).toBe("ESCALATED");
    world.answer(1, "skip");
    fireMap(world);
    expect(outputOf(world)).toMatchObject({ counts: { succeeded: 1, failed: 0, skipped: 1 } });
  });

  test("that a person declares failed count like any other", () => {
    const world = mapWorld({ onFailure: "escalate", over: "2", tolerate: 1 });
    world.report(world.claim("m[0]"), broken);
    succeed(world, "m[1]");
    world.answer(1, "fail");
    fireMap(world);
    expect(outputOf(world)).toMatchObject({ counts: { succeeded: 1, failed: 1 } });
  });
});

describe("waves", () => {
  test("begin when the one before has ended", () => {
    const world = mapWorld({ waves: { size: 3 } });
    expect(ready(world)).toEqual(["m[0]", "m[1]", "m[2]"]);
    succeed(world, "m[0]", "m[1]");
    expect(ready(world)).toEqual(["m[2]"]);
    succeed(world, "m[2]");
    expect(ready(world)).toEqual(["m[3]"]);
  });

  test("are a share of all, rounded up", () => {
    const world = mapWorld({ waves: { percent: 30 } });
    expect(ready(world)).toEqual(["m[0]", "m[1]"]);
  });

  test("pause between two of them, and not behind the last", () => {
    const world = mapWorld({ over: "2", waves: { size: 1, pauseMs: 5_000 } });
    succeed(world, "m[0]");
    expect(world.step("m").forward).toMatchObject({ kind: "WAITING", on: "timer" });
    world.advance(5_000);
    world.fire("m");
    succeed(world, "m[1]");
    expect(world.step("m").forward).toMatchObject({ kind: "WAITING", on: "items" });
  });

  test("are explained with the end of a pause and what follows", () => {
    const gate = { task: "check" };
    for (const [waves, did] of [
      [{ size: 1, pauseMs: 5_000 }, "the next wave begins"],
      [{ size: 1, pauseMs: 5_000, gate }, "its gate checks whether the next wave may begin"],
    ] as const) {
      const world = mapWorld({ over: "2", waves });
      succeed(world, "m[0]");
      world.advance(5_000);
      world.fire("m");
      const saw = 'the pause of "m" between two waves is over';
      expect(world.interventions("timer")).toMatchObject([{ saw, did }]);
    }
  });

  test("stop behind one in which too many failed", () => {
    const world = mapWorld({ waves: { size: 2 } });
    world.report(world.claim("m[0]"), broken);
    succeed(world, "m[1]");
    fireMap(world);
    expect(world.step("m").forward.kind).toBe("FAILED");
    expect(world.step("m").items).toMatchObject({ started: 2 });
  });
});

describe("a gate", () => {
  const GATED = { over: "2", waves: { size: 1, gate: { task: "check" } } } as const;

  /** Behind a pivot, so that a person is asked about the first gate, which has failed. */
  function askedGate(over: string): World {
    const world = createWorld(
      workflow({ p: { pivot: true }, m: { ...MAP, ...GATED, over, needs: ["p"] } }),
    );
    succeed(world, "p", "m[0]");
    world.report(world.claim("m"), broken);
    return world;
  }

  test("is a task of the map between two waves, and lets the next one begin", () => {
    const world = mapWorld(GATED);
    succeed(world, "m[0]");
    expect(world.step("m").forward).toMatchObject({ kind: "READY", task: "perform" });
    expect(ready(world)).toEqual([]);
    succeed(world, "m");
    expect(ready(world)).toEqual(["m[1]"]);
    succeed(world, "m[1]");
    fireMap(world);
    expect(world.step("m").forward.kind).toBe("SUCCEEDED");
  });

  test("that fails for good fails the map", () => {
    const world = mapWorld(GATED);
    succeed(world, "m[0]");
    world.report(world.claim("m"), broken);
    expect(world.step("m").forward.kind).toBe("FAILED");
    expect(world.run().state.kind).toBe("FAILED");
  });

  test("is retried with fresh tries after each wave", () => {
    const gate = { task: "check", retry: [{ attempts: 2, initialMs: 100 }] };
    const world = mapWorld({ over: "3", waves: { size: 1, gate } });
    for (const item of ["m[0]", "m[1]"]) {
      succeed(world, item);
      world.report(world.claim("m"), failure("busy"));
      world.advance(1_000);
      world.fire("m");
      succeed(world, "m");
    }
    expect(ready(world)).toEqual(["m[2]"]);
  });

  test("that a person answers has succeeded lets the next wave begin, and ends nothing", () => {
    const world = askedGate("2");
    expect(world.step("m").forward.kind).toBe("ESCALATED");
    expect(world.answer(1, "succeed")).toEqual({ kind: "done" });
    expect(ready(world)).toEqual(["m[1]"]);
    succeed(world, "m[1]");
    fireMap(world);
    expect(outputOf(world)).toMatchObject({ counts: { total: 2, succeeded: 2 } });
  });

  test("that was given another input has its own again after the next wave", () => {
    const world = askedGate("3");
    world.answer(1, "retry-changed", "1");
    succeed(world, "m");
    expect(world.step("m").strategies.at(-1)).toMatchObject({ changed: true });
    succeed(world, "m[1]");
    expect(world.step("m").forward.kind).toBe("READY");
    expect(world.step("m").strategies).toMatchObject([
      { planned: 0, changed: false },
      { planned: 0, changed: true },
      { planned: 0, changed: false },
    ]);
  });
});

describe("a late report of a gate", () => {
  const GATED = {
    over: "4",
    concurrency: 1,
    waves: { size: 2, gate: { task: "check", retry: [{ attempts: 1, initialMs: 100 }] } },
  } as const;

  /** Behind a pivot: the first gate is lost, and a person answers that it has succeeded. */
  function passedGate(): { world: World; lost: Held } {
    const world = createWorld(
      workflow({ p: { pivot: true }, m: { ...MAP, ...GATED, needs: ["p"] } }),
    );
    succeed(world, "p", "m[0]", "m[1]");
    const lost = world.claim("m");
    world.report(lost, unknown());
    expect(lastQuestion(world)).toMatchObject({ step: 1 });
    world.answer(1, "succeed");
    expect(ready(world)).toEqual(["m[2]"]);
    return { world, lost };
  }

  test("that a person has let pass begins nothing more", () => {
    const { world, lost } = passedGate();
    expect(world.report(lost, success())).toMatchObject({ kind: "lease-lost" });
    expect(ready(world)).toEqual(["m[2]"]);
    expect(world.interventions("late-effect")).toMatchObject([
      { saw: expect.stringContaining("after its wave had started") },
    ]);
  });

  test("has no effect on the next one", () => {
    const world = mapWorld({ ...GATED, over: "3", waves: { size: 1, gate: { task: "check" } } });
    succeed(world, "m[0]");
    const lost = world.claim("m");
    world.advance(60_000);
    world.fire("m");
    expect(world.report(lost, success())).toEqual({ kind: "done" });
    succeed(world, "m[1]");
    const next = world.claim("m");
    expect(next.attempt).toBe(1);
    expect(world.report(lost, success("other"))).toMatchObject({ kind: "over" });
    expect(world.step("m").forward.kind).toBe("LEASED");
  });

  test("is applied while the gate is asked again", () => {
    const world = mapWorld(GATED);
    succeed(world, "m[0]", "m[1]");
    const lost = world.claim("m");
    world.advance(60_000);
    world.fire("m");
    expect(world.report(lost, success())).toEqual({ kind: "done" });
    expect(ready(world)).toEqual(["m[2]"]);
  });
});

describe("undoing", () => {
  const UNDONE = { compensate: undoneBy("undo") } as const;

  function failBehind(world: World): void {
    world.report(world.claim("z"), broken);
  }

  test("takes away what its items have done, the last first, so many at a time", () => {
    const world = mapWorld({ ...UNDONE, over: "3", concurrency: 2 });
    succeed(world, "m[0]", "m[1]", "m[2]");
    fireMap(world);
    failBehind(world);
    fireMap(world);
    expect(ready(world)).toEqual(["m[1]", "m[2]"]);
    succeed(world, "m[1]", "m[2]");
    fireMap(world);
    succeed(world, "m[0]");
    fireMap(world);
    expect(world.run()).toMatchObject({
      state: { kind: "COMPENSATED", reason: "STEP_FAILED" },
      undone: 3,
    });
  });

  test("is of the items that were touched alone", () => {
    const world = mapWorld({ ...UNDONE, waves: { size: 2 } });
    succeed(world, "m[0]");
    world.report(world.claim("m[1]"), broken);
    fireMap(world);
    expect(world.step("m").forward.kind).toBe("FAILED");
    fireMap(world);
    expect(ready(world)).toEqual(["m[0]"]);
    succeed(world, "m[0]");
    fireMap(world);
    expect(world.run()).toMatchObject({ state: { kind: "COMPENSATED" }, undone: 1 });
  });

  test("of a map of which no item did anything leaves the run FAILED", () => {
    const world = mapWorld({ ...UNDONE, over: "1" });
    world.report(world.claim("m[0]"), broken);
    for (let time = 0; time < 3; time++) fireMap(world);
    expect(world.run()).toMatchObject({ state: { kind: "FAILED" }, undone: 0 });
  });

  test("continues to the steps before it only when its items are undone", () => {
    const world = createWorld(
      workflow({
        a: { compensate: undoneBy("undo-a") },
        m: { ...MAP, ...UNDONE, over: "1", needs: ["a"] },
        z: { needs: ["m"] },
      }),
    );
    succeed(world, "a", "m[0]");
    world.fire("m");
    world.report(world.claim("z"), broken);
    world.fire("m");
    expect(world.step("a").undo.kind).toBe("PENDING");
    succeed(world, "m[0]");
    world.fire("m");
    expect(world.step("a").undo.kind).toBe("READY");
  });

  test("that fails for one item asks about it, and undoes the others", () => {
    const world = mapWorld({ ...UNDONE, over: "2", concurrency: 1 });
    succeed(world, "m[0]", "m[1]");
    fireMap(world);
    failBehind(world);
    fireMap(world);
    world.report(world.claim("m[1]"), broken);
    fireMap(world);
    succeed(world, "m[0]");
    expect(world.run().state.kind).toBe("ESCALATED");
    expect(lastQuestion(world)).toMatchObject({ reason: "undo-failed" });
    world.answer(1, "succeed");
    fireMap(world);
    expect(world.run().state.kind).toBe("COMPENSATED");
  });
});

describe("a cancel", () => {
  test("cancels every item that an agent holds, and starts no other", () => {
    const world = mapWorld({ concurrency: 2 });
    const held = world.claim("m[0]");
    world.cancel(true);
    expect(world.step("m").forward.kind).toBe("CANCELLED");
    expect(world.step("m[0]").forward).toMatchObject({ cancel: { kind: "asked", cause: "run" } });
    expect(world.step("m[1]").forward.kind).toBe("CANCELLED");
    world.report(held, success());
    expect(ready(world)).toEqual([]);
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
  });
});
