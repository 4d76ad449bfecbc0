/**
 * Each perform task carries a callback token. It is valid whether or not the agent defers, so the
 * remote service may call back before the agent has answered, and under the rule of late reports.
 */
import { describe, expect, test } from "vitest";
import { NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import type { RunEvent } from "../../../server/core/model/event.ts";
import {
  broken,
  type CallbackOutcome,
  calledBack,
  cancelled,
  deferred,
  failure,
  nothingThere,
  success,
  unknown,
} from "../../support/core-outcomes.ts";
import type { Held } from "../../support/core-rows.ts";
import { createWorld, lose, type World, workflow } from "../../support/core-world.ts";

const permanent = { ...calledBack.failure, class: "permanent" } as const;

describe("before the agent's own answer", () => {
  test("a callback settles the step, and ends the lease", () => {
    const world = createWorld(workflow({ a: {}, b: { needs: ["a"] } }));
    const held = world.claim("a");
    expect(world.callback(held, calledBack.success)).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { fence: 1, kind: "perform" },
    });
    expect(world.step("b").forward.kind).toBe("READY");
  });

  test("the agent that then defers is answered that it was received", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.callback(held, calledBack.success);
    expect(world.report(held, deferred)).toEqual({ kind: "repeated" });
    expect(world.step("a").forward.kind).toBe("SUCCEEDED");
  });

  test("the agent that then defers is answered so too where the callback reported a failure", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.callback(held, calledBack.failure);
    expect(world.report(held, deferred)).toEqual({ kind: "repeated" });
    expect(world.step("a").forward.kind).toBe("BACKOFF");
    world.fireNext();
    world.claim("a", "s2");
    expect(world.report(held, deferred)).toEqual({ kind: "repeated" });
  });

  test("the agent that reports something else comes too late", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.callback(held, calledBack.success);
    expect(world.report(held, broken)).toEqual({ kind: "over", outcome: "success" });
    expect(world.report(held, unknown())).toEqual({ kind: "over", outcome: "success" });
  });

  test("a report and a callback of one pass: the report counts first", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    const answers = world.pass([
      world.callbackOf(held, calledBack.success),
      world.reportOf(held, deferred),
    ]);
    expect(answers).toEqual([{ kind: "done" }, { kind: "done" }]);
    expect(world.step("a").forward.kind).toBe("SUCCEEDED");
  });
});

describe("after the agent's own answer", () => {
  test.each([
    ["does not know", unknown()],
    ["has stopped", cancelled()],
    ["has deferred", deferred],
    ["was refused for now", failure("busy")],
  ])("a callback's success settles an attempt whose agent %s", (_how, outcome) => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, outcome);
    expect(world.callback(held, calledBack.success)).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({ forward: { kind: "SUCCEEDED" }, attempt: 1 });
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("a callback's failure settles what is open, and not what has failed", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, unknown());
    expect(world.callback(held, permanent)).toEqual({ kind: "done" });
    expect(world.step("a").forward.kind).toBe("FAILED");
    const other = createWorld(workflow({ a: {} }));
    const failed = other.claim("a");
    other.report(failed, failure("busy"));
    expect(other.callback(failed, calledBack.failure)).toEqual({
      kind: "over",
      outcome: "failure",
    });
  });

  test("no callback settles a success or a permanent failure", () => {
    for (const outcome of [success(), broken]) {
      const world = createWorld(workflow({ a: { onFailure: "continue" }, b: {} }));
      const held = world.claim("a");
      world.report(held, outcome);
      expect(world.callback(held, calledBack.success)).toEqual({
        kind: "over",
        outcome: outcome.kind,
      });
    }
  });

  test("a callback settles a lost attempt that is ready again", () => {
    const world = createWorld(workflow({ a: {} }));
    expect(world.callback(lose(world, "a"), calledBack.success)).toEqual({ kind: "done" });
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("a callback settles an attempt that is being verified", () => {
    const verify = { task: "find" };
    const world = createWorld(workflow({ a: { effects: "verifiable", verify } }));
    const held = world.claim("a");
    world.report(held, unknown());
    const verifying = world.claim("a", "s2");
    expect(world.callback(held, calledBack.success)).toEqual({ kind: "done" });
    expect(world.report(verifying, nothingThere)).toMatchObject({ kind: "lease-lost" });
    expect(world.run().state.kind).toBe("COMPLETED");
  });
});

