/**
 * It is unknown whether an attempt took effect. The `effects` of its step decide whether
 * it is tried again, verified first, or never run again without a person.
 */
import { describe, expect, test } from "vitest";
import type { Evaluator } from "../../../server/core/model/evaluator.ts";
import { NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import {
  again,
  broken,
  cancelled,
  deferred,
  failure,
  nothingThere,
  type ReportedOutcome,
  released,
  success,
  unknown,
} from "../../support/core-outcomes.ts";
import type { Held } from "../../support/core-rows.ts";
import {
  createWorld,
  lastQuestion,
  lose,
  succeed,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const SETTLE_MS = 30_000;
const compensate = { task: "undo" };
const verifiable: TaskOptions = { effects: "verifiable", verify: { task: "find" } };
const once: TaskOptions = { effects: "once" };

/** The only attempt of `a` has an unknown outcome; the verify that follows is ready. */
function withUnknownOutcome(
  more: TaskOptions = {},
  evaluator?: Evaluator,
): { world: World; held: Held } {
  const steps = { a: { ...verifiable, ...more }, b: { needs: ["a"] } };
  const world = createWorld(workflow(steps), evaluator);
  const held = world.claim("a");
  world.report(held, unknown());
  return { world, held };
}

const effectStatusOf = (world: World, id = "a"): string | undefined =>
  world.step(id).strategies.at(-1)?.effectStatus;

describe("an idempotent step", () => {
  test("is tried again by the policy that answers the code, in the same strategy", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), unknown());
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "perform", cause: "retry" },
      attempt: 1,
      strategies: [{ effectStatus: "UNSETTLED" }],
    });
  });

  test("is ready again at once where its attempt was lost: its key does no harm", () => {
    const world = createWorld(workflow({ a: {} }));
    lose(world, "a");
    expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "perform" });
  });
});

