/**
 * G19: a strategy is left only when its effect is settled, so that a run never completes with two
 * effects of one step: it is verified, or undone under its own key, or a person decides.
 */
import { describe, expect, test } from "vitest";
import { type Evaluator, NO_EXPRESSIONS } from "../../../server/core/model/evaluator.ts";
import { expectOneEffect } from "../../property/effects.ts";
import {
  again,
  broken,
  cancelled,
  failure,
  nothingThere,
  type ReportedOutcome,
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

const compensate = { task: "cancel-hotel", retry: [{ attempts: 2, initialMs: 1_000 }] };
const attempted = { ...compensate, when: "attempted" } as const;
const retry = [{ attempts: 1 }];
const fallback = [{ task: "book-plaza" }];
const verifiable: TaskOptions = { effects: "verifiable", verify: { task: "find", retry } };

/** A hotel step with two strategies; a payment follows it. */
function holiday(more: TaskOptions, evaluator = NO_EXPRESSIONS): World {
  const hotel = { task: "book-ritz", retry, fallback, ...more };
  return createWorld(workflow({ hotel, pay: { needs: ["hotel"] } }), evaluator);
}

function reported(more: TaskOptions, outcome: ReportedOutcome): World {
  const world = holiday(more);
  world.report(world.claim("hotel"), outcome);
  return world;
}

const hotel = (world: World) => world.step("hotel");
const effectStatuses = (world: World) =>
  hotel(world).strategies.map(({ effectStatus }) => effectStatus);
const UNDOING = { forward: { kind: "UNDOING" }, undo: { kind: "READY", task: "compensate" } };

/** The next strategy of the hotel is in its queue, and the one before has left no effect. */
function expectNextWay(world: World): void {
  expect(hotel(world)).toMatchObject({
    forward: { kind: "READY", task: "perform", attempt: 1 },
    undo: { kind: "NONE" },
    unknownOutcome: null,
  });
}

function expectOneBooking(world: World): void {
  succeed(world, "hotel", "pay");
  expect(world.run().state).toEqual({ kind: "COMPLETED", reason: "DONE" });
  expectOneEffect(world);
}

describe("a strategy that may have an effect is undone before the next one begins", () => {
  test.each([
    ["its outcome is unknown", { compensate }, unknown()],
    ["its agent stopped with an unknown outcome", { compensate }, cancelled()],
    ["it failed, and what is half-made counts", { compensate: attempted }, broken],
    [
      "it runs a step that may run once, and half-made counts",
      { effects: "once", compensate: attempted },
      broken,
    ],
  ] as const)("where %s", (_why, more, outcome) => {
    const world = reported(more, outcome);
    expect(hotel(world)).toMatchObject(UNDOING);
    succeed(world, "hotel");
    expectNextWay(world);
    expectOneBooking(world);
    expect(effectStatuses(world)).toEqual(["UNDONE", "MADE"]);
  });

  test("where its output breaks the schema: it did take effect", () => {
    const outputProblem: Evaluator["outputProblem"] = (_no, output) =>
      output?.kind === "json" && output.json === "1" ? "it is no room" : null;
    const world = holiday({ compensate }, { ...NO_EXPRESSIONS, outputProblem });
    world.report(world.claim("hotel"), success("1"));
    expect(hotel(world)).toMatchObject(UNDOING);
    succeed(world, "hotel");
    expectOneBooking(world);
  });

  test("where an earlier attempt is unknown and the last one failed", () => {
    const world = holiday({ compensate, retry: [{ attempts: 2, initialMs: 1_000 }] });
    world.report(world.claim("hotel"), unknown());
    world.fireNext();
    world.report(world.claim("hotel"), broken);
    expect(hotel(world)).toMatchObject(UNDOING);
  });

  test("where its agent asked to be asked again, and then failed", () => {
    const world = holiday({ effects: "once", compensate });
    world.report(world.claim("hotel"), again());
    world.fireNext();
    world.report(world.claim("hotel"), broken);
    expect(hotel(world)).toMatchObject(UNDOING);
  });

  test("where no agent picks up what an earlier attempt may have done", () => {
    const world = holiday({
      compensate,
      onPickup: "fallback",
      retry: [{ attempts: 2, initialMs: 1_000 }],
      timeouts: { pickupMs: 1_000 },
    });
    world.report(world.claim("hotel"), unknown());
    world.fireNext();
    world.fireNext({ polled: false });
    expect(hotel(world)).toMatchObject(UNDOING);
  });

  test("not before a lost attempt can act no more", () => {
    const timeouts = { heartbeatMs: 2_000, settleMs: 60_000 };
    const world = holiday({ compensate, timeouts, retry: [] });
    const at = world.now();
    lose(world, "hotel", "s1");
    world.report(world.claim("hotel", "s2"), broken);
    expect(hotel(world).undo).toMatchObject({ kind: "BACKOFF", cause: "settle" });
    world.fireNext();
    expect(hotel(world)).toMatchObject(UNDOING);
    expect(world.now()).toBeGreaterThanOrEqual(at + 2_000 + 60_000);
  });

  test("with a fence of its own, so that the strategy can report no more", () => {
    const world = holiday({ compensate });
    const ritz = world.claim("hotel");
    world.report(ritz, unknown());
    expect(world.claim("hotel")).toMatchObject({ task: "compensate", fence: 2 });
    expect(world.report(ritz, success())).toMatchObject({ kind: "lease-lost" });
  });
});

describe("a strategy is left at once", () => {
  test.each([
    [
      "where its agent reports that nothing is there",
      { compensate: attempted },
      failure("full", { permanent: true, noEffect: true }),
    ],
    ["where it failed, and only what is finished is undone", { compensate }, broken],
    ["where the step is idempotent and has nothing that undoes it", {}, unknown()],
  ] as const)("%s", (_why, more, outcome) => {
    const world = reported(more, outcome);
    expectNextWay(world);
    expect(world.escalations()).toEqual([]);
  });

  test("where the run stops, which undoes all effects at its end", () => {
    const world = reported({ compensate, fallback: [] }, unknown());
    expect(world.run().state.kind).toBe("COMPENSATING");
  });
});

describe("a step with a verify", () => {
  const half: TaskOptions = { ...verifiable, compensate: attempted };

  test("is verified before it leaves a strategy that failed half-way", () => {
    const world = reported(half, broken);
    expect(hotel(world).forward).toMatchObject({ kind: "READY", task: "verify" });
    world.report(world.claim("hotel"), nothingThere);
    expectNextWay(world);
    expect(effectStatuses(world)).toEqual(["CLEARED", "NONE"]);
  });

  test("has succeeded where the effect is found", () => {
    const world = reported(half, broken);
    expectOneBooking(world);
    expect(effectStatuses(world)).toEqual(["MADE"]);
  });

  test("undoes the strategy where no verify finds out", () => {
    const world = reported({ ...verifiable, compensate }, unknown());
    world.report(world.claim("hotel"), unknown());
    expect(hotel(world)).toMatchObject(UNDOING);
    succeed(world, "hotel");
    expectOneBooking(world);
  });

  test("asks a person where no verify finds out and nothing undoes it", () => {
    const world = reported(verifiable, unknown());
    world.report(world.claim("hotel"), unknown());
    expect(lastQuestion(world)).toMatchObject({ reason: "unverified" });
  });

  test("asks a person before it books beside an effect that nothing undoes", () => {
    const outputProblem = () => "no room number";
    const world = holiday(verifiable, { ...NO_EXPRESSIONS, outputProblem });
    world.report(world.claim("hotel"), success());
    expect(lastQuestion(world)).toMatchObject({ reason: "step-failed", code: "drover.schema" });
    expect(hotel(world).strategies).toHaveLength(1);
  });
});

describe("a step whose failure is continued", () => {
  const continued: TaskOptions = { compensate, fallback: [], onFailure: "continue" };

  test("is undone before the run continues", () => {
    const world = reported(continued, unknown());
    expect(hotel(world)).toMatchObject(UNDOING);
    expect(world.step("pay").forward.kind).toBe("BLOCKED");
    succeed(world, "hotel", "pay");
    expect(hotel(world)).toMatchObject({ forward: { kind: "FAILED" }, undo: { kind: "NONE" } });
    expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1 });
    expectOneEffect(world);
  });

  test("is undone also where its total time is over", () => {
    const world = holiday({ ...continued, fallback, timeouts: { totalMs: 5_000 } });
    const held = world.claim("hotel");
    world.advance(5_000);
    world.report(held, unknown());
    expect(hotel(world)).toMatchObject({ ...UNDOING, strategies: [{ planned: 0 }] });
    succeed(world, "hotel", "pay");
    expect(world.run().state.kind).toBe("COMPLETED");
  });
});

