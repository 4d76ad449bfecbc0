/**
 * What becomes of a step once all its needs are final: `run_if` and `when`. SKIPPED passes on only
 * where every need is SKIPPED.
 */
import { describe, expect, test } from "vitest";
import type { RunIf } from "../../../server/core/definition/definition.ts";
import { NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import { broken } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  type StepOptions,
  succeed,
  type World,
  workflow,
} from "../../support/core-world.ts";

type End = "ok" | "skipped" | "failed";

/** A world in which `when` is a name: "no" is false, "broken" fails, all else is true. */
function worldOf(steps: Readonly<Record<string, StepOptions>>): World {
  const definition = workflow(steps);
  return createWorld(definition, {
    ...NO_EXPRESSIONS,
    condition: (no) => {
      const condition = definition.steps[no]?.when;
      return condition === "broken"
        ? { kind: "failed", message: "no such key: wants_car" }
        : { kind: "value", value: condition !== "no" };
    },
  });
}

const needEnding = (end: End): StepOptions =>
  ({ ok: {}, skipped: { when: "no" }, failed: { onFailure: "continue" as const } })[end];

/** Two needs that ended so, and what became of the step that waited for both. */
function joinAfter(ends: readonly [End, End], step: StepOptions): World {
  const [left, right] = ends;
  const world = worldOf({
    left: needEnding(left),
    right: needEnding(right),
    join: { needs: ["left", "right"], ...step },
  });
  for (const [id, end] of [
    ["left", left],
    ["right", right],
  ] as const) {
    if (end === "ok") succeed(world, id);
    if (end === "failed") world.report(world.claim(id), broken);
  }
  return world;
}

const kindOf = (world: World, id: string): string => world.step(id).forward.kind;

describe("a step whose needs have ended", () => {
  const RUNS = "READY";
  const SKIPS = "SKIPPED";
  test.each<readonly [End, End, Readonly<Record<RunIf, string>>]>([
    ["ok", "ok", { ended: RUNS, all_ok: RUNS, any_ok: RUNS }],
    ["ok", "skipped", { ended: RUNS, all_ok: SKIPS, any_ok: RUNS }],
    ["ok", "failed", { ended: RUNS, all_ok: SKIPS, any_ok: RUNS }],
    ["skipped", "failed", { ended: RUNS, all_ok: SKIPS, any_ok: SKIPS }],
    ["failed", "failed", { ended: RUNS, all_ok: SKIPS, any_ok: SKIPS }],
    ["skipped", "skipped", { ended: SKIPS, all_ok: SKIPS, any_ok: SKIPS }],
  ])("%s and %s", (left, right, becomes) => {
    for (const runIf of ["ended", "all_ok", "any_ok"] as const)
      for (const ends of [
        [left, right],
        [right, left],
      ] as const) {
        expect([runIf, kindOf(joinAfter(ends, { runIf }), "join")]).toEqual([
          runIf,
          becomes[runIf],
        ]);
        expect(kindOf(joinAfter(ends, { runIf, when: "yes" }), "join")).toBe(becomes[runIf]);
        expect(kindOf(joinAfter(ends, { runIf, when: "no" }), "join")).toBe(SKIPS);
      }
  });

  test("runs by default once each has ended", () => {
    expect(kindOf(joinAfter(["ok", "failed"], {}), "join")).toBe("READY");
  });

  test("is not evaluated before the last of them, whatever the first ended as", () => {
    const world = worldOf({
      left: { when: "no" },
      right: {},
      join: { needs: ["left", "right"], runIf: "all_ok" },
    });
    expect(world.step("join").forward).toMatchObject({ kind: "BLOCKED", waitingFor: 1 });
    succeed(world, "right");
    expect(kindOf(world, "join")).toBe("SKIPPED");
  });
});

describe("a step without needs", () => {
  test("is skipped where its `when` is false, in the first pass", () => {
    const world = worldOf({ a: { when: "no" }, b: {} });
    expect(kindOf(world, "a")).toBe("SKIPPED");
    expect(world.run()).toMatchObject({ state: { kind: "RUNNING" }, stepsLeft: 1 });
  });

  test("runs whatever its run_if is", () => {
    for (const runIf of ["all_ok", "any_ok"] as const)
      expect(kindOf(worldOf({ a: { runIf } }), "a")).toBe("READY");
  });
});

describe("SKIPPED", () => {
  test("passes on along a chain, in one pass", () => {
    const world = worldOf({
      a: { when: "no" },
      b: { needs: ["a"] },
      c: { needs: ["b"] },
      d: {},
    });
    expect(["a", "b", "c"].map((id) => kindOf(world, id))).toEqual(Array(3).fill("SKIPPED"));
  });

  test("passes on through a step whose other need a person has skipped", () => {
    const world = worldOf({
      asked: { onFailure: "escalate" },
      a: {},
      b: { needs: ["asked", "a"], runIf: "all_ok" },
      c: { needs: ["asked", "b"] },
      d: { needs: ["asked", "c"] },
    });
    world.report(world.claim("asked"), broken);
    world.answer(lastQuestion(world).n, "skip");
    succeed(world, "a");
    expect(["b", "c", "d"].map((id) => kindOf(world, id))).toEqual(Array(3).fill("SKIPPED"));
    expect(world.run().state).toEqual({ kind: "COMPLETED", reason: "DONE" });
  });

  test("does not pass on where another need has ended otherwise", () => {
    const world = worldOf({ a: { when: "no" }, b: {}, c: { needs: ["a", "b"] } });
    succeed(world, "b");
    expect(kindOf(world, "c")).toBe("READY");
  });

  test("counts as an end: a run in which all else is skipped is COMPLETED", () => {
    const world = worldOf({ a: {}, b: { needs: ["a"], when: "no" }, c: { needs: ["b"] } });
    succeed(world, "a");
    expect(world.run().state).toEqual({ kind: "COMPLETED", reason: "DONE" });
    expect(worldOf({ a: { when: "no" } }).run().state.kind).toBe("COMPLETED");
  });

  test("opens what follows in the same pass in which it is decided", () => {
    const world = worldOf({
      a: {},
      maybe: { needs: ["a"], when: "no" },
      last: { needs: ["a", "maybe"] },
    });
    succeed(world, "a");
    expect(kindOf(world, "last")).toBe("READY");
  });
});

describe("a `when` that fails", () => {
  test("is no transient fault: a person is asked, and other steps continue", () => {
    const world = worldOf({ a: { when: "broken" }, b: {} });
    expect(kindOf(world, "a")).toBe("ESCALATED");
    expect(lastQuestion(world)).toMatchObject({ reason: "expression", code: "drover.expression" });
    expect(world.run().state.kind).toBe("RUNNING");
  });

  test("is not asked where run_if skips the step already", () => {
    const world = worldOf({ a: { when: "no" }, b: { needs: ["a"], when: "broken" } });
    expect(kindOf(world, "b")).toBe("SKIPPED");
  });

  test("is asked anew by the answer retry, and fails again", () => {
    const world = worldOf({ a: { when: "broken" } });
    const { n } = lastQuestion(world);
    expect(world.answer(n, "retry")).toEqual({ kind: "done" });
    expect(kindOf(world, "a")).toBe("ESCALATED");
    expect(lastQuestion(world)).toMatchObject({ n: n + 1, code: "drover.expression" });
  });

  test("does not prevent an input that a person gives", () => {
    const world = worldOf({ a: { when: "broken" } });
    world.answer(lastQuestion(world).n, "retry-changed", "{}");
    expect(kindOf(world, "a")).toBe("READY");
  });
});