describe("a verifiable step", () => {
  test("is verified at once where its agent reported that it does not know", () => {
    const { world } = withUnknownOutcome();
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", task: "verify", fence: 1, attempt: 1 },
      strategies: [{ effectStatus: "UNSETTLED" }],
      unknownOutcome: { code: "drover.unknown", tries: 0 },
    });
  });

  test("is verified only when its lost attempt can act no more", () => {
    const world = createWorld(workflow({ a: verifiable }));
    lose(world, "a");
    const wakeAt = world.now() + SETTLE_MS;
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "verify", cause: "settle", wakeAt },
      settleUntil: wakeAt,
    });
    world.advance(SETTLE_MS - 1);
    world.fire("a");
    expect(world.step("a").forward.kind).toBe("BACKOFF");
    world.advance(1);
    world.fire("a");
    expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "verify" });
    expect(world.interventions("settle")).toMatchObject([{ dueAt: wakeAt }]);
  });

  test("is verified as well after an attempt that did not stop in time", () => {
    const timeouts = { attemptMs: 20_000 };
    const world = createWorld(workflow({ a: { ...verifiable, timeouts } }));
    world.claim("a");
    world.advance(20_000);
    world.heartbeat();
    world.fire("a");
    world.heartbeat();
    world.fireNext();
    expect(world.step("a").forward).toMatchObject({ task: "verify", cause: "settle" });
  });

  test("has succeeded with the output of the verify that finds it happened", () => {
    const { world } = withUnknownOutcome();
    world.report(world.claim("a"), success('"found"'));
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { fence: 1, kind: "verify", n: 1 },
      unknownOutcome: null,
      strategies: [{ effectStatus: "MADE" }],
    });
    expect(world.step("b").forward.kind).toBe("READY");
  });

  test("has failed for good where the output that a verify found breaks its schema", () => {
    const { world } = withUnknownOutcome(
      {},
      { ...NO_EXPRESSIONS, outputProblem: () => "no booking number" },
    );
    world.report(world.claim("a"), success('"found"'));
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.schema" }),
    );
    expect(effectStatusOf(world)).toBe("MADE");
  });

  test("has failed for good where the output that a verify found could not be sent", () => {
    const { world } = withUnknownOutcome();
    world.report(world.claim("a"), failure("drover.output", { permanent: true }));
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.output" }),
    );
    expect(effectStatusOf(world)).toBe("MADE");
  });

  test("is tried again where it did not happen, by its policy for the code of the unknown outcome", () => {
    const { world } = withUnknownOutcome();
    world.report(world.claim("a"), nothingThere);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "perform", wakeAt: world.now() + 1_000 },
      attempt: 1,
      unknownOutcome: null,
      strategies: [{ effectStatus: "CLEARED" }],
    });
  });

  test("is ready at once for another agent where a lost attempt left nothing", () => {
    const world = createWorld(workflow({ a: verifiable }));
    lose(world, "a", "s1");
    world.fireNext();
    world.report(world.claim("a", "s2"), nothingThere);
    expect(world.step("a").forward).toMatchObject({
      kind: "READY",
      task: "perform",
      fence: 2,
      avoid: { session: "s1" },
    });
  });

  test("fails for good where it did not happen and no policy answers", () => {
    const { world } = withUnknownOutcome({ retry: [{ on: ["busy"] }] });
    world.report(world.claim("a"), nothingThere);
    expect(world.step("a").forward.kind).toBe("FAILED");
    expect(world.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("fails with drover.total where its verifies took all of its time", () => {
    const { world } = withUnknownOutcome({ timeouts: { totalMs: 60_000 } });
    world.advance(60_000);
    world.report(world.claim("a"), nothingThere);
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 0, code: "drover.total" }),
    );
  });

  test("is poison where three attempts in a row are lost, though none took effect", () => {
    const world = createWorld(workflow({ a: verifiable }));
    for (const session of ["s1", "s2", "s3"]) {
      lose(world, "a", session);
      world.fireNext();
      world.report(world.claim("a", "finder"), nothingThere);
    }
    expect(lastQuestion(world)).toMatchObject({ reason: "poison" });
  });
});

describe("a verify that finds nothing out", () => {
  const unknownReports: readonly (readonly [string, ReportedOutcome])[] = [
    ["does not know", unknown()],
    ["fails, and does not report that nothing is there", failure("busy")],
    ["stopped", cancelled()],
    ["stopped without an effect of its own", cancelled({ noEffect: true })],
    ["asks to be asked again", again(100)],
    ["defers, which only a perform task can", deferred],
  ];

  test.each(unknownReports)(
    "because it %s is followed by another, after a backoff",
    (_how, outcome) => {
      const { world } = withUnknownOutcome();
      world.report(world.claim("a"), outcome);
      expect(world.step("a")).toMatchObject({
        forward: { kind: "BACKOFF", task: "verify", wakeAt: world.now() + 1_000 },
        unknownOutcome: { tries: 1 },
        verifies: 1,
      });
      world.fireNext();
      expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "verify", attempt: 2 });
    },
  );

  test("because its agent was lost is followed by another too", () => {
    const { world } = withUnknownOutcome();
    lose(world, "a");
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "verify" },
      unknownOutcome: { tries: 1 },
      lost: 0,
    });
  });

  test("asks a person after five tries", () => {
    const { world } = withUnknownOutcome();
    for (let tries = 1; tries < 5; tries++) {
      world.report(world.claim("a"), unknown());
      world.fireNext();
    }
    world.report(world.claim("a"), unknown());
    expect(world.step("a")).toMatchObject({
      forward: { kind: "ESCALATED" },
      unknownOutcome: { tries: 5 },
    });
    expect(lastQuestion(world)).toMatchObject({ step: 0, reason: "unverified" });
  });

  test("asks a person at once where its failure is permanent, or no policy answers", () => {
    for (const [verify, outcome] of [
      [{ task: "find" }, broken],
      [{ task: "find", retry: [{ on: ["busy"] }] }, unknown()],
    ] as const) {
      const { world } = withUnknownOutcome({ verify });
      world.report(world.claim("a"), outcome);
      expect(lastQuestion(world)).toMatchObject({ reason: "unverified" });
    }
  });
});