test("an item of a map that failed is undone, whatever becomes of its map", () => {
  const map = { kind: "map", task: "book", over: "2", tolerate: 1, retry, compensate } as const;
  const world = createWorld(workflow({ a: map }));
  world.report(world.claim("a[0]"), unknown());
  expect(world.step("a[0]")).toMatchObject(UNDOING);
  succeed(world, "a[0]", "a[1]");
  world.fire("a");
  expect(world.run()).toMatchObject({ state: { kind: "COMPLETED" }, warnings: 1 });
  expectOneEffect(world);
});

test("a child run that may have left something is undone before the next one begins", () => {
  const child = { kind: "run", workflow: "ritz", fallback: [{ workflow: "plaza" }] } as const;
  const world = createWorld(workflow({ a: { ...child, compensate: attempted } }));
  const end = { kind: "FAILED", reason: "STEP_FAILED" } as const;
  const ended = { runId: "child 1", end, createdAt: START, why: "", output: null };
  world.pass([world.messagesEvent({ kind: "child-ended", step: 0, fence: 1, child: ended })]);
  expect(world.step("a")).toMatchObject(UNDOING);
  succeed(world, "a");
  expect(world.step("a").forward).toMatchObject({ kind: "WAITING", on: "child" });
});

describe("a late report of the strategy that is undone", () => {
  function undoing(): { world: World; held: ReturnType<World["claim"]> } {
    const world = holiday({ compensate });
    const held = world.claim("hotel");
    world.report(held, unknown());
    return { world, held };
  }

  test("a success makes the undo needless while no agent has it", () => {
    const { world, held } = undoing();
    expect(world.report(held, success())).toEqual({ kind: "done" });
    expect(hotel(world)).toMatchObject({ forward: { kind: "SUCCEEDED" }, undo: { kind: "NONE" } });
    succeed(world, "pay");
    expect(world.run().state.kind).toBe("COMPLETED");
    expectOneEffect(world);
  });

  test("a failure makes it needless too, and the next strategy begins", () => {
    const { world, held } = undoing();
    expect(world.report(held, broken)).toEqual({ kind: "done" });
    expectNextWay(world);
    expectOneBooking(world);
  });

  test("a failure after the total time: tried again, the strategy counts on from that attempt", () => {
    const world = holiday({ compensate, onFailure: "escalate", timeouts: { totalMs: 60_000 } });
    const held = world.claim("hotel");
    world.report(held, unknown());
    world.advance(60_000);
    expect(world.report(held, failure("busy", { noEffect: true }))).toEqual({ kind: "done" });
    expect(lastQuestion(world)).toMatchObject({ reason: "step-failed", code: "drover.total" });
    world.answer(lastQuestion(world).n, "retry");
    expect(hotel(world).strategies).toHaveLength(1);
    expect(hotel(world).forward).toMatchObject({ kind: "READY", task: "perform", attempt: 2 });
  });
});

