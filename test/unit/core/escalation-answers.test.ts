/**
 * A question that only a person may answer: which answers it allows, by its reason and by what the
 * run does, and what each of them does.
 */
import { describe, expect, test } from "vitest";
import type { AnswerKind, EscalationReason } from "../../../server/core/model/history.ts";
import type { RunState, Stage } from "../../../server/core/model/model.ts";
import { answersNow } from "../../../server/core/recovery/answers.ts";
import { broken, nothingThere, success, unknown } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  lose,
  poison,
  succeed,
  type World,
  workflow,
} from "../../support/core-world.ts";

const compensate = { task: "undo" };
const ALL: readonly AnswerKind[] = [
  "retry",
  "retry-changed",
  "succeed",
  "skip",
  "compensate",
  "fail",
  "acknowledge",
];
const kindOf = (world: World, id: string): string => world.step(id).forward.kind;

/** z is done and can be undone; a was lost three times in a row; b waits for a. */
function asked(): World {
  const world = createWorld(
    workflow({ z: { compensate }, a: { needs: ["z"], compensate }, b: { needs: ["a"] } }),
  );
  succeed(world, "z");
  poison(world, "a");
  return world;
}

function answer(world: World, kind: AnswerKind, payload?: string) {
  return world.answer(lastQuestion(world).n, kind, payload);
}

/** The undo of a has failed for good; nothing else moves. */
function undoFailed(): World {
  const world = createWorld(
    workflow({ z: { compensate }, a: { needs: ["z"], compensate }, b: { needs: ["a"] } }),
  );
  succeed(world, "z", "a");
  world.cancel(true);
  world.report(world.claim("a"), broken);
  return world;
}

/** It is unknown whether a took effect, nothing undoes it, and the run stops to be undone. */
function stoppingWithUnknown(): World {
  const world = createWorld(workflow({ z: { compensate }, a: { effects: "once" }, y: {} }));
  succeed(world, "z");
  const held = world.claim("a");
  world.cancel(true);
  world.report(held, unknown());
  return world;
}

/** A run that was suspended in this stage. */
function suspendedIn(kind: Stage["kind"]): RunState {
  const stopReason = { reason: "STEP_FAILED", undo: true } as const;
  const stages: Readonly<Record<Stage["kind"], Stage>> = {
    RUNNING: { kind: "RUNNING", leftMs: 1, since: 0 },
    STOPPING: { kind: "STOPPING", stopReason, settleUntil: null },
    COMPENSATING: { kind: "COMPENSATING", stopReason },
    FINISHING: { kind: "FINISHING", end: { kind: "FAILED", reason: "STEP_FAILED" } },
  };
  return { kind: "ESCALATED", from: stages[kind] };
}

