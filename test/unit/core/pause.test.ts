/**
 * A person pauses a run: nothing new is handed out, and its own times are suspended. Reports
 * from outside count during the pause, and what they make ready is held until the resume.
 */
import { describe, expect, test } from "vitest";
import {
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
  poison,
  START,
  succeed,
  type World,
  workflow,
} from "../../support/core-world.ts";

const compensate = { task: "undo" };
const kindOf = (world: World, id: string): string => world.step(id).forward.kind;

/** a is leased, b is ready, c waits for a; the run is paused. */
function paused(): { world: World; held: ReturnType<World["claim"]> } {
  const world = createWorld(
    workflow({ a: { compensate }, b: {}, c: { needs: ["a"] } }, { timeoutMs: 100_000 }),
  );
  const held = world.claim("a");
  world.pause();
  return { world, held };
}

describe("pausing", () => {
  test("takes what is ready out of its queue before it is acknowledged", () => {
    const { world } = paused();
    expect(world.step("b").forward).toEqual({ kind: "HELD", task: "perform" });
    expect(world.tryClaim("b")).toBeUndefined();
  });

  test("lets leased work finish: its agent is not asked to stop", () => {
    const { world, held } = paused();
    expect(world.step("a").forward).toMatchObject({ kind: "LEASED", cancel: { kind: "none" } });
    expect(world.report(held, success())).toEqual({ kind: "done" });
    expect(kindOf(world, "a")).toBe("SUCCEEDED");
  });

  test("twice changes nothing", () => {
    const { world } = paused();
    const before = world.run();
    world.advance(5_000);
    expect(world.pause()).toEqual({ kind: "done" });
    expect(world.run()).toEqual(before);
  });

  test("is refused once the run is on its way to its end", () => {
    const { world } = paused();
    world.cancel(true);
    expect(world.pause()).toMatchObject({ kind: "refused", run: "STOPPING" });
  });

  test("holds a verify too", () => {
    const verify = { task: "find" };
    const world = createWorld(workflow({ a: { effects: "verifiable", verify } }));
    world.report(world.claim("a"), unknown());
    world.pause();
    expect(world.step("a").forward).toEqual({ kind: "HELD", task: "verify" });
    world.resume();
    expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "verify", attempt: 1 });
  });
});

describe("while a run is paused, what is made ready is held", () => {
  test("by a success", () => {
    const { world, held } = paused();
    world.report(held, success());
    expect(kindOf(world, "c")).toBe("HELD");
  });

  test("by a loss", () => {
    const { world } = paused();
    world.advance(30_000);
    world.fire("a");
    expect(world.step("a")).toMatchObject({ forward: { kind: "HELD", task: "perform" }, lost: 1 });
  });

  test("by a backoff that is over: its timer is not lost", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), failure("busy"));
    world.pause();
    world.fireNext();
    expect(kindOf(world, "a")).toBe("HELD");
    world.resume();
    expect(world.step("a").forward).toMatchObject({ kind: "READY", attempt: 2, fence: 2 });
  });

  test("by a timer, a signal and an approval", () => {
    const world = createWorld(
      workflow({
        t: { kind: "wait", forMs: 1_000 },
        s: { kind: "signal", name: "go" },
        p: { kind: "approval", approvers: [] },
        afterT: { needs: ["t"] },
        afterS: { needs: ["s"] },
        afterP: { needs: ["p"] },
      }),
    );
    world.pause();
    world.fireNext();
    world.signal("go");
    world.decide("p", "ada", true);
    for (const id of ["afterT", "afterS", "afterP"]) expect(kindOf(world, id)).toBe("HELD");
    world.resume();
    for (const id of ["afterT", "afterS", "afterP"]) expect(kindOf(world, id)).toBe("READY");
  });

  test("by a callback that reports a failure, when its backoff is over", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.report(held, deferred);
    world.pause();
    world.callback(held, calledBack.failure);
    expect(kindOf(world, "a")).toBe("BACKOFF");
    world.fireNext();
    expect(kindOf(world, "a")).toBe("HELD");
  });

  test("by a fallback, and by a callback that did not come where the step is verified", () => {
    const verify = { task: "find" };
    const world = createWorld(
      workflow({ a: { fallback: [{ queue: "eu" }] }, b: { effects: "verifiable", verify } }),
    );
    const [a, b] = [world.claim("a"), world.claim("b")];
    world.pause();
    world.report(a, broken);
    world.report(b, deferred);
    world.fireNext();
    expect(kindOf(world, "a")).toBe("HELD");
    expect(world.step("b").forward).toEqual({ kind: "HELD", task: "verify" });
  });

  test("by an answer", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    poison(world, "a");
    world.pause();
    world.answer(lastQuestion(world).n, "retry");
    expect(kindOf(world, "a")).toBe("HELD");
    world.resume();
    expect(kindOf(world, "a")).toBe("READY");
  });
});

