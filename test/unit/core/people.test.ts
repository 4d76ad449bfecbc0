/** Answers of people to a suspended run, and how it continues. */
import { describe, expect, test } from "vitest";
import { NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import { again, broken, nothingThere, released, success } from "../../support/core-outcomes.ts";
import { createWorld, lastQuestion, lose, succeed, workflow } from "../../support/core-world.ts";

describe("an always step that a person leaves as it is", () => {
  test("does not keep the always steps behind it from running", () => {
    const last = { always: true, retry: [{ attempts: 1 }] };
    const steps = { a: {}, b: last, c: { ...last, needs: ["b"] } };
    const world = createWorld(workflow(steps));
    succeed(world, "a");
    world.report(world.claim("b"), broken);
    expect(world.run().state.kind).toBe("ESCALATED");
    world.cancel(false);
    expect(world.step("b").forward.kind).toBe("CANCELLED");
    succeed(world, "c");
    expect(world.run().state).toMatchObject({ kind: "COMPLETED", reason: "DONE" });
  });
});

describe("a person who is quicker than a lost attempt settles", () => {
  const settleMs = 30_000;

  test.each(["retry", "retry-changed"] as const)(
    "answers %s: a step that is not idempotent waits until the time is over",
    (answer) => {
      const world = createWorld(workflow({ a: { effects: "once", timeouts: { settleMs } } }));
      lose(world, "a");
      world.advance(settleMs - 1);
      world.answer(lastQuestion(world).n, answer, "{}");
      expect(world.step("a").forward).toEqual({
        kind: "BACKOFF",
        task: "perform",
        cause: "settle",
        wakeAt: world.now() + 1,
      });
      world.fireNext();
      world.report(world.claim("a"), success());
      expect(world.run().state.kind).toBe("COMPLETED");
    },
  );

  test("answers retry when all has settled: it is ready at once", () => {
    const world = createWorld(workflow({ a: { effects: "once", timeouts: { settleMs } } }));
    lose(world, "a");
    world.advance(settleMs);
    world.answer(lastQuestion(world).n, "retry");
    expect(world.step("a").forward.kind).toBe("READY");
  });
});

describe("a paused run that has its stop reason", () => {
  test("begins nothing behind a step that succeeds", () => {
    const world = createWorld(
      workflow({ a: {}, b: { needs: ["a"] }, c: { retry: [{ attempts: 1 }] } }),
    );
    const held = world.claim("a");
    const failing = world.claim("c");
    world.pause();
    world.report(failing, broken);
    world.report(held, success());
    expect(world.run().state).toMatchObject({
      kind: "PAUSED",
      stopReason: { reason: "STEP_FAILED" },
    });
    expect(world.step("b").forward.kind).toBe("BLOCKED");
    world.resume();
    expect(world.run().state).toMatchObject({ kind: "FAILED", reason: "STEP_FAILED" });
  });
});

describe("a person who changes the input of a fallback that never ran", () => {
  test("gives it to the strategy that replaces the one without a task", () => {
    const evaluator = {
      ...NO_EXPRESSIONS,
      input: (_step: number, planned: number) =>
        planned === 1
          ? ({ kind: "failed", message: "it has none" } as const)
          : ({ kind: "value", value: null } as const),
    };
    const steps = { a: { retry: [{ attempts: 1 }], fallback: [{ task: "plan-b" }] } };
    const world = createWorld(workflow(steps), evaluator);
    world.report(world.claim("a"), broken);
    world.answer(lastQuestion(world).n, "retry-changed", '{"changed":true}');
    expect(world.step("a").strategies).toMatchObject([
      { planned: 0, changed: false },
      { planned: 1, changed: true },
    ]);
    const started = world.effects.filter((effect) => effect.kind === "strategy-started");
    expect(started).toMatchObject([
      { index: 1, input: null },
      { index: 1, input: { json: '{"changed":true}' } },
    ]);
  });
});

describe("a person who changes the input of a strategy that was tried and has left nothing", () => {
  test("begins another one: what was sent under the key of the old one is not sent again", () => {
    const timeouts = { totalMs: 10_000 };
    const verified = { effects: "verifiable", verify: { task: "find" } } as const;
    const steps = { a: { ...verified, timeouts, onFailure: "escalate" } } as const;
    const world = createWorld(workflow(steps));
    world.fireNext();
    world.answer(lastQuestion(world).n, "retry-changed", '{"seats":1}');
    world.report(world.claim("a"), again());
    world.fireNext();
    world.fireNext();
    world.report(world.claim("a"), nothingThere);
    expect(world.step("a").strategies.map(({ effectStatus }) => effectStatus)).toEqual([
      "NONE",
      "CLEARED",
    ]);
    world.answer(lastQuestion(world).n, "retry-changed", '{"seats":2}');
    expect(world.step("a").strategies).toEqual([
      { planned: 0, changed: false, effectStatus: "NONE" },
      { planned: 0, changed: true, effectStatus: "CLEARED" },
      { planned: 0, changed: true, effectStatus: "NONE" },
    ]);
  });

  test("also if an agent gave it back unstarted: the agent knew the key", () => {
    const steps = { a: { timeouts: { totalMs: 10_000 }, onFailure: "escalate" } } as const;
    const world = createWorld(workflow(steps));
    world.fireNext();
    world.answer(lastQuestion(world).n, "retry-changed", '{"seats":1}');
    world.report(world.claim("a"), released);
    world.fireNext();
    world.answer(lastQuestion(world).n, "retry-changed", '{"seats":2}');
    expect(world.step("a").strategies).toEqual([
      { planned: 0, changed: false, effectStatus: "NONE" },
      { planned: 0, changed: true, effectStatus: "CLEARED" },
      { planned: 0, changed: true, effectStatus: "NONE" },
    ]);
  });
});