test("a late report that it did take effect, though its agent had reported otherwise, is undone", () => {
  const outputProblem: Evaluator["outputProblem"] = () => "it is no room";
  const world = holiday({ compensate }, { ...NO_EXPRESSIONS, outputProblem });
  const held = world.claim("hotel");
  world.report(held, cancelled({ noEffect: true }));
  expectNextWay(world);
  world.report(held, success());
  expect(hotel(world)).toMatchObject({ ...UNDOING, strategies: [{ effectStatus: "MADE" }, {}] });
  succeed(world, "hotel");
  expectNextWay(world);
});

test("a late failure of the strategy before closes what the next one asks, and is undone", () => {
  const input: Evaluator["input"] = (_no, planned) =>
    planned === 1 ? { kind: "failed", message: "no such key" } : { kind: "value", value: null };
  const more = { ...verifiable, compensate: attempted };
  const world = holiday(more, { ...NO_EXPRESSIONS, input });
  const held = world.claim("hotel");
  world.report(held, unknown());
  world.report(world.claim("hotel"), nothingThere);
  expect(lastQuestion(world)).toMatchObject({ reason: "expression" });
  world.report(held, failure("busy"));
  expect(world.openEscalations()).toEqual([]);
  expect(hotel(world)).toMatchObject(UNDOING);
  expect(world.run().state.kind).toBe("RUNNING");
});