describe("while a run is paused, what has its own time continues", () => {
  test("the deadline of a signal", () => {
    const world = createWorld(
      workflow({ a: { kind: "signal", name: "go", withinMs: 1_000, onExpiry: "skip" }, b: {} }),
    );
    world.pause();
    world.fireNext();
    expect(kindOf(world, "a")).toBe("SKIPPED");
  });

  test("the time of an attempt: it is cancelled", () => {
    const world = createWorld(workflow({ a: { timeouts: { attemptMs: 20_000 } } }));
    world.claim("a");
    world.pause();
    world.advance(20_000);
    world.heartbeat();
    world.fire("a");
    expect(world.step("a").forward).toMatchObject({ cancel: { cause: "timeout" } });
  });

  test("a late report of the current attempt, which settles a step that is held", () => {
    const world = createWorld(workflow({ a: {}, b: { needs: ["a"] } }));
    const held = lose(world, "a");
    world.pause();
    expect(kindOf(world, "a")).toBe("HELD");
    world.report(held, success());
    expect([kindOf(world, "a"), kindOf(world, "b")]).toEqual(["SUCCEEDED", "HELD"]);
  });

  test("a last step: the run is COMPLETED when it is resumed", () => {
    const world = createWorld(workflow({ a: {} }));
    const held = world.claim("a");
    world.pause();
    world.report(held, success());
    expect(world.run().state.kind).toBe("PAUSED");
    world.resume();
    expect(world.run().state.kind).toBe("COMPLETED");
  });
});

describe("what is suspended", () => {
  test("is the run's deadline: what is left of it is set again at the resume", () => {
    const { world } = paused();
    expect(world.run().state).toMatchObject({ kind: "PAUSED", leftMs: 100_000, since: START });
    world.advance(1_000_000);
    world.fireRun();
    expect(world.run().state.kind).toBe("PAUSED");
    world.resume();
    expect(world.run().state).toEqual({ kind: "RUNNING", deadline: world.now() + 100_000 });
    expect(world.step("b").forward).toMatchObject({ until: world.now() + 100_000 });
  });

  test("is the total time of each step that is open", () => {
    const world = createWorld(workflow({ a: { timeouts: { totalMs: 60_000 } } }));
    world.advance(10_000);
    world.pause();
    world.advance(1_000_000);
    world.resume();
    expect(world.step("a").forward).toMatchObject({ until: world.now() + 50_000 });
  });

  test("is the total time also of an attempt that fails meanwhile: it is tried again", () => {
    const timeouts = { totalMs: 60_000, attemptMs: 600_000 };
    const world = createWorld(workflow({ a: { timeouts }, b: { timeouts } }));
    const held = world.claim("a");
    const lost = world.claim("b", "s2");
    world.advance(10_000);
    world.heartbeat("s2");
    world.pause();
    world.advance(100_000);
    world.fire(lost.step);
    world.report(held, failure("busy"));
    expect([kindOf(world, "a"), kindOf(world, "b")]).toEqual(["BACKOFF", "HELD"]);
    world.resume();
    expect(world.step("b").forward).toMatchObject({ until: world.now() + 50_000 });
  });

  test.each([
    { when: "before the pause", from: 2_000, to: 6_000, ran: 6_000 },
    { when: "from before the pause until after it", from: 4_000, to: 1_020_000, ran: 4_000 },
    { when: "that begins before the pause and ends in it", from: 8_000, to: 500_000, ran: 8_000 },
    { when: "in the pause", from: 500_000, to: 600_000, ran: 10_000 },
  ])("is not twice what an outage $when suspends, and not forgotten", ({ from, to, ran }) => {
    const world = createWorld(workflow({ a: { timeouts: { totalMs: 60_000 } } }));
    world.outages("a", [{ from: START + from, to: START + to }]);
    world.advance(10_000);
    world.pause();
    world.advance(1_000_000);
    world.resume();
    expect(world.step("a").forward).toMatchObject({ until: world.now() + 60_000 - ran });
    const openMs = Math.max(0, START + to - world.now());
    world.advance(openMs + 60_000 - ran);
    world.fire("a");
    expect(kindOf(world, "a")).toBe("FAILED");
    expect(world.interventions("total")).toMatchObject([{ dueAt: world.now() }]);
  });

  test("is no time at all for a step that was first ready meanwhile", () => {
    const world = createWorld(
      workflow({ a: {}, b: { needs: ["a"], timeouts: { totalMs: 60_000 } } }),
    );
    const held = world.claim("a");
    world.pause();
    world.report(held, success());
    world.advance(1_000_000);
    world.resume();
    expect(world.step("b").forward).toMatchObject({ until: world.now() + 60_000 });
  });

  test("is the deadline of an ESCALATED run too, whether it is paused in between or not", () => {
    for (const pauses of [false, true]) {
      const world = createWorld(workflow({ a: {} }, { timeoutMs: 100_000 }));
      poison(world, "a");
      world.advance(500_000);
      if (pauses) {
        expect(world.pause()).toEqual({ kind: "done" });
        world.advance(500_000);
        world.resume();
        expect(world.run().state.kind).toBe("ESCALATED");
      }
      world.answer(lastQuestion(world).n, "retry");
      expect(world.run().state).toEqual({ kind: "RUNNING", deadline: world.now() + 10_000 });
    }
  });
});

