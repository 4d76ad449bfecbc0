// The consistency check beside claims: a claim locks the page of its task alone, so pages and
// derived rows that are read one after the other may be of different times.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { decodePage, encodePage } from "../../../server/core/page/codec.ts";
import type { Page } from "../../../server/core/page/page.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { RunRef, Store } from "../../../server/store/store.ts";
import { schedule } from "../../contract/fixture.ts";
import { quietLog } from "../../support/control-plane.ts";
import { workflow } from "../../support/core-world.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

/** In the second page of the run: the first one is locked with the run. */
const STEP = 40;

let database: TestDatabase;
let store: Store;
let hand: Hand;
/** Sees who waits while the hand is in a transaction. */
let eye: Hand;
let ref: RunRef;
beforeAll(async () => {
  database = await createTestDatabase();
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
  hand = await openHand(database.connectionString);
  eye = await openHand(database.connectionString);
});
beforeEach(async () => {
  const steps = Array.from({ length: STEP + 1 }, (_, no) => [`s${no}`, {}]);
  ref = (await schedule(store, workflow(Object.fromEntries(steps)))).ref;
});
afterAll(async () => {
  await Promise.all([hand?.close(), eye?.close()]);
  await store?.close();
  await database?.drop();
});

/** Ends the step in its page and in its derived row, as one transaction that is not committed. */
async function endStepUncommitted(): Promise<void> {
  await hand.query("begin");
  await hand.query("lock table drover.lease in access exclusive mode");
  const [row] = await hand.query<{ state: string }>(
    "select state from drover.run_page where run_id = $1 and no = 1",
    [ref.runId],
  );
  if (!row) throw new Error("the run has one page");
  const { page } = decodePage(row.state);
  const steps = new Map(page.steps);
  const of = steps.get(STEP);
  if (!of) throw new Error(`step ${STEP} is not in the page`);
  steps.set(STEP, { ...of, step: { ...of.step, forward: { kind: "SUCCEEDED" } } });
  const ended: Page = { ...page, steps };
  await hand.query(
    "update drover.run_page set state = $2, version = version + 1 where run_id = $1 and no = 1",
    [ref.runId, encodePage(ended).text],
  );
  await hand.query("delete from drover.ready where run_id = $1 and step_no = $2", [
    ref.runId,
    STEP,
  ]);
}

const readySteps = async (): Promise<number> =>
  (await hand.query("select from drover.ready where run_id = $1", [ref.runId])).length;

test("a scan takes no change between page and row for a difference", async () => {
  await endStepUncommitted();
  const scan = store.differingRuns([ref.partition], null, 1_000);
  await eye.untilWaiting("from drover.lease");
  await hand.query("commit");
  expect((await scan).runs).toEqual([]);
});

test("a rewrite leaves a run alone whose task was claimed while it was compared", async () => {
  await endStepUncommitted();
  const rewrite = store.transact({ name: "consistency" }, (tx) => tx.rewriteDerived([ref]));
  await eye.untilWaiting("drover.");
  await hand.query("commit");
  expect(await rewrite).toEqual([]);
  expect(await readySteps()).toBe(STEP);
});

test("a row that differs is rewritten", async () => {
  await hand.query("delete from drover.ready where run_id = $1 and step_no = $2", [
    ref.runId,
    STEP,
  ]);
  const { runs } = await store.differingRuns([ref.partition], null, 1_000);
  expect(runs).toEqual([ref]);
  await store.transact({ name: "consistency" }, (tx) => tx.rewriteDerived(runs));
  expect(await readySteps()).toBe(STEP + 1);
});