describe("the answers that are allowed", () => {
  const forward: readonly EscalationReason[] = [
    "poison",
    "unknown",
    "unverified",
    "expression",
    "step-failed",
    "after-pivot",
    "pickup",
    "expired",
  ];
  const task = { pivoted: false, work: "task" } as const;
  const most: readonly AnswerKind[] = [
    "retry",
    "retry-changed",
    "succeed",
    "skip",
    "compensate",
    "fail",
  ];
  test.each<readonly [Stage["kind"], readonly AnswerKind[]]>([
    ["RUNNING", most],
    ["STOPPING", ["succeed", "fail"]],
    ["COMPENSATING", ["succeed", "fail"]],
    ["FINISHING", ["retry", "retry-changed", "succeed", "skip"]],
  ])("about a step forward, in a run that is %s", (stage, answers) => {
    for (const reason of forward)
      expect(answersNow(reason, { ...task, state: suspendedIn(stage) })).toEqual(answers);
  });

  test("are without undoing once the pivot has succeeded", () => {
    const pivoted = { ...task, state: suspendedIn("RUNNING"), pivoted: true };
    const answers = answersNow("after-pivot", pivoted);
    expect(answers).toEqual(most.filter((one) => one !== "compensate"));
  });

  test("are without trying again where no agent performs the step", () => {
    const noTask = { state: suspendedIn("RUNNING"), pivoted: false, work: "none" } as const;
    expect(answersNow("expired", noTask)).toEqual(["succeed", "skip", "compensate", "fail"]);
    const last = { ...noTask, state: suspendedIn("FINISHING") };
    expect(answersNow("expired", last)).toEqual(["succeed", "skip"]);
  });

  test("about a failed undo are: try again, it is undone, leave it", () => {
    for (const stage of ["COMPENSATING", "FINISHING"] as const) {
      const answers = answersNow("undo-failed", { ...task, state: suspendedIn(stage) });
      expect(answers).toEqual(["retry", "succeed", "fail"]);
    }
  });

  test("about a doubled effect is only that a person has seen it", () => {
    const ended = { kind: "FAILED", reason: "STEP_FAILED" } as const;
    for (const state of [suspendedIn("RUNNING"), ended])
      expect(answersNow("doubled", { ...task, state })).toEqual(["acknowledge"]);
  });

  test("are none once the run has ended", () => {
    const state: RunState = { kind: "FAILED", reason: "STEP_FAILED" };
    for (const reason of [...forward, "undo-failed"] as const)
      expect(answersNow(reason, { ...task, state })).toEqual([]);
  });

  test.each<readonly [string, () => World]>([
    ["a step forward", asked],
    ["a failed undo", undoFailed],
    ["an unknown effect while the run stops", stoppingWithUnknown],
  ])("are the ones that are taken: %s", (_what, make) => {
    for (const kind of ALL) {
      const world = make();
      const { n, step, reason } = lastQuestion(world);
      const { state } = world.run();
      const allowed = answersNow(reason, { ...task, state });
      const before = world.step(step);
      const answered = world.answer(n, kind, "{}");
      if (allowed.includes(kind)) expect([kind, answered]).toEqual([kind, { kind: "done" }]);
      else {
        expect(answered).toMatchObject({ kind: "refused", run: "ESCALATED" });
        expect(answered).toHaveProperty("why", expect.stringContaining(allowed.join(", ")));
        expect(world.step(step)).toEqual(before);
        expect(world.openEscalations()).toContain(step);
      }
    }
  });
});

