/**
 * A batch takes no further run when it changes thousands of rows already: its transaction would
 * be idle, while it is decided, for longer than PostgreSQL allows.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { Store } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { watchedStore } from "../../support/watched-store.ts";
import { newAgent, newTask, openQuietPlane, schedule, success } from "./fixture.ts";

const RUNS = 12;
const ITEMS = 1_000;

let database: TestDatabase;
let plane: TestPlane;
/** Runs that one transaction has changed. */
let passed: number[] = [];

const watching = (store: Store): Store =>
  watchedStore(store, (tx) => ({
    write: async (passes) => {
      passed.push(passes.length);
      return tx.write(passes);
    },
  }));

beforeAll(async () => {
  database = await createTestDatabase();
  plane = await openQuietPlane(database.connectionString, watching);
});
afterAll(async () => {
  await plane?.close();
  await database?.drop();
});

it("reports that each open a map of a thousand items finish in several batches", async () => {
  const first = newTask();
  const item = newTask();
  const definition: Definition = {
    workflow: "opens",
    steps: [
      { id: "first", needs: [], task: first },
      {
        id: "m",
        kind: "map",
        needs: ["first"],
        task: item,
        over: String(ITEMS),
        concurrency: ITEMS,
      },
    ],
  };
  for (let run = 0; run < RUNS; run++) await schedule(plane, definition);
  const agent = newAgent(plane);
  const tasks = await agent.poll(first, { maxTasks: RUNS });
  expect(tasks).toHaveLength(RUNS);
  passed = [];
  await agent.complete(tasks, success);
  expect(passed.reduce((sum, runs) => sum + runs, 0)).toBe(RUNS);
  expect(Math.max(...passed)).toBeLessThan(RUNS);
  for (let taken = 0; taken < RUNS * ITEMS; )
    taken += (await agent.poll(item, { maxTasks: 100 })).length;
});
