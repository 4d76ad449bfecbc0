/** No agent polls for a ready task: an alarm, and what `on_pickup` asks for besides. */
import { expect, test } from "vitest";
import { again, nothingThere, success } from "../../support/core-outcomes.ts";
import {
  createWorld,
  lastQuestion,
  succeed,
  type TaskOptions,
  type World,
  workflow,
} from "../../support/core-world.ts";

const PICKUP_MS = 60_000;
const timeouts = { pickupMs: PICKUP_MS };
const compensate = { task: "undo", timeouts };

function unpicked(more: TaskOptions, polled = false): World {
  const world = createWorld(workflow({ a: { timeouts, ...more } }));
  world.fireNext({ polled });
  return world;
}

test("alarm, the default, leaves the task where it is", () => {
  const world = unpicked({});
  expect(world.step("a").forward).toMatchObject({ kind: "READY", alarms: 1 });
  expect(world.openEscalations()).toEqual([]);
});

test("escalate asks a person, who starts an agent and answers retry", () => {
  const world = unpicked({ onPickup: "escalate" });
  expect(world.step("a").forward.kind).toBe("ESCALATED");
  const { n, reason } = lastQuestion(world);
  expect(reason).toBe("pickup");
  expect(world.interventions("pickup")).toMatchObject([{ did: "asked a person" }]);
  world.answer(n, "retry");
  expect(world.step("a").forward).toMatchObject({ kind: "READY", alarms: 0 });
  succeed(world, "a");
  expect(world.run().state.kind).toBe("COMPLETED");
});

test("a task that is for agents of one version names it", () => {
  const world = createWorld(workflow({ a: { timeouts, onPickup: "escalate" } }));
  world.fireNext({ polled: false, agentVersion: "2.1" });
  expect(world.interventions("pickup")).toMatchObject([
    { saw: expect.stringContaining('no agent of version "2.1" polls queue "default"') },
  ]);
  const asked = world.effects.findLast(({ kind }) => kind === "escalated");
  expect(asked).toMatchObject({
    message: expect.stringContaining('start an agent of version "2.1" for this queue and task'),
  });
});

test("escalate asks once about a lane: the task stays in its queue, and is checked again", () => {
  const world = createWorld(workflow({ a: { timeouts, onPickup: "escalate" } }));
  world.fireNext({ polled: false, asked: true });
  expect(world.openEscalations()).toEqual([]);
  expect(world.step("a").forward).toMatchObject({
    kind: "READY",
    alarms: 1,
    wakeAt: world.now() + PICKUP_MS,
  });
  expect(world.interventions("pickup")).toMatchObject([
    { did: expect.stringContaining("a person has been asked about another task there") },
  ]);
  // No agent was started, and the question about the lane is closed.
  world.fireNext({ polled: false });
  expect(world.step("a").forward.kind).toBe("ESCALATED");
});

test("fallback continues with the next strategy, and alarms when there is none", () => {
  const world = unpicked({ onPickup: "fallback", fallback: [{ queue: "eu" }] });
  expect(world.step("a")).toMatchObject({
    forward: { kind: "READY", attempt: 1 },
    strategies: [{ planned: 0 }, { planned: 1 }],
  });
  world.fireNext({ polled: false });
  expect(world.step("a").forward).toMatchObject({ kind: "READY", alarms: 1 });
  expect(world.interventions("pickup").map(({ did }) => did)).toEqual([
    "fell back to the next strategy",
    expect.stringContaining("alarmed"),
  ]);
});

test("fallback leaves no strategy whose effect is unknown before that is verified", () => {
  const world = createWorld(
    workflow({
      a: {
        timeouts,
        effects: "verifiable",
        verify: { task: "find" },
        onPickup: "fallback",
        fallback: [{ queue: "eu" }],
      },
    }),
  );
  world.report(world.claim("a"), again());
  world.fireNext();
  world.fireNext({ polled: false });
  expect(world.step("a")).toMatchObject({
    forward: { kind: "READY", task: "verify" },
    strategies: [{ planned: 0 }],
  });
  world.report(world.claim("a"), nothingThere);
  expect(world.step("a")).toMatchObject({
    forward: { kind: "READY", task: "perform" },
    strategies: [{ planned: 0, effectStatus: "CLEARED" }, { planned: 1 }],
  });
});

test.each(["alarm", "escalate", "fallback"] as const)(
  "%s: a lane that is polled is a backlog, and nothing is done",
  (onPickup) => {
    const world = unpicked({ onPickup, fallback: [{ queue: "eu" }] }, true);
    expect(world.step("a")).toMatchObject({
      forward: { kind: "READY", alarms: 0, wakeAt: world.now() + PICKUP_MS },
      strategies: [{ planned: 0 }],
    });
    expect(world.interventions("pickup")).toEqual([]);
  },
);

test("an undo and a verify are alarmed, whatever the step sets", () => {
  const world = createWorld(
    workflow({ a: { onPickup: "escalate", compensate }, b: { needs: ["a"] } }),
  );
  world.report(world.claim("a"), success());
  world.cancel(true);
  world.fireNext({ polled: false });
  expect(world.step("a").undo).toMatchObject({ kind: "READY", alarms: 1 });
  expect(world.openEscalations()).toEqual([]);
});

test("an escalated pickup is not asked about while the run is paused: the task is held", () => {
  const world = createWorld(workflow({ a: { timeouts, onPickup: "escalate" } }));
  world.pause();
  expect(world.nextTimer()).toBeNull();
});
