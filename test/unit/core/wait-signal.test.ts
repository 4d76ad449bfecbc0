/** Steps that no agent performs: a timer, and an event from outside by its name. */
import { describe, expect, test } from "vitest";
import { SIGNALS_MAX } from "../../../server/core/events/on-signal.ts";
import type { Evaluator } from "../../../server/core/model/evaluator.ts";
import { NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import { broken } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  START,
  type StepOptions,
  succeed,
  type World,
  workflow,
} from "../../support/core-world.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
const kindOf = (world: World, id: string): string => world.step(id).forward.kind;

function worldOf(steps: Readonly<Record<string, StepOptions>>, evaluator?: Evaluator): World {
  return createWorld(workflow(steps), evaluator);
}

describe("a wait", () => {
  test("is over when its time has passed, and not before", () => {
    const world = worldOf({ a: { kind: "wait", forMs: 60_000 }, b: { needs: ["a"] } });
    expect(world.step("a").forward).toEqual({
      kind: "WAITING",
      on: "timer",
      wakeAt: START + 60_000,
    });
    world.advance(59_999);
    world.fire("a");
    expect(kindOf(world, "a")).toBe("WAITING");
    world.advance(1);
    world.fire("a");
    expect(kindOf(world, "a")).toBe("SUCCEEDED");
    expect(kindOf(world, "b")).toBe("READY");
    expect(world.interventions("timer")).toMatchObject([{ dueAt: START + 60_000 }]);
  });

  test("begins to count when its needs have ended", () => {
    const world = worldOf({ a: {}, b: { kind: "wait", forMs: 1_000, needs: ["a"] } });
    world.advance(50_000);
    succeed(world, "a");
    expect(world.step("b").forward).toMatchObject({ wakeAt: world.now() + 1_000 });
  });

  test("lasts until a time that an expression gives", () => {
    const time = () => ({ kind: "value", value: START + 5_000 }) as const;
    const world = worldOf(
      { a: { kind: "wait", until: "input.start" } },
      { ...NO_EXPRESSIONS, time },
    );
    world.fireNext();
    expect(world.now()).toBe(START + 5_000);
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("until a time that has passed is over at once", () => {
    const time = () => ({ kind: "value", value: START - 5_000 }) as const;
    const world = worldOf({ a: { kind: "wait", until: "x" } }, { ...NO_EXPRESSIONS, time });
    world.fireNext();
    expect(world.now()).toBe(START);
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("asks a person where its time cannot be evaluated", () => {
    const time = () => ({ kind: "failed", message: "no such key: start" }) as const;
    const world = worldOf({ a: { kind: "wait", until: "x" } }, { ...NO_EXPRESSIONS, time });
    expect(lastQuestion(world)).toMatchObject({ reason: "expression", code: "drover.expression" });
  });

  test("ends with its run", () => {
    const world = worldOf({ a: { kind: "wait", forMs: 60_000 }, b: {} });
    world.cancel(true);
    expect(kindOf(world, "a")).toBe("CANCELLED");
    expect(world.run().state.kind).toBe("CANCELLED");
  });

  test("does not end by a timer of another kind that comes late", () => {
    const world = worldOf({ a: { kind: "wait", forMs: 60_000 } });
    world.advance(60_000);
    world.pass([{ kind: "due-timer", step: 0, on: "backoff" }]);
    expect(kindOf(world, "a")).toBe("WAITING");
  });
});

describe("a signal step", () => {
  const go: StepOptions = { kind: "signal", name: "go" };
  const brief: StepOptions = { kind: "signal", name: "go", withinMs: 5_000 };

  test("waits a week by default for a signal of its name", () => {
    const world = worldOf({ a: go });
    expect(world.step("a").forward).toEqual({
      kind: "WAITING",
      on: "signal",
      wakeAt: START + WEEK_MS,
    });
  });

  test("has the payload of the signal as its output", () => {
    const world = worldOf({ a: go, b: { needs: ["a"] } });
    expect(world.signal("go", "first", '"now"')).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { kind: "answer", n: 1 },
    });
    expect(world.effects).toContainEqual(
      expect.objectContaining({
        kind: "attempt-stored",
        attempt: expect.objectContaining({
          kind: "answer",
          agentId: "signal first",
          outcome: { kind: "success", output: { kind: "json", json: '"now"' } },
        }),
      }),
    );
    expect(kindOf(world, "b")).toBe("READY");
  });

  test("is not ended by a signal of another name", () => {
    const world = worldOf({ a: go, b: { kind: "signal", name: "stop", needs: ["a"] } });
    expect(world.signal("stop")).toEqual({ kind: "done" });
    expect(kindOf(world, "a")).toBe("WAITING");
  });

  test.each<[string, Readonly<Record<string, StepOptions>>, readonly string[]]>([
    [
      "none of its steps takes",
      { a: go, b: { kind: "signal", name: "stop" }, c: go },
      ["go", "stop"],
    ],
    ["it takes none", { a: { kind: "wait", forMs: 60_000 } }, []],
  ])(
    "refuses a signal where %s, stores nothing of it, and answers what is taken",
    (_, steps, takes) => {
      const world = worldOf(steps);
      const before = world.effects.length;
      expect(world.signal("gos")).toEqual({ kind: "no-such-signal", name: "gos", takes });
      expect(world.effects.slice(before)).toEqual([]);
      expect(world.view().signals).toEqual([]);
    },
  );

  test("that is reached after its signal came takes it at once", () => {
    const world = worldOf({ a: {}, b: { ...go, needs: ["a"] }, c: { needs: ["b"] } });
    world.signal("go");
    succeed(world, "a");
    expect(kindOf(world, "b")).toBe("SUCCEEDED");
    expect(kindOf(world, "c")).toBe("READY");
  });

  test("takes the oldest that no step took; what came since is left for the next", () => {
    const world = worldOf({
      a: {},
      b: { ...go, needs: ["a"] },
      c: { ...go, needs: ["b"] },
      d: { ...go, needs: ["c"] },
      e: { kind: "signal", name: "stop", needs: ["d"] },
    });
    world.signal("go", "first");
    world.signal("stop", "other");
    world.signal("go", "second");
    succeed(world, "a");
    const taken = world.effects.flatMap((one) =>
      one.kind === "signal-taken" ? [[one.step, one.seq]] : [],
    );
    expect(taken).toEqual([
      [1, 1],
      [2, 3],
    ]);
    expect(kindOf(world, "d")).toBe("WAITING");
  });

  test("takes one signal, where several steps wait for its name: the first in the plan", () => {
    const world = worldOf({ a: go, b: go });
    world.signal("go");
    expect([kindOf(world, "a"), kindOf(world, "b")]).toEqual(["SUCCEEDED", "WAITING"]);
  });

  test.each([
    ["escalate", "ESCALATED"],
    ["fail", "FAILED"],
    ["skip", "SKIPPED"],
  ] as const)("whose time has passed follows on_expiry: %s", (onExpiry, becomes) => {
    const a = { kind: "signal", name: "go", withinMs: 5_000, onExpiry } as const;
    const world = worldOf({ a, b: {} });
    world.fireNext();
    expect(world.now()).toBe(START + 5_000);
    expect(kindOf(world, "a")).toBe(becomes);
    expect(world.interventions("signal")).toMatchObject([{ dueAt: START + 5_000 }]);
  });

  test("asks a person by default, and fails with drover.expired by its on_failure", () => {
    const asked = worldOf({ a: brief });
    asked.fireNext();
    expect(lastQuestion(asked)).toMatchObject({ reason: "expired" });
    const late = { withinMs: 5_000, onExpiry: "fail", onFailure: "continue" } as const;
    const world = worldOf({ a: { kind: "signal", name: "go", ...late } });
    world.fireNext();
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.expired" }),
    );
    expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1 });
  });

  test("that a person is asked about leaves a later signal to the step that waits for it", () => {
    const world = worldOf({ a: brief, b: {} });
    world.fireNext();
    expect(world.signal("go")).toEqual({ kind: "done" });
    expect(kindOf(world, "a")).toBe("ESCALATED");
  });
});