describe("a callback", () => {
  test("gets the same answer however often it is repeated", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.callback(held, calledBack.success);
    const before = world.run();
    for (let time = 0; time < 3; time++)
      expect(world.callback(held, calledBack.success)).toEqual({ kind: "repeated" });
    expect(world.run()).toEqual(before);
  });

  test("that reports something else after it was received is refused", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.callback(held, calledBack.success);
    expect(world.callback(held, permanent)).toEqual({ kind: "over", outcome: "success" });
  });

  test("may succeed after it has reported a failure for now", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, deferred);
    world.callback(held, calledBack.failure);
    expect(world.step("a")).toMatchObject({ forward: { kind: "BACKOFF" }, tries: [1] });
    expect(world.callback(held, calledBack.success)).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({ forward: { kind: "SUCCEEDED" }, attempt: 1 });
  });

  test("of an attempt that was replaced changes nothing, and is stored as evidence", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a", "s1");
    world.report(held, deferred);
    world.callback(held, calledBack.failure);
    world.fireNext();
    world.claim("a", "s2");
    const before = world.step("a");
    expect(world.callback(held, calledBack.success)).toEqual({
      kind: "lease-lost",
      run: "RUNNING",
    });
    expect(world.step("a")).toEqual(before);
    expect(world.effects.at(-1)).toMatchObject({
      kind: "attempt-stored",
      attempt: { kind: "late", fence: 1 },
    });
  });

  test("of a step that is final changes nothing; its success is an intervention", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.report(held, deferred);
    world.claim("b");
    world.cancel(false);
    expect(world.callback(held, calledBack.success)).toMatchObject({ kind: "lease-lost" });
    expect(world.interventions("late-effect")).toHaveLength(1);
  });

  test("brings an output that is evaluated like any other", () => {
    const evaluator = { ...NO_EXPRESSIONS, outputProblem: () => "no booking number" };
    const world = createWorld(workflow({ a: {} }), evaluator);
    const held = world.claim("a");
    world.report(held, deferred);
    world.callback(held, calledBack.success);
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.schema" }),
    );
  });

  test("with a token that no attempt has is no task's", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    const callback = world.callbackOf(held, calledBack.success);
    if (callback.kind !== "callback") throw new Error("no callback");
    for (const wrong of [
      { ...callback, secret: null },
      { ...callback, secret: "guessed" },
      { ...callback, step: 9 },
    ])
      expect(world.pass([wrong])).toEqual([{ kind: "no-such-task" }]);
  });
});

