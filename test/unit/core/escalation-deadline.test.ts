/** An escalation without an answer: people are reminded, and its deadline answers in the end. */
import { describe, expect, test } from "vitest";
import type { EscalationDefinition } from "../../../server/core/definition/definition.ts";
import { broken } from "../../support/core-outcomes.ts";
import { createWorld, lastQuestion, workflow } from "../../support/core-world.ts";

const HOUR = 3_600_000;

function asking(escalation: EscalationDefinition = {}, more = {}) {
  const world = createWorld(workflow({ a: { onFailure: "escalate", escalation, ...more }, b: {} }));
  world.report(world.claim("a"), broken);
  const asked = lastQuestion(world);
  /** The timer of the question, so long after it was asked. */
  const later = (ms: number) => {
    world.advance(Math.max(0, askedAt + ms - world.now()));
    return world.pass([{ kind: "escalation-timer", n: asked.n }]);
  };
  const askedAt = world.now();
  const reminders = () => world.effects.filter((effect) => effect.kind === "escalation-reminded");
  return { world, asked, askedAt, later, reminders };
}

describe("a reminder", () => {
  test("comes every hour, unless the step sets it otherwise", () => {
    const { asked, askedAt } = asking();
    expect(asked).toMatchObject({ wakeAt: askedAt + HOUR, deadlineAt: null });
    const other = asking({ remindMs: 2 * HOUR });
    expect(other.asked.wakeAt).toBe(other.askedAt + 2 * HOUR);
  });

  test("is sent, and the next one follows", () => {
    const { world, later, askedAt, reminders } = asking();
    const before = world.run().version;
    later(HOUR);
    expect(reminders()).toMatchObject([{ n: 1, tell: true, wakeAt: askedAt + 2 * HOUR }]);
    expect(lastQuestion(world).wakeAt).toBe(askedAt + 2 * HOUR);
    expect(world.run().version).toBe(before);
  });

  test("that comes too early changes nothing", () => {
    const { later, reminders } = asking();
    later(HOUR - 1);
    expect(reminders()).toEqual([]);
  });

  test("comes no more once the question is answered", () => {
    const { world, later, reminders } = asking();
    world.pass([{ kind: "answer", n: 1, answer: "skip", by: "ada", why: "", payload: null }]);
    later(HOUR);
    expect(reminders()).toEqual([]);
  });
});

describe("a deadline", () => {
  const skip = { deadlineMs: HOUR / 2, answer: "skip" } as const;

  test("is the time of the question when it comes before the reminder", () => {
    const { asked, askedAt } = asking(skip);
    expect(asked).toMatchObject({ wakeAt: askedAt + HOUR / 2, deadlineAt: askedAt + HOUR / 2 });
  });

  test("answers as a person would, and is recorded as the deadline", () => {
    const { world, later } = asking(skip);
    expect(later(HOUR / 2)).toEqual([{ kind: "done" }]);
    expect(world.step("a").forward.kind).toBe("SKIPPED");
    expect(world.escalations()).toMatchObject([{ closedBy: 'answered "skip" by deadline' }]);
    expect(world.effects).toContainEqual({
      kind: "escalation-answered",
      step: 0,
      n: 1,
      answer: "skip",
      by: "deadline",
      verified: false,
      why: "no person answered within 30 min",
    });
  });

  test.each([
    ["retry", "READY", "RUNNING"],
    ["fail", "FAILED", "FAILED"],
  ] as const)("that answers %s leaves the step %s and the run %s", (answer, step, run) => {
    const { world, later } = asking({ deadlineMs: HOUR, answer });
    world.report(world.claim("b"), { kind: "success", output: null });
    later(HOUR);
    expect({ step: world.step("a").forward.kind, run: world.run().state.kind }).toEqual({
      step,
      run,
    });
  });

  test("begins anew when the retry that it gave asks again", () => {
    const { world, later, askedAt } = asking({ deadlineMs: HOUR, answer: "retry" });
    later(HOUR);
    world.report(world.claim("a"), broken);
    expect(lastQuestion(world)).toMatchObject({ n: 2, deadlineAt: askedAt + 2 * HOUR });
  });

  test("comes after the reminders before it", () => {
    const { world, later, askedAt } = asking({ deadlineMs: 90 * 60_000, answer: "fail" });
    later(HOUR);
    expect(lastQuestion(world).wakeAt).toBe(askedAt + 90 * 60_000);
  });

  test("whose answer is not allowed at the time is tried again with each reminder", () => {
    const world = createWorld(
      workflow({ a: { compensate: { task: "undo" }, escalation: skip }, b: { needs: ["a"] } }),
    );
    world.report(world.claim("a"), { kind: "success", output: null });
    world.report(world.claim("b"), broken);
    world.report(world.claim("a"), broken);
    const { n, wakeAt } = lastQuestion(world);
    world.advance((wakeAt ?? 0) - world.now());
    world.pass([{ kind: "escalation-timer", n }]);
    expect(lastQuestion(world)).toMatchObject({ n, reason: "undo-failed", closedBy: null });
    expect(lastQuestion(world).wakeAt).toBe(world.now() + HOUR);
  });
});