describe("about a step forward", () => {
  test("retry: it is tried anew, with fresh retries of the same strategy and a fresh total", () => {
    const world = asked();
    world.advance(1_000_000);
    expect(answer(world, "retry")).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", fence: 4, attempt: 1 },
      lost: 0,
      tries: [],
      firstReadyAt: world.now(),
      strategies: [{ planned: 0, changed: false }],
    });
    expect(world.run().state.kind).toBe("RUNNING");
    expect(world.openEscalations()).toEqual([]);
  });

  test("retry of a step with an unknown outcome runs it again, without another verify", () => {
    const world = createWorld(
      workflow({
        a: {
          effects: "verifiable",
          verify: { task: "find", retry: [{ attempts: 1 }] },
        },
      }),
    );
    world.report(world.claim("a"), unknown());
    world.report(world.claim("a"), unknown());
    answer(world, "retry");
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", task: "perform", fence: 2 },
      unknownOutcome: null,
    });
  });

  test("retry-changed: a strategy of its own, whose input the person gives", () => {
    const world = asked();
    expect(answer(world, "retry-changed")).toMatchObject({ kind: "refused" });
    expect(answer(world, "retry-changed", '{"seats":1}')).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "UNDOING" },
      undo: { kind: "BACKOFF", cause: "settle" },
    });
    world.fireNext();
    succeed(world, "a");
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", attempt: 1 },
      strategies: [
        { planned: 0, changed: false, effectStatus: "UNDONE" },
        { planned: 0, changed: true, effectStatus: "NONE" },
      ],
    });
    expect(world.effects).toContainEqual({
      kind: "strategy-started",
      step: 1,
      index: 1,
      planned: 0,
      input: { kind: "json", json: '{"seats":1}' },
    });
    succeed(world, "a");
    expect(kindOf(world, "b")).toBe("READY");
  });

  test("succeed: the person's answer is its output, and what waited for it begins", () => {
    const world = asked();
    const { n } = lastQuestion(world);
    answer(world, "succeed", '{"seat":"12A"}');
    expect(world.step("a")).toMatchObject({
      forward: { kind: "SUCCEEDED" },
      result: { kind: "answer", n },
      strategies: [{ effectStatus: "MADE" }],
    });
    expect(kindOf(world, "b")).toBe("READY");
    world.cancel(true);
    world.fireNext();
    expect(world.step("a").undo.kind).toBe("READY");
  });

  test("skip: it has ended without an output; what waited for it is opened", () => {
    const world = asked();
    answer(world, "skip");
    expect([kindOf(world, "a"), kindOf(world, "b")]).toEqual(["SKIPPED", "SKIPPED"]);
    expect(world.run().state.kind).toBe("COMPLETED");
  });

  test("compensate: it has failed, and all that was done is undone", () => {
    const world = asked();
    answer(world, "compensate");
    expect(world.run().state).toMatchObject({
      kind: "STOPPING",
      stopReason: { reason: "STEP_FAILED", undo: true },
    });
    world.fireNext();
    succeed(world, "a", "z");
    expect(world.run().state).toEqual({ kind: "COMPENSATED", reason: "STEP_FAILED" });
  });

  test("fail: it has failed, and things are left as they are", () => {
    const world = asked();
    answer(world, "fail");
    expect(world.run()).toMatchObject({
      state: { kind: "FAILED", reason: "STEP_FAILED" },
      undone: 0,
    });
    expect(world.effects).toContainEqual(
      expect.objectContaining({ kind: "failed", step: 1, code: "drover.answered" }),
    );
  });

  test("is answered while other steps move as well", () => {
    const world = createWorld(workflow({ a: {}, b: {} }));
    poison(world, "a");
    expect(world.run().state.kind).toBe("RUNNING");
    expect(answer(world, "skip")).toEqual({ kind: "done" });
    succeed(world, "b");
    expect(world.run().state.kind).toBe("COMPLETED");
  });
});

describe("about an unknown effect while the run stops", () => {
  test("succeed: it is there, and as nothing undoes it, it stays", () => {
    const world = stoppingWithUnknown();
    expect(answer(world, "succeed")).toEqual({ kind: "done" });
    expect(kindOf(world, "a")).toBe("SUCCEEDED");
    succeed(world, "z");
    expect(world.run().state.kind).toBe("COMPENSATED");
  });

  test("fail: it is not there, and the undoing begins", () => {
    const world = stoppingWithUnknown();
    expect(answer(world, "fail")).toEqual({ kind: "done" });
    expect(world.step("a")).toMatchObject({
      forward: { kind: "FAILED" },
      strategies: [{ effectStatus: "CLEARED" }],
    });
    expect(world.step("z").undo.kind).toBe("READY");
  });

  test("a cancel that leaves things ends the run without an answer", () => {
    const world = stoppingWithUnknown();
    expect(world.cancel(false)).toEqual({ kind: "done" });
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
    expect(world.openEscalations()).toEqual([]);
  });
});

describe("about a failed undo", () => {
  test("retry: it is tried anew with fresh retries", () => {
    const world = undoFailed();
    expect(answer(world, "retry")).toEqual({ kind: "done" });
    expect(world.run().state.kind).toBe("COMPENSATING");
    expect(world.step("a")).toMatchObject({ undo: { kind: "READY" }, tries: [] });
    succeed(world, "a", "z");
    expect(world.run().state.kind).toBe("COMPENSATED");
  });

  test("succeed: a person has undone it, and the undoing continues", () => {
    const world = undoFailed();
    answer(world, "succeed");
    expect(world.step("a").undo.kind).toBe("DONE");
    expect(world.step("z").undo.kind).toBe("READY");
  });

  test("fail: the effect stays, and the run ends with all that is not undone", () => {
    const world = undoFailed();
    answer(world, "fail");
    expect(world.run().state).toMatchObject({ kind: "FAILED", reason: "CANCELLED_BY_USER" });
    expect(world.openEscalations()).toEqual([]);
    expect(world.step("z").undo.kind).toBe("PENDING");
  });

  test("fail has to wait while other undos move", () => {
    const world = createWorld(
      workflow({ a: { compensate }, b: { compensate }, c: { needs: ["a", "b"] } }),
    );
    succeed(world, "a", "b");
    world.report(world.claim("c"), broken);
    world.report(world.claim("a"), broken);
    expect(world.run().state.kind).toBe("COMPENSATING");
    expect(answer(world, "fail")).toMatchObject({
      kind: "refused",
      why: expect.stringContaining("other undos"),
    });
    expect(world.openEscalations()).toEqual([0]);
    expect(answer(world, "retry")).toEqual({ kind: "done" });
  });
});