describe("an undo that cannot be done", () => {
  function givenUp(more: TaskOptions = {}): World {
    const world = reported({ compensate, ...more }, unknown());
    world.report(world.claim("hotel"), broken);
    return world;
  }

  test("asks a person, and nothing else is tried meanwhile", () => {
    const world = givenUp();
    expect(lastQuestion(world)).toMatchObject({ reason: "undo-failed", code: "broken" });
    expect(hotel(world)).toMatchObject({ forward: { kind: "UNDOING" }, undo: { kind: "FAILED" } });
    expect(world.run().state).toMatchObject({ kind: "ESCALATED", from: { kind: "RUNNING" } });
  });

  test("is retried by the policies of the undo first", () => {
    const world = reported({ compensate }, unknown());
    world.report(world.claim("hotel"), failure("busy"));
    expect(hotel(world).undo).toMatchObject({ kind: "BACKOFF", task: "compensate" });
    world.fireNext();
    succeed(world, "hotel");
    expectNextWay(world);
  });

  test("is tried again where the person answers retry", () => {
    const world = givenUp();
    world.answer(lastQuestion(world).n, "retry");
    expect(hotel(world)).toMatchObject(UNDOING);
    succeed(world, "hotel");
    expectOneBooking(world);
  });

  test("is done where the person answers so", () => {
    const world = givenUp();
    world.answer(lastQuestion(world).n, "succeed");
    expectNextWay(world);
  });

  test("fails the step where the person answers so: undone with the run, or left", () => {
    const undone = givenUp();
    undone.answer(lastQuestion(undone).n, "compensate");
    expect(hotel(undone)).toMatchObject({ forward: { kind: "FAILED" }, undo: { kind: "READY" } });
    const left = givenUp();
    left.answer(lastQuestion(left).n, "fail");
    expect(left.run().state).toEqual({ kind: "FAILED", reason: "STEP_FAILED" });
  });

  test("asks a person also where it is lost three times in a row", () => {
    const world = reported({ compensate }, unknown());
    poison(world, "hotel");
    expect(lastQuestion(world)).toMatchObject({ reason: "undo-failed" });
  });
});

describe("a run that stops while a strategy is undone", () => {
  test("undoes what is left at its end, with all else", () => {
    const world = reported({ compensate }, unknown());
    world.cancel(true);
    expect(hotel(world)).toMatchObject({ forward: { kind: "CANCELLED" }, undo: { kind: "READY" } });
    succeed(world, "hotel");
    expect(world.run().state).toEqual({ kind: "COMPENSATED", reason: "CANCELLED_BY_USER" });
  });

  test("lets an undo that is out end, and does not undo the same again", () => {
    const world = reported({ compensate }, unknown());
    const held = world.claim("hotel");
    world.cancel(true);
    expect(world.run().state.kind).toBe("STOPPING");
    world.report(held, success());
    expect(effectStatuses(world)).toEqual(["UNDONE"]);
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
  });

  test("leaves it as it is where the cancel asks for that", () => {
    const world = reported({ compensate }, unknown());
    world.cancel(false);
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "CANCELLED_BY_USER" });
    expect(hotel(world)).toMatchObject({
      undo: { kind: "NONE" },
      strategies: [{ effectStatus: "UNSETTLED" }],
    });
  });
});

test("a pause holds the undo, and a resume lets it continue", () => {
  const world = reported({ compensate }, unknown());
  world.pause();
  expect(hotel(world).undo).toEqual({ kind: "HELD", task: "compensate" });
  world.resume();
  succeed(world, "hotel");
  expectOneBooking(world);
});

test("a strategy that was undone is tried again as another one, whose key is new", () => {
  const world = reported(
    { compensate, onFailure: "escalate", timeouts: { totalMs: 5_000 } },
    unknown(),
  );
  world.advance(5_000);
  succeed(world, "hotel");
  expect(lastQuestion(world)).toMatchObject({ reason: "step-failed", code: "drover.total" });
  world.answer(lastQuestion(world).n, "retry");
  expectNextWay(world);
  expect(hotel(world).strategies).toMatchObject([
    { planned: 0, effectStatus: "UNDONE" },
    { planned: 0, effectStatus: "NONE" },
  ]);
});

test("a person who gives another input has what the last one left undone first", () => {
  const world = reported({ effects: "once", compensate, fallback: [] }, unknown());
  world.answer(lastQuestion(world).n, "retry-changed", '{"room":1}');
  expect(hotel(world)).toMatchObject({ ...UNDOING, strategies: [{}, { changed: true }] });
  expect(world.now()).toBe(START);
  succeed(world, "hotel");
  expectNextWay(world);
});
