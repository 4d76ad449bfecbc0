/** No agent takes a ready task: a backlog if its lane is polled, else an alarm. */
import { expect, test } from "vitest";
import { failure, success } from "../../support/core-outcomes.ts";
import { createWorld, workflow } from "../../support/core-world.ts";

const PICKUP_MS = 300_000;

test("a task that no agent polls for raises an alarm, with what a person can do", () => {
  const world = createWorld(workflow({ a: { task: "fly", queue: "travel" } }));
  world.advance(PICKUP_MS);
  world.fire("a", { polled: false });
  const [alarm] = world.interventions("pickup");
  expect(alarm?.saw).toContain('no agent polls queue "travel" for task "fly"');
  expect(alarm?.did).toContain("Start an agent for this queue and task");
  expect(world.step("a").forward).toMatchObject({ kind: "READY", alarms: 1 });
});

test("the alarm is repeated after each further pickup time, each with its own number", () => {
  const world = createWorld(workflow({ a: {} }));
  for (let time = 0; time < 3; time++) world.fireNext({ polled: false });
  expect(world.interventions("pickup").map(({ n }) => n)).toEqual([0, 1, 2]);
  expect(world.step("a").forward).toMatchObject({ alarms: 3, wakeAt: world.now() + PICKUP_MS });
});

test("a task whose lane is polled is a backlog: checked again later, and no alarm", () => {
  const world = createWorld(workflow({ a: {} }));
  world.fireNext({ polled: true });
  expect(world.interventions("pickup")).toEqual([]);
  expect(world.step("a").forward).toMatchObject({ alarms: 0, wakeAt: world.now() + PICKUP_MS });
});

test("before its pickup time is over nothing is recorded", () => {
  const world = createWorld(workflow({ a: {} }));
  world.advance(PICKUP_MS - 1);
  world.fire("a", { polled: false });
  expect(world.interventions("pickup")).toEqual([]);
});

test("a task that was taken meanwhile is not alarmed", () => {
  const world = createWorld(workflow({ a: {} }));
  world.advance(PICKUP_MS);
  const stale = world.timerEventOf("a", { polled: false });
  world.claim("a");
  if (stale) world.pass([stale]);
  expect(world.interventions("pickup")).toEqual([]);
});

test("an undo that no agent polls for raises an alarm too", () => {
  const compensate = { task: "unfly", queue: "travel", timeouts: { pickupMs: 60_000 } };
  const world = createWorld(workflow({ a: { compensate }, b: {} }));
  world.report(world.claim("a"), success());
  world.report(world.claim("b"), failure("broken", { permanent: true }));
  world.advance(60_000);
  world.fire("a", { polled: false });
  expect(world.interventions("pickup")[0]?.saw).toContain('queue "travel" for task "unfly"');
});
