// What always fails, fails alone [G20]: runs whose definition cannot be read any more, as after a
// change by hand, stand beside healthy ones in every look, on a real database.
import { beforeEach, expect, test } from "vitest";
import type { Definition } from "../../../server/core/definition.ts";
import { endOf, openPlane, scheduleInline, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { type Hand, historyOf, newAgent, openHand, schedule } from "./fixture.ts";

/** More than one look takes. */
const MANY = 520;

const waiting = (workflow: string, forMs: number): Definition => ({
  workflow,
  steps: [{ id: "a", kind: "wait", needs: [], forMs }],
});
const working = (workflow: string): Definition => ({
  workflow,
  steps: [{ id: "a", needs: [], task: "work" }],
});

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;
beforeEach(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  return async () => {
    await hand.close();
    await database.drop();
  };
});

/** A server that has never seen the definitions, which cannot be read any more. */
async function restartWithout(workflow: string): Promise<void> {
  await plane.close();
  await hand.query("update definition set body = $1 where body like $2", [
    JSON.stringify({ workflow }),
    `%"${workflow}"%`,
  ]);
  plane = await openPlane(database.connectionString);
}

test("timers of runs that cannot be handled keep no other timer waiting", async () => {
  plane = await openPlane(database.connectionString, { supervise: false });
  const bad = await schedule(plane, waiting("bad", 1));
  for (let n = 1; n < MANY; n++) await schedule(plane, waiting("bad", 1));
  await restartWithout("bad");
  const healthy = await scheduleInline(plane, waiting("healthy", 200));
  expect((await endOf(plane, healthy)).state).toBe("COMPLETED");
  const failing = await until("the intervention", async () => {
    const { interventions } = await historyOf(plane, bad);
    return interventions.find(({ rule }) => rule === "failing") ?? null;
  });
  expect(failing.saw).toMatch(/^its handling has failed 2 times in a row: /);
  expect(failing.did).toBe("lets it rest for 500 ms, and nothing else waits for it");
  expect(plane.resting.ids().length).toBeGreaterThan(0);
  await plane.close();
});

test("the sweep goes on past a run that it cannot examine", async () => {
  plane = await openPlane(database.connectionString, { supervise: false });
  await schedule(plane, waiting("bad", 3_600_000));
  const hurt = await scheduleInline(plane, working("healthy"));
  await restartWithout("bad");
  // What nothing would ever wake again.
  await hand.query("delete from ready where run_id = $1", [hurt]);
  expect(await plane.sweep.roundOnce()).toBe(1);
  const agent = newAgent(plane);
  const [task] = await agent.poll("work");
  expect(task?.runId).toBe(hurt);
  await plane.close();
});
