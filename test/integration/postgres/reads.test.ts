// What people read while a run moves: each read of a run is one state of it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { ANY_RUN } from "../../../server/store/lists.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { claimOne, schedule } from "../../contract/fixture.ts";
import { quietLog } from "../../support/control-plane.ts";
import { workflow } from "../../support/core-world.ts";
import { editPages, NOW } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

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
  await hand.query("lock table drover.step_reused in access exclusive mode");
  const wanted = { attempts: true, interventions: true, escalations: true };
  const reading = store.reads.runDetail(runId, wanted);
  await eye.untilWaiting("from drover.step_reused as k");
  await editPages(hand, runId, {
    head: (of) => ({
      ...of,
      endedAt: NOW,
      run: { ...of.run, state: { kind: "COMPLETED", reason: "DONE" } },
    }),
    step: (of) => ({ ...of, step: { ...of.step, forward: { kind: "SUCCEEDED" } } }),
  });
  await hand.query(
    `insert into drover.signal (run_id, seq, id, name, at) values ($1, 1, 'late', 'go', now())`,
    [runId],
  );
  await hand.query("commit");
  const detail = await reading;
  expect(detail?.state.kind).toBe("RUNNING");
  expect(detail?.steps.get(0)?.forward.kind).toBe("LEASED");
  expect(detail?.signals).toEqual([]);
});

test("a list that takes longer than a statement may is refused as OVERLOADED: the caller asks for less", async () => {
  const { namespaceId } = await schedule(store, workflow({ a: {} }));
  await hand.query("begin");
  await hand.query("lock table drover.run in access exclusive mode");
  const reading = store.lists.runs(namespaceId, {
    filter: ANY_RUN,
    order: "created-asc",
    after: null,
    limit: 1,
  });
  const interventions = store.operators.interventions(namespaceId, {
    rules: null,
    from: null,
    until: null,
    runId: null,
    after: null,
    limit: 1,
  });
  const refused = { status: "rejected", reason: { reason: "OVERLOADED" } };
  expect(await Promise.allSettled([reading, interventions])).toMatchObject([refused, refused]);
  await hand.query("rollback");
});