describe("a step that fails for good while its run is paused", () => {
  test("keeps its stop reason until the resume", () => {
    const { world, held } = paused();
    world.report(held, broken);
    expect(world.run().state).toMatchObject({
      kind: "PAUSED",
      stopReason: { reason: "STEP_FAILED", undo: true },
    });
    expect(kindOf(world, "b")).toBe("HELD");
    world.resume();
    expect(kindOf(world, "b")).toBe("CANCELLED");
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("keeps the first of several", () => {
    const world = createWorld(workflow({ a: { onFailure: "fail" }, b: {} }));
    const [a, b] = [world.claim("a"), world.claim("b")];
    world.pause();
    world.report(a, broken);
    world.report(b, broken);
    expect(world.run().state).toMatchObject({ stopReason: { undo: false } });
  });

  test("asks a person at once where its on_failure requires it", () => {
    const world = createWorld(workflow({ a: { onFailure: "escalate" }, b: {} }));
    const held = world.claim("a");
    world.pause();
    world.report(held, broken);
    expect(kindOf(world, "a")).toBe("ESCALATED");
    expect(world.run().state.kind).toBe("PAUSED");
  });

  test("leaves the stop reason to a cancel that comes first", () => {
    const { world, held } = paused();
    world.report(held, broken);
    world.cancel(false);
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
  });
});

describe("a cancel of a paused run", () => {
  test("stops it as ever: what is held is not handed out any more", () => {
    const { world, held } = paused();
    world.cancel(true);
    expect(world.run().state.kind).toBe("STOPPING");
    expect(kindOf(world, "b")).toBe("CANCELLED");
    expect(world.step("a").forward).toMatchObject({ cancel: { cause: "run" } });
    world.report(held, success());
    expect(world.step("a").undo.kind).toBe("READY");
  });
});

describe("resuming", () => {
  test("moves no clock of a step by more than the part of the pause that it saw", () => {
    const world = createWorld(
      workflow({
        a: { kind: "approval", approvers: [] },
        go: { kind: "signal", name: "go", needs: ["a"] },
      }),
    );
    world.pause();
    world.advance(5_000);
    world.decide("a", "ada", true);
    world.advance(2_000);
    world.resume();
    expect(world.step("go").firstReadyAt).toBe(START + 7_000);
  });

  test("puts back all that is held, in one pass", () => {
    const { world, held } = paused();
    world.report(held, success());
    world.resume();
    expect([kindOf(world, "b"), kindOf(world, "c")]).toEqual(["READY", "READY"]);
    succeed(world, "b", "c");
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("a run that is not paused changes nothing; one that has ended is refused", () => {
    const world = createWorld(workflow({ a: {} }));
    const before = world.run();
    expect(world.resume()).toEqual({ kind: "done" });
    expect(world.run()).toEqual(before);
    succeed(world, "a");
    expect(world.resume()).toMatchObject({ kind: "refused", run: "COMPLETED" });
    expect(world.pause()).toMatchObject({ kind: "refused", run: "COMPLETED" });
  });
});