describe("an operator who reports for the callback", () => {
  const byOperator = (world: World, held: Held, outcome: CallbackOutcome): RunEvent => {
    const event = world.callbackOf(held, outcome);
    return event.kind === "callback" ? { ...event, secretDigest: null } : event;
  };

  test("ends a step that waits for it, as the callback would", () => {
    const world = createWorld(workflow({ a: {}, b: { needs: ["a"] } }));
    const held = world.claim("a");
    world.report(held, deferred);
    expect(world.pass([byOperator(world, held, calledBack.success)])).toEqual([{ kind: "done" }]);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { fence: 1, kind: "perform" },
    });
    expect(world.step("b").forward.kind).toBe("READY");
  });

  test("reports a failure that is tried again, or is permanent", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, deferred);
    world.pass([byOperator(world, held, calledBack.failure)]);
    expect(world.step("a").forward.kind).toBe("BACKOFF");
    world.fireNext();
    const again = world.claim("a", "s2");
    world.report(again, deferred);
    world.pass([byOperator(world, again, permanent)]);
    expect(world.run().state.kind).toBe("FAILED");
  });

  test("gets the same answer when the outcome is on record already, whoever reported it", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    world.report(held, deferred);
    world.callback(held, calledBack.success);
    const before = world.run();
    expect(world.pass([byOperator(world, held, calledBack.success)])).toEqual([
      { kind: "repeated" },
    ]);
    expect(world.run()).toEqual(before);
  });

  test("is refused while an agent has the task, and after the step has ended", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    const held = world.claim("a");
    const refusal = (state: string) => ({
      kind: "refused",
      run: "RUNNING",
      why: `The step "a" does not wait for a callback: it is ${state}.`,
    });
    const before = world.step("a");
    expect(world.pass([byOperator(world, held, calledBack.success)])).toEqual([refusal("LEASED")]);
    expect(world.step("a")).toEqual(before);
    world.report(held, success());
    expect(world.pass([byOperator(world, held, calledBack.failure)])).toEqual([
      refusal("SUCCEEDED"),
    ]);
  });

  test("may not settle an attempt that is unknown: that is asked as a question", () => {
    const world = createWorld(workflow({ a: { effects: "once" } }));
    const held = lose(world, "a");
    expect(world.pass([byOperator(world, held, calledBack.success)])).toMatchObject([
      { kind: "refused", why: expect.stringContaining("it is ESCALATED") },
    ]);
  });

  test("is refused once the run has ended, and for a step that there is not", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, success());
    const event = byOperator(world, held, calledBack.failure);
    expect(world.pass([event])).toEqual([
      {
        kind: "refused",
        run: "COMPLETED",
        why: "The run is COMPLETED: no step of it waits for a callback.",
      },
    ]);
    const elsewhere = byOperator(world, { ...held, step: 9 }, calledBack.success);
    expect(world.pass([elsewhere])).toEqual([{ kind: "no-such-task" }]);
  });

  test("who has seen an earlier attempt is refused", () => {
    const world = createWorld(workflow({ a: {} }));
    const first = world.claim("a");
    world.report(first, deferred);
    world.callback(first, calledBack.failure);
    world.fireNext();
    world.report(world.claim("a", "s2"), deferred);
    expect(world.pass([byOperator(world, first, calledBack.success)])).toMatchObject([
      { kind: "refused", why: 'The step "a" waits for the callback of a later attempt.' },
    ]);
  });
});

describe("a failure has how its own attempt ended", () => {
  const gone = failure("gone", { permanent: true });

  test("of a step that may run once, so that no person has to be asked", () => {
    const world = createWorld(workflow({ a: { effects: "once", onFailure: "fail" } }));
    const held = world.claim("a");
    world.report(held, deferred);
    world.callback(held, {
      kind: "failure",
      class: "permanent",
      code: "gone",
      message: "it failed with gone",
      retryAfterMs: null,
      noEffect: false,
    });
    expect(world.run().state).toMatchObject({ kind: "FAILED" });
    expect(world.openEscalations()).toEqual([]);
  });

  test("and leaves nothing to undo", () => {
    const world = createWorld(workflow({ a: { compensate: { task: "undo" } } }));
    const held = world.claim("a");
    world.advance(31_000);
    world.fire("a");
    expect(world.step("a").strategies).toMatchObject([{ effectStatus: "UNSETTLED" }]);
    world.report(held, gone);
    expect(world.step("a").strategies).toMatchObject([{ effectStatus: "CLEARED" }]);
    world.advance(31_000);
    world.fireRun();
    expect(world.run().state).toMatchObject({ kind: "FAILED" });
  });

  test("but not what an attempt before it has left", () => {
    const world = createWorld(workflow({ a: { compensate: { task: "undo" } } }));
    for (let loss = 0; loss < 2; loss++) {
      world.claim("a", `s${loss}`);
      world.advance(31_000);
      world.fire("a");
    }
    expect(world.step("a").strategies).toMatchObject([{ effectStatus: "LINGERING" }]);
    world.report(world.claim("a", "s2"), gone);
    world.advance(31_000);
    world.fireRun();
    expect(world.step("a").undo.kind).toBe("READY");
  });
});