describe("verifies of one attempt", () => {
  test("have its fence and numbers of their own, which a hand-out given back uses up", () => {
    const { world } = withUnknownOutcome();
    const first = world.claim("a");
    world.report(first, unknown());
    world.fireNext();
    const second = world.claim("a");
    world.report(second, released);
    const third = world.claim("a", "s2");
    world.undelivered(third);
    const fourth = world.claim("a");
    const numbers = [first, second, third, fourth].map(({ fence, attempt }) => [fence, attempt]);
    expect(numbers).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
      [1, 4],
    ]);
    expect(world.step("a").unknownOutcome).toMatchObject({ tries: 1 });
  });

  test("use up no try of the step, and begin at 1 again with its next attempt", () => {
    const { world } = withUnknownOutcome();
    world.report(world.claim("a"), unknown());
    world.fireNext();
    world.report(world.claim("a"), nothingThere);
    expect(world.step("a")).toMatchObject({ attempt: 1, tries: [1] });
    world.fireNext();
    world.report(world.claim("a"), unknown());
    expect(world.step("a").forward).toMatchObject({ task: "verify", fence: 2, attempt: 1 });
  });

  test("are distinguished by their tokens: one that ended reports nothing more", () => {
    const { world } = withUnknownOutcome();
    const first = world.claim("a");
    world.advance(30_000);
    world.fire("a");
    world.fireNext();
    const second = world.claim("a");
    expect(world.report(first, success())).toEqual({ kind: "lease-lost", run: "RUNNING" });
    expect(world.report({ ...second, secret: "guessed" }, success())).toEqual({
      kind: "no-such-task",
    });
    expect(world.report(second, success())).toEqual({ kind: "done" });
  });
});

describe("a late report of the unknown attempt", () => {
  test.each(["READY", "LEASED", "BACKOFF"])("settles it while its verify is %s", (kind) => {
    const { world, held } = withUnknownOutcome();
    if (kind !== "READY") {
      const verify = world.claim("a", "s2");
      if (kind === "BACKOFF") world.report(verify, unknown());
    }
    expect(world.step("a").forward).toMatchObject({ kind, task: "verify" });
    expect(world.report(held, success())).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { fence: 1, kind: "perform", n: 0 },
      unknownOutcome: null,
    });
    expect(world.step("b").forward.kind).toBe("READY");
  });

  test("makes the verify that is out needless: it ends as superseded, and its reports change nothing", () => {
    const { world, held } = withUnknownOutcome();
    const verify = world.claim("a", "s2");
    world.report(held, success());
    expect(world.effects).toContainEqual(
      expect.objectContaining({
        kind: "task-ended",
        attempt: expect.objectContaining({ kind: "verify", n: 1, outcome: { kind: "superseded" } }),
      }),
    );
    expect(world.report(verify, nothingThere)).toMatchObject({ kind: "lease-lost" });
    expect(world.step("a").forward.kind).toBe("SUCCEEDED");
  });

  test("tries again where it reports that the attempt failed", () => {
    const { world, held } = withUnknownOutcome();
    world.claim("a", "s2");
    world.report(held, failure("busy", { noEffect: true }));
    expect(world.step("a")).toMatchObject({
      forward: { kind: "BACKOFF", task: "perform" },
      attempt: 1,
      unknownOutcome: null,
      strategies: [{ effectStatus: "CLEARED" }],
    });
  });

  test("settles it also while a person is asked", () => {
    const world = createWorld(workflow({ a: once, b: { needs: ["a"] } }));
    const held = lose(world, "a");
    world.report(held, success());
    expect(world.openEscalations()).toEqual([]);
    expect(world.step("b").forward.kind).toBe("READY");
  });
});

