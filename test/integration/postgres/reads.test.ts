// What people read while a run moves: each look at a run is one moment of it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { claimOne, schedule } from "../../contract/fixture.ts";
import { quietLog } from "../../support/control-plane.ts";
import { workflow } from "../../support/core-world.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "../control-plane/fixture.ts";

let database: TestDatabase;
let store: Store;
let hand: Hand;
/** Sees who waits while the hand is in a transaction. */
let eye: Hand;
beforeAll(async () => {
  database = await createTestDatabase();
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
  hand = await openHand(database.connectionString);
  eye = await openHand(database.connectionString);
});
afterAll(async () => {
  await Promise.all([hand?.close(), eye?.close()]);
  await store?.close();
  await database?.drop();
});

test("a run that ends while it is read is seen as it was, with its steps", async () => {
  const run = await schedule(store, workflow({ a: {} }));
  await claimOne(store, run);
  const { runId } = run.ref;
  await hand.query("begin");
  await hand.query("lock table step in access exclusive mode");
  const wanted = { attempts: true, interventions: true, escalations: true };
  const reading = store.reads.runDetail(runId, wanted);
  await eye.untilWaiting("from step as s");
  await hand.query("update step set forward = 4 where run_id = $1", [runId]);
  for (const table of ["lease", "run_open"])
    await hand.query(`delete from ${table} where run_id = $1`, [runId]);
  await hand.query("commit");
  const detail = await reading;
  expect(detail?.state.kind).toBe("RUNNING");
  expect(detail?.steps.get(0)?.forward.kind).toBe("LEASED");
});

test("a list that takes longer than a statement may is no bug: the caller may ask for less", async () => {
  const { namespaceId } = await schedule(store, workflow({ a: {} }));
  await hand.query("begin");
  await hand.query("lock table run in access exclusive mode");
  const filter = { states: [], workflow: null, parent: null, labels: {} };
  const reading = store.reads.listRuns(namespaceId, {
    filter: { ...filter, createdAfter: null, createdBefore: null },
    ...{ order: "created-asc", after: null, limit: 1 },
  });
  await expect(reading).rejects.toMatchObject({ reason: "OVERLOADED" });
  await hand.query("rollback");
});
