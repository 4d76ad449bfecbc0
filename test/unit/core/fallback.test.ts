/**
 * Recovery 2: another queue, task or input. Each is a strategy with retries, a key and an effect of
 * its own; one whose effect is unknown is verified before the next one starts.
 */
import { describe, expect, test } from "vitest";
import { NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import {
  again,
  broken,
  cancelled,
  failure,
  nothingThere,
  success,
  unknown,
} from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  lose,
  poison,
  START,
  succeed,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const compensate = { task: "undo" };
const retry = [{ attempts: 2, initialMs: 1_000 }];
const verifiable: TaskOptions = { effects: "verifiable", verify: { task: "find" } };
const other = { input: { kind: "json", json: '{"chain":"second"}' } } as const;

/** A step with two fallbacks, and one that waits for it. */
function threeWays(more: TaskOptions = {}): World {
  const fallback = [other, { queue: "eu", task: "book-by-phone" }];
  return createWorld(workflow({ a: { retry, fallback, ...more }, b: { needs: ["a"] } }));
}

const effectStatusesOf = (world: World): (readonly [number, string])[] =>
  world.step("a").strategies.map(({ planned, effectStatus }) => [planned, effectStatus]);

const failedWith = (code: string): unknown =>
  expect.objectContaining({ kind: "failed", step: 0, code });

describe("a step falls back", () => {
  test("when its policy allows no further try", () => {
    const world = threeWays();
    world.report(world.claim("a"), failure("busy"));
    world.fireNext();
    world.report(world.claim("a"), failure("busy"));
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", task: "perform", attempt: 1, fence: 3 },
      strategies: [{ planned: 0 }, { planned: 1 }],
    });
  });

  test("at once after a permanent failure", () => {
    const world = threeWays();
    world.report(world.claim("a"), broken);
    expect(effectStatusesOf(world)).toEqual([
      [0, "NONE"],
      [1, "NONE"],
    ]);
    expect(world.step("a").forward.kind).toBe("READY");
  });

  test("to each of its ways in turn, and fails for good after the last", () => {
    const world = threeWays();
    for (let way = 0; way < 3; way++) {
      expect(world.step("a").strategies).toHaveLength(way + 1);
      world.report(world.claim("a"), broken);
    }
    expect(world.step("a").forward.kind).toBe("FAILED");
    expect(world.effects).toContainEqual(failedWith("broken"));
  });

  test("with fresh retries: numbers begin anew, fences continue", () => {
    const world = threeWays();
    world.report(world.claim("a"), failure("busy"));
    world.fireNext();
    world.report(world.claim("a"), failure("busy"));
    expect(world.step("a")).toMatchObject({ attempt: 0, tries: [], lost: 0, fence: 2 });
    world.report(world.claim("a"), failure("busy"));
    expect(world.step("a")).toMatchObject({ forward: { kind: "BACKOFF" }, tries: [1] });
  });

  test("with a row of losses that begins anew", () => {
    const world = threeWays();
    lose(world, "a", "s1");
    lose(world, "a", "s2");
    world.report(world.claim("a", "s3"), broken);
    lose(world, "a", "s1");
    expect(world.step("a")).toMatchObject({ forward: { kind: "READY" }, lost: 1 });
  });

  test("never where three attempts in a row are lost: poison asks a person", () => {
    const world = threeWays();
    poison(world, "a");
    expect(lastQuestion(world)).toMatchObject({ reason: "poison" });
    expect(world.step("a").strategies).toHaveLength(1);
  });

  test("within the total time of all its ways, and not when that is over", () => {
    const world = threeWays({ timeouts: { totalMs: 10_000 } });
    world.advance(9_999);
    world.report(world.claim("a"), broken);
    expect(world.step("a").forward).toMatchObject({ kind: "READY", until: START + 10_000 });
    world.advance(1);
    world.report(world.claim("a"), broken);
    expect(world.effects).toContainEqual(failedWith("drover.total"));
  });

  test("and asks a person where the input of the way cannot be made", () => {
    const evaluator = {
      ...NO_EXPRESSIONS,
      input: (_no: number, planned: number) =>
        planned === 1
          ? ({ kind: "failed", message: "no such key: chain" } as const)
          : ({ kind: "value", value: null } as const),
    };
    const world = createWorld(workflow({ a: { fallback: [other] } }), evaluator);
    world.report(world.claim("a"), broken);
    expect(lastQuestion(world)).toMatchObject({ reason: "expression", code: "drover.expression" });
  });
});

describe("the effect of a strategy", () => {
  test("is its own: the success of one proves nothing about another", () => {
    const world = threeWays({ retry: [{ attempts: 1 }] });
    world.report(world.claim("a"), unknown());
    succeed(world, "a");
    expect(effectStatusesOf(world)).toEqual([
      [0, "UNSETTLED"],
      [1, "MADE"],
    ]);
    expect(world.step("a").result).toMatchObject({ fence: 2 });
  });

  test("is undone before the next strategy begins, and that of the last with its run", () => {
    const world = threeWays({ compensate, retry: [{ attempts: 1 }] });
    world.report(world.claim("a"), unknown());
    succeed(world, "a", "a");
    expect(effectStatusesOf(world)).toEqual([
      [0, "UNDONE"],
      [1, "MADE"],
    ]);
    world.cancel(true);
    world.report(world.claim("a"), failure("busy"));
    world.fireNext();
    succeed(world, "a");
    expect(effectStatusesOf(world)).toEqual([
      [0, "UNDONE"],
      [1, "UNDONE"],
    ]);
    expect(world.run()).toMatchObject({ state: { kind: "COMPENSATED" }, undone: 1 });
  });

  test("is not undone where its agent reported that nothing of it exists", () => {
    const world = threeWays({ compensate });
    world.report(world.claim("a"), failure("full", { permanent: true, noEffect: true }));
    succeed(world, "a");
    world.cancel(true);
    succeed(world, "a");
    expect(world.run().state.kind).toBe("COMPENSATED");
    expect(effectStatusesOf(world)).toEqual([
      [0, "NONE"],
      [1, "UNDONE"],
    ]);
  });
});