describe("an answer", () => {
  test("to a question that was never asked finds none", () => {
    expect(asked().answer(9, "retry")).toEqual({ kind: "no-such-question" });
  });

  test("to a question that was answered is refused, with what closed it", () => {
    const world = asked();
    const { n } = lastQuestion(world);
    world.answer(n, "retry");
    expect(world.answer(n, "skip")).toMatchObject({
      kind: "refused",
      why: 'the escalation is closed: answered "retry" by ada',
    });
    expect(kindOf(world, "a")).toBe("READY");
  });

  test("to a question that a late report closed is refused, with what closed it", () => {
    const world = createWorld(workflow({ a: { effects: "once" }, b: { needs: ["a"] } }));
    const held = lose(world, "a");
    const { n } = lastQuestion(world);
    world.report(held, success());
    expect(world.answer(n, "retry")).toMatchObject({
      kind: "refused",
      why: "the escalation is closed: a late report of the attempt",
    });
  });

  test("to a question that a cancel closed is refused, with what closed it", () => {
    const world = asked();
    const { n } = lastQuestion(world);
    world.cancel(true);
    expect(world.answer(n, "retry")).toMatchObject({
      kind: "refused",
      why: "the escalation is closed: CANCELLED_BY_USER",
    });
  });

  test("comes after the reports of its pass: one of them may have closed the question", () => {
    const world = createWorld(workflow({ a: { effects: "once" }, b: { needs: ["a"] } }));
    const held = lose(world, "a");
    const { n } = lastQuestion(world);
    const [refused, done] = world.pass([
      { kind: "answer", n, answer: "retry", by: "ada", why: "", payload: null },
      world.reportOf(held, success()),
    ]);
    expect(done).toEqual({ kind: "done" });
    expect(refused).toMatchObject({ kind: "refused" });
  });

  test("is recorded with who gave it, and why", () => {
    const world = asked();
    const { n } = lastQuestion(world);
    world.pass([{ kind: "answer", n, answer: "fail", by: "ada", why: "no seats", payload: null }]);
    expect(world.effects).toContainEqual({
      kind: "escalation-answered",
      step: 1,
      n,
      answer: "fail",
      by: "ada",
      verified: false,
      why: "no seats",
    });
    expect(world.effects).toContainEqual(
      expect.objectContaining({
        kind: "attempt-stored",
        attempt: expect.objectContaining({
          kind: "engine",
          outcome: expect.objectContaining({ message: "ada decided so: no seats" }),
        }),
      }),
    );
  });

  test("that does not help is followed by a question of its own number", () => {
    const world = createWorld(workflow({ a: { effects: "once" } }));
    lose(world, "a");
    const first = lastQuestion(world).n;
    answer(world, "retry");
    world.fireNext();
    world.report(world.claim("a"), unknown());
    expect(lastQuestion(world).n).toBe(first + 1);
  });
});

test("a run waits for a person only while nothing else can move, and for its verifies too", () => {
  const world = createWorld(
    workflow({ a: { effects: "once" }, b: { effects: "verifiable", verify: { task: "find" } } }),
  );
  lose(world, "a");
  world.report(world.claim("b"), unknown());
  expect(world.run().state.kind).toBe("RUNNING");
  world.report(world.claim("b"), nothingThere);
  world.fireNext();
  succeed(world, "b");
  expect(world.run().state.kind).toBe("ESCALATED");
});
