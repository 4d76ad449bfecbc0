/** Signals that no step has taken: which step takes them later, or that none does. */
import { describe, expect, test } from "vitest";
import { type SeenSignal, untakenSignals } from "../../../server/core/explain/untaken-signals.ts";
import { broken } from "../../support/core-outcomes.ts";
import { createWorld, START, succeed, type World, workflow } from "../../support/core-world.ts";

const signal = (name: string) => ({ kind: "signal", name }) as const;

const MINUTES_4 = 240_000;

function sentencesOf(world: World, ...signals: readonly Partial<SeenSignal>[]) {
  const sent = signals.map((one) => ({
    id: "s1",
    name: "go",
    at: START,
    takenBy: null,
    ...one,
  }));
  const { run, steps } = world.view();
  const seen = { state: run.state, steps, signals: sent };
  return untakenSignals(world.plan, seen, START + MINUTES_4).map(({ sentence }) => sentence);
}

describe("a signal that no step has taken", () => {
  const ordered = () => workflow({ a: {}, b: { ...signal("go"), needs: ["a"] } });

  test("is listed with the step that takes it later, also before the run has started", () => {
    const sentence =
      'The signal "go" came 4 min ago, and "b" takes it as soon as it waits for one.';
    expect(sentencesOf(createWorld(ordered()), {})).toEqual([sentence]);
    const pending = createWorld(ordered(), undefined, { startAt: START + 600_000 });
    expect(sentencesOf(pending, {})).toEqual([sentence]);
  });

  test("stays untaken where all steps that could take it have ended, or never begin", () => {
    const sentence = 'The signal "go" came 4 min ago, and no step takes it any more.';
    const taken = createWorld(ordered());
    succeed(taken, "a");
    taken.signal("go");
    expect(sentencesOf(taken, {})).toEqual([sentence]);
    const failed = createWorld(ordered());
    failed.report(failed.claim("a"), broken);
    expect(sentencesOf(failed, {})).toEqual([sentence]);
  });

  test("of a name that no step takes is listed with the name that was meant", () => {
    const world = createWorld(workflow({ a: signal("payment") }));
    expect(sentencesOf(world, { name: "payments" }, { name: "weather" })).toEqual([
      'The signal "payments" came 4 min ago, and no step takes a signal of this name (its sender may have meant "payment").',
      'The signal "weather" came 4 min ago, and no step takes a signal of this name.',
    ]);
  });

  test("is one of the newest ten, in the order in which they came", () => {
    const many = Array.from({ length: 12 }, (_, n) => ({ name: `go${n}` }));
    const sentences = sentencesOf(createWorld(ordered()), ...many);
    expect(sentences).toHaveLength(10);
    expect([sentences[0], sentences[9]].map((one) => one?.split('"')[1])).toEqual(["go2", "go11"]);
  });
});

test("one that a step has taken is not listed", () => {
  const world = createWorld(workflow({ a: signal("go") }));
  expect(sentencesOf(world, { takenBy: 0 })).toEqual([]);
});