describe("a step that may run once only", () => {
  test.each([
    ["its agent does not know", (world: World) => world.report(world.claim("a"), unknown())],
    ["its agent was lost", (world: World) => lose(world, "a")],
    ["its agent stopped unasked", (world: World) => world.report(world.claim("a"), cancelled())],
  ])("asks a person at once where %s", (_how, end) => {
    const world = createWorld(workflow({ a: once }));
    end(world);
    expect(world.step("a").forward.kind).toBe("ESCALATED");
    expect(lastQuestion(world)).toMatchObject({ reason: "unknown" });
    expect(world.run().state.kind).toBe("ESCALATED");
  });

  test.each(["retry", "retry-changed"] as const)(
    "is handed out again by the answer %s only when its lost attempt can act no more",
    (answer) => {
      const world = createWorld(workflow({ a: once }));
      lose(world, "a");
      const wakeAt = world.now() + SETTLE_MS;
      world.advance(1_000);
      world.answer(lastQuestion(world).n, answer, "{}");
      expect(world.step("a").forward).toEqual({
        kind: "BACKOFF",
        task: "perform",
        cause: "settle",
        wakeAt,
      });
      world.fireNext();
      expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "perform", fence: 2 });
    },
  );

  test("is handed out again where it was never delivered, or given back unstarted", () => {
    const world = createWorld(workflow({ a: once }));
    world.undelivered(world.claim("a", "s1"));
    world.report(world.claim("a", "s1"), released);
    expect(world.step("a").forward).toMatchObject({ kind: "READY", fence: 3, attempt: 1 });
  });

  test("is tried again after a failure, of which its agent knows", () => {
    const world = createWorld(workflow({ a: once }));
    world.report(world.claim("a"), failure("busy"));
    expect(world.step("a").forward.kind).toBe("BACKOFF");
  });
});

describe("a late success of an attempt that was replaced", () => {
  /** The first attempt was lost, a person let it run again, and that attempt is out. */
  function replaced(): { world: World; first: Held; second: Held } {
    const world = createWorld(workflow({ a: once, other: {} }));
    const first = lose(world, "a", "s1");
    world.advance(SETTLE_MS);
    world.answer(lastQuestion(world).n, "retry");
    world.fireNext();
    return { world, first, second: world.claim("a", "s2") };
  }

  test("asks whether the effect is doubled, and nothing waits for the answer", () => {
    const { world, first } = replaced();
    const before = world.step("a");
    expect(world.report(first, success())).toMatchObject({ kind: "lease-lost" });
    expect(lastQuestion(world)).toMatchObject({ step: 0, reason: "doubled" });
    expect(world.step("a")).toEqual(before);
    expect(world.run().state.kind).toBe("RUNNING");
    expect(world.answer(lastQuestion(world).n, "acknowledge")).toEqual({ kind: "done" });
    expect(world.openEscalations()).toEqual([]);
  });

  test("asks so too where the attempt that replaced it has succeeded", () => {
    const { world, first, second } = replaced();
    world.report(second, success());
    world.report(first, success());
    expect(lastQuestion(world)).toMatchObject({ step: 0, reason: "doubled" });
  });

  test("asks once, however often it is repeated", () => {
    const { world, first } = replaced();
    for (let time = 0; time < 3; time++) world.report(first, success());
    expect(world.openEscalations()).toEqual([0]);
  });

  test("asks no person where the step is idempotent, or where it is a failure", () => {
    const world = createWorld(workflow({ a: {} }));
    const first = lose(world, "a", "s1");
    world.claim("a", "s2");
    world.report(first, success());
    expect(world.openEscalations()).toEqual([]);
    const { world: other, first: failed } = replaced();
    other.report(failed, broken);
    expect(other.openEscalations()).toEqual([]);
  });
});