describe("a signal", () => {
  test("that is repeated by its id is one signal", () => {
    const world = worldOf({ a: { kind: "signal", name: "go" }, b: { kind: "signal", name: "go" } });
    world.signal("go", "first");
    expect(world.signal("go", "first")).toEqual({ kind: "repeated" });
    expect(kindOf(world, "b")).toBe("WAITING");
  });

  test("to a run that has ended is refused, unless it is a repeat", () => {
    const world = worldOf({ a: { kind: "signal", name: "go" } });
    world.signal("go", "first");
    expect(world.run().state.kind).toBe("COMPLETED");
    expect(world.signal("go", "first")).toEqual({ kind: "repeated" });
    expect(world.signal("go", "second")).toMatchObject({ kind: "refused", run: "COMPLETED" });
  });

  test("to a run that is undone is stored, and starts nothing", () => {
    const world = worldOf({
      a: { compensate: { task: "undo" } },
      b: {},
      c: { kind: "signal", name: "go" },
    });
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    expect(world.signal("go")).toEqual({ kind: "done" });
    expect(kindOf(world, "c")).toBe("CANCELLED");
  });

  test("is refused where the run keeps as many as it may", () => {
    const world = worldOf({ a: {}, b: { kind: "signal", name: "go", needs: ["a"] } });
    for (let seq = 1; seq <= SIGNALS_MAX; seq += 100)
      world.pass(
        Array.from({ length: 100 }, (_, more) => ({
          kind: "signal" as const,
          id: `${seq + more}`,
          name: "go",
          payload: null,
        })),
      );
    expect(world.signal("go", "one more")).toEqual({ kind: "full", limit: SIGNALS_MAX });
    expect(world.signal("go", "1")).toEqual({ kind: "repeated" });
  });
});
