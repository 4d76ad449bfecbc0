/** Times that a definition gives and that another of its times would cut off. */
import { describe, expect, test } from "vitest";
import type { StepDefinition, Timeouts } from "../../../server/core/definition/definition.ts";
import { definitionProblems } from "../../../server/core/definition/definition-check.ts";
import { planOf } from "../../../server/core/plan/plan.ts";
import { deferred } from "../../support/core-outcomes.ts";
import { createWorld, workflow } from "../../support/core-world.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function problems(step: object, timeoutMs?: number): readonly string[] {
  const task = { id: "a", needs: [], task: "book", ...step } as StepDefinition;
  const definition = { workflow: "w", ...(timeoutMs ? { timeoutMs } : {}), steps: [task] };
  return definitionProblems(definition).map(({ path, message }) => `${path}: ${message}`);
}

const timeouts = (given: Partial<Timeouts>): Pick<StepDefinition, "timeouts"> => ({
  timeouts: given,
});

describe("all tries of a step may take", () => {
  const totalOf = (given: Partial<Timeouts>) =>
    planOf(workflow({ a: { timeouts: given } })).steps[0]?.timeouts.totalMs;

  test.each<[string, Partial<Timeouts>, number]>([
    ["a day", {}, DAY],
    ["a day where one try takes less", { attemptMs: HOUR, callbackMs: 2 * HOUR }, DAY],
    ["as long as one try, with its callback", { callbackMs: 2 * DAY }, 2 * DAY + HOUR / 4],
    ["as long as one try, with its queue", { pickupMs: DAY, attemptMs: 2 * DAY }, 3 * DAY],
    ["what the step sets", { callbackMs: HOUR, totalMs: 2 * HOUR }, 2 * HOUR],
  ])("%s", (_, given, ms) => {
    expect(totalOf(given)).toBe(ms);
    expect(problems(timeouts(given))).toEqual([]);
  });

  test("a callback of two days is waited for so long, from when it was deferred", () => {
    const world = createWorld(workflow({ a: { timeouts: { callbackMs: 2 * DAY } } }));
    world.advance(60_000);
    world.report(world.claim("a"), deferred);
    expect(world.step("a").forward).toMatchObject({ wakeAt: world.now() + 2 * DAY });
  });
});

describe("is refused", () => {
  test.each<[string, object, string]>([
    [
      "a callback that is longer than total",
      timeouts({ callbackMs: 2 * DAY, totalMs: DAY }),
      'steps[0].timeouts.callback: step "a" allows 2d for its callback, and all its tries together may take 1d: give it a longer timeouts.total, or a shorter timeouts.callback',
    ],
    [
      "an attempt that is longer than total",
      timeouts({ attemptMs: 90_000, totalMs: 60_000 }),
      'steps[0].timeouts.attempt: step "a" allows 1m30s for its attempt, and all its tries together may take 1m: give it a longer timeouts.total, or a shorter timeouts.attempt',
    ],
    [
      "a pickup that is longer than total",
      timeouts({ pickupMs: 2 * HOUR, totalMs: HOUR }),
      'steps[0].timeouts.pickup: step "a" allows 2h for its pickup, and all its tries together may take 1h: give it a longer timeouts.total, or a shorter timeouts.pickup',
    ],
    [
      "a wait before the second try that is longer than the total by default",
      { retry: [{ attempts: 2, initialMs: 2 * DAY }] },
      'steps[0].retry[0].initial: step "a" waits 2d before it is tried again, and all its tries together may take 1d, the default of timeouts.total: give it a longer timeouts.total, or a shorter retry[0].initial',
    ],
    [
      "a wait that is longer than its run by default",
      { kind: "wait", forMs: 10 * DAY },
      'steps[0].wait.for: step "a" waits 10d, and its run may take 7d, the default of timeout: give the workflow a longer timeout, or the step a shorter wait.for',
    ],
    [
      "a total that is longer than its run by default",
      timeouts({ totalMs: 30 * DAY }),
      'steps[0].timeouts.total: step "a" allows 30d for all its tries, and its run may take 7d, the default of timeout: give the workflow a longer timeout, or the step a shorter timeouts.total',
    ],
  ])("%s", (_, step, problem) => {
    expect(problems(step)).toEqual([problem]);
  });

  test.each<[string, object, string]>([
    ["a wait", { kind: "wait", forMs: 2 * HOUR }, "wait.for"],
    ["a signal", { kind: "signal", name: "go", withinMs: 2 * HOUR }, "signal.within"],
    ["an approval", { kind: "approval", approvers: [], withinMs: 2 * HOUR }, "approval.within"],
  ])("%s that is longer than the timeout of its workflow", (_, step, path) => {
    expect(problems(step, HOUR)).toEqual([
      expect.stringMatching(
        new RegExp(`^steps\\[0\\]\\.${path}: .* 2h.*, and its run may take 1h:`),
      ),
    ]);
    expect(problems(step, 2 * HOUR)).toEqual([]);
  });
});

describe("is longer than the week that a run may take by default, and refused", () => {
  test.each<[string, object, string]>([
    ["an attempt", timeouts({ attemptMs: 8 * DAY }), "timeouts.attempt"],
    ["a callback", timeouts({ callbackMs: 8 * DAY }), "timeouts.callback"],
    [
      "the total of a child run",
      { kind: "run", workflow: "x", ...timeouts({ totalMs: 8 * DAY }) },
      "timeouts.total",
    ],
    [
      "an item of a map",
      { kind: "map", over: "[1]", ...timeouts({ totalMs: 8 * DAY }) },
      "timeouts.total",
    ],
  ])("%s", (_, step, path) => {
    expect(problems(step)).toEqual([
      expect.stringMatching(
        new RegExp(`^steps\\[0\\]\\.${path}: .* 8d for .* default of timeout:`),
      ),
    ]);
    // Beside a timeout that is given, it is what its author wants.
    expect(problems(step, DAY)).toEqual([]);
  });
});

describe("has no deadline of a run above it", () => {
  const wait = { kind: "wait", forMs: 10 * DAY } as const;

  test("a step that runs last", () => {
    expect(problems({ ...wait, always: true })).toEqual([]);
  });

  test("a step of a workflow with a pivot, after which it has none", () => {
    const definition = workflow({ p: { pivot: true }, a: { ...wait, needs: ["p"] } });
    expect(definitionProblems(definition)).toEqual([]);
  });
});