describe("while its run stops to be undone, an unknown effect", () => {
  /** The effect of a is unknown in one way or another, and the run is cancelled. */
  function stopping(more: TaskOptions): World {
    const world = createWorld(workflow({ a: more, z: {} }));
    const held = world.claim("a");
    world.cancel(true);
    world.report(held, unknown());
    return world;
  }

  test("is verified: it happened, and is undone", () => {
    const world = stopping({ ...verifiable, compensate });
    expect(world.step("a").forward).toMatchObject({ kind: "READY", task: "verify" });
    succeed(world, "a");
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      undo: { kind: "READY" },
    });
  });

  test("is verified: it did not happen, and nothing is undone", () => {
    const world = stopping({ ...verifiable, compensate });
    world.report(world.claim("a"), nothingThere);
    expect(world.step("a").forward.kind).toBe("CANCELLED");
    expect(world.run().state.kind).toBe("CANCELLED");
  });

  test("is undone where no verify finds out, if it can be", () => {
    const world = stopping({
      ...verifiable,
      verify: { task: "find", retry: [{ attempts: 1 }] },
      compensate,
    });
    world.report(world.claim("a"), unknown());
    expect(world.step("a")).toMatchObject({
      forward: { kind: "CANCELLED" },
      undo: { kind: "READY" },
    });
  });

  test("asks a person where no verify finds out and nothing undoes it", () => {
    const world = stopping({ ...verifiable, verify: { task: "find", retry: [{ attempts: 1 }] } });
    world.report(world.claim("a"), unknown());
    expect(lastQuestion(world)).toMatchObject({ reason: "unverified" });
    expect(world.run().state).toMatchObject({ kind: "ESCALATED", from: { kind: "STOPPING" } });
  });

  test("of a step that may run once is undone if it can be, else a person is asked", () => {
    expect(stopping({ ...once, compensate }).step("a").undo.kind).toBe("READY");
    const asked = stopping(once);
    expect(lastQuestion(asked)).toMatchObject({ reason: "unknown" });
  });

  test("of an idempotent step is undone if it can be, else left as it is", () => {
    expect(stopping({ compensate }).step("a").undo.kind).toBe("READY");
    expect(stopping({}).run().state.kind).toBe("CANCELLED");
  });

  test("is verified only when its lost attempt can act no more", () => {
    const world = createWorld(workflow({ a: { ...verifiable, compensate }, z: {} }));
    world.claim("a");
    world.cancel(true);
    world.advance(30_000);
    world.fire("a");
    expect(world.step("a").forward).toMatchObject({
      kind: "BACKOFF",
      task: "verify",
      wakeAt: world.now() + SETTLE_MS,
    });
  });

  test("is still verified if that had started before the stop", () => {
    for (const claims of [false, true]) {
      const { world } = withUnknownOutcome({ compensate });
      const verify = claims ? world.claim("a") : null;
      world.cancel(true);
      expect(world.step("a").forward).toMatchObject({ task: "verify" });
      if (verify) expect(world.step("a").forward).toMatchObject({ cancel: { kind: "none" } });
      world.report(verify ?? world.claim("a"), success());
      expect(world.step("a").undo.kind).toBe("READY");
    }
  });

  test("is ignored in a run that leaves things as they are", () => {
    const { world } = withUnknownOutcome({ compensate });
    world.cancel(false);
    expect(world.step("a").forward.kind).toBe("CANCELLED");
    expect(world.run().state.kind).toBe("CANCELLED");
  });

  test("is not verified further when a run is left: the verify that is out is cancelled", () => {
    const { world } = withUnknownOutcome({ compensate });
    const verify = world.claim("a");
    world.cancel(false);
    expect(world.step("a").forward).toMatchObject({ cancel: { kind: "asked", cause: "run" } });
    world.report(verify, cancelled());
    expect(world.run().state.kind).toBe("CANCELLED");
  });
});