describe("a strategy whose effect is unknown", () => {
  function withUnknownOutcome(): World {
    const world = threeWays({ ...verifiable, retry: [] });
    world.report(world.claim("a"), unknown());
    return world;
  }

  test("is verified before it is left", () => {
    const world = withUnknownOutcome();
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", task: "verify" },
      strategies: [{ planned: 0 }],
    });
  });

  test("is left where nothing took effect", () => {
    const world = withUnknownOutcome();
    world.report(world.claim("a"), nothingThere);
    expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "perform", fence: 2 });
    expect(effectStatusesOf(world)).toEqual([
      [0, "CLEARED"],
      [1, "NONE"],
    ]);
  });

  test("has succeeded where it happened, and nothing else is tried", () => {
    const world = withUnknownOutcome();
    world.report(world.claim("a"), success());
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      strategies: [{ planned: 0, effectStatus: "MADE" }],
    });
  });

  test("is verified also where it was asked again, and then failed for good", () => {
    const world = threeWays(verifiable);
    world.report(world.claim("a"), again());
    world.fireNext();
    world.report(world.claim("a"), broken);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", task: "verify" },
      strategies: [{ planned: 0 }],
    });
  });

  test("asks a person where the step may run once only", () => {
    const world = threeWays({ effects: "once" });
    world.report(world.claim("a"), unknown());
    expect(lastQuestion(world)).toMatchObject({ reason: "unknown" });
    expect(world.step("a").strategies).toHaveLength(1);
  });
});

describe("a late success of a strategy that was left", () => {
  test("counts while no task of the next was handed out, which is dropped", () => {
    const world = threeWays({ retry: [{ attempts: 1 }] });
    const held = world.claim("a");
    world.report(held, unknown());
    expect(world.step("a").strategies).toHaveLength(2);
    expect(world.report(held, success())).toEqual({ kind: "done" });
    expect(effectStatusesOf(world)).toEqual([[0, "MADE"]]);
    expect(world.step("a")).toMatchObject({ forward: { kind: "SUCCEEDED" }, attempt: 1 });
    expect(world.step("b").forward.kind).toBe("READY");
  });

  test("counts for the strategy that it is of where two were started since", () => {
    const world = threeWays({ onPickup: "fallback", timeouts: { pickupMs: 1_000 } });
    const held = lose(world, "a");
    world.fireNext({ polled: false });
    world.fireNext({ polled: false });
    expect(world.step("a").strategies.at(-1)).toMatchObject({ planned: 2 });
    world.report(held, success());
    expect(effectStatusesOf(world)).toEqual([[0, "MADE"]]);
  });

  test("changes nothing once a task of the next was handed out", () => {
    const world = threeWays({ retry: [{ attempts: 1 }] });
    const held = world.claim("a", "s1");
    world.report(held, unknown());
    world.claim("a", "s2");
    expect(world.report(held, success())).toMatchObject({ kind: "lease-lost" });
    expect(effectStatusesOf(world)).toEqual([
      [0, "UNSETTLED"],
      [1, "NONE"],
    ]);
  });

  test("is distinguished from a late success of the strategy itself, though none of it counted", () => {
    const world = threeWays({ ...verifiable, compensate });
    world.report(world.claim("a"), broken);
    const held = world.claim("a");
    world.cancel(true);
    world.report(held, cancelled());
    expect(world.step("a").forward).toMatchObject({ task: "verify" });
    world.report(held, success());
    expect(effectStatusesOf(world)).toEqual([
      [0, "NONE"],
      [1, "MADE"],
    ]);
  });

  test("is distinguished so where a person let the strategy be tried again", () => {
    const world = threeWays();
    world.report(world.claim("a"), broken);
    const held = poison(world, "a");
    world.answer(lastQuestion(world).n, "retry");
    world.report(held, success());
    expect(effectStatusesOf(world)).toEqual([
      [0, "NONE"],
      [1, "MADE"],
    ]);
  });
});

test("a late failure of a strategy that was left lets the next continue", () => {
  const world = threeWays({ compensate, retry: [{ attempts: 1 }] });
  const held = world.claim("a");
  world.report(held, unknown());
  expect(world.report(held, failure("full", { noEffect: true }))).toEqual({ kind: "done" });
  expect(effectStatusesOf(world)).toEqual([
    [0, "CLEARED"],
    [1, "NONE"],
  ]);
  expect(world.step("a")).toMatchObject({ forward: { kind: "READY" }, attempt: 0, tries: [] });
});

test("a late report on the undo of one strategy proves nothing about the next", () => {
  const world = threeWays({ compensate, retry: [{ attempts: 1 }] });
  world.report(world.claim("a"), unknown());
  const held = poison(world, "a");
  world.answer(lastQuestion(world).n, "succeed");
  expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "perform" });
  expect(world.report(held, success())).toMatchObject({ kind: "lease-lost" });
  expect(effectStatusesOf(world)).toEqual([
    [0, "UNDONE"],
    [1, "NONE"],
  ]);
});
