/** A run that is to start later is PENDING until then, and nothing of it begins before. */
import { describe, expect, test } from "vitest";
import { evaluatorOf } from "../../property/random-run.ts";
import { success } from "../../support/core-outcomes.ts";
import {
  createWorld,
  START,
  type StepOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const IN_A_MINUTE = { startAt: START + 60_000 };

function pending(
  steps: Readonly<Record<string, StepOptions>> = { a: {}, b: { needs: ["a"] } },
): World {
  const definition = workflow(steps, { timeoutMs: 10_000 });
  return createWorld(definition, evaluatorOf(definition), IN_A_MINUTE);
}

describe("a run that is to start later", () => {
  test("is PENDING, and nothing of it is in a queue", () => {
    const world = pending();
    expect(world.run().state).toEqual({ kind: "PENDING", on: "start", until: START + 60_000 });
    expect(world.nextTimer()).toEqual({ at: START + 60_000, step: null });
    expect(world.tryClaim("a")).toBeUndefined();
  });

  test("begins at its start time and not before, and its timeout counts from then", () => {
    const world = pending();
    world.fireRun();
    expect(world.run().state.kind).toBe("PENDING");
    world.advance(61_000);
    world.fireRun();
    expect(world.run().state).toEqual({ kind: "RUNNING", deadline: START + 71_000 });
    expect(world.interventions("start")).toMatchObject([{ dueAt: START + 60_000 }]);
    world.report(world.claim("a"), success());
    world.report(world.claim("b"), success());
    expect(world.run().state).toEqual({ kind: "COMPLETED", reason: "DONE" });
  });

  test("begins at once where its start time has passed", () => {
    const world = createWorld(workflow({ a: {} }), evaluatorOf(workflow({ a: {} })), {
      startAt: START - 1,
    });
    expect(world.run().state.kind).toBe("RUNNING");
  });

  test("may end in the pass in which it begins", () => {
    const world = pending({ a: { when: "false" } });
    world.fireNext();
    expect(world.run().state).toEqual({ kind: "COMPLETED", reason: "DONE" });
  });

  test("keeps signals that come before it begins", () => {
    const world = pending({ a: { kind: "signal", name: "go" } });
    expect(world.signal("go")).toEqual({ kind: "done" });
    expect(world.run().state.kind).toBe("PENDING");
    world.fireNext();
    expect(world.run().state.kind).toBe("COMPLETED");
  });
});

describe("a cancel of a run that has not started", () => {
  test.each([true, false])("ends it at once, with nothing to undo (undo: %s)", (undo) => {
    const world = pending({ a: {}, last: { always: true } });
    expect(world.cancel(undo)).toEqual({ kind: "done" });
    expect(world.run().state).toEqual({ kind: "CANCELLED", reason: "NEVER_STARTED" });
    expect(world.cancel(undo)).toEqual({ kind: "done" });
  });

  test("leaves nothing that its timer could begin", () => {
    const world = pending();
    world.cancel(true);
    world.advance(60_000);
    world.fireRun();
    expect(world.run().state.kind).toBe("CANCELLED");
  });
});

test("a run that has not started cannot be paused, and there is nothing to resume", () => {
  const world = pending();
  expect(world.pause()).toMatchObject({ kind: "refused", run: "PENDING" });
  expect(world.resume()).toEqual({ kind: "done" });
  expect(world.run().state.kind).toBe("PENDING");
});
