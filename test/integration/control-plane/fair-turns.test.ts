/**
 * Namespaces take turns in a server's claims: one that has a hundred thousand tasks and hundreds of
 * agents takes no turn of one that has a single task.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodePage, encodePage } from "../../../server/core/page/codec.ts";
import type { Namespace, Store } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { watchedStore } from "../../support/watched-store.ts";
import { newAgent, openQuietPlane, schedule } from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

const LANES = 20;
const WAITERS = 120;
const ROWS = 100_000;

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;
/** Run ids of each claim's grants, in the order of the claims. */
const claims: string[][] = [];

const watching = (store: Store): Store =>
  watchedStore(store, (tx) => ({
    grant: async (grants) => {
      claims.push(grants.map(({ ready }) => ready.runId));
      return tx.grant(grants);
    },
  }));

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString, watching);
});
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

const inNamespace = (namespace: Namespace): TestPlane => ({ ...plane, namespace });
const laneTask = (lane: number) => `bulk-${lane}`;

/** A run with a step in each of so many lanes. */
const bulkRun = (of: TestPlane) =>
  schedule(of, {
    workflow: "bulk",
    steps: Array.from({ length: LANES }, (_, no) => {
      return { id: `s${no}`, needs: [], task: laneTask(no) };
    }),
  });

/** Of each lane, the page of a run whose first step is ready there, and that has no other. */
async function pagesIn(runId: string, lanes: readonly number[]): Promise<readonly string[]> {
  const [row] = await hand.query<{ state: string }>(
    "select state from drover.run_page where run_id = $1 and no = 0",
    [runId],
  );
  const { page } = decodePage(row?.state ?? "");
  const first = page.steps.get(0);
  if (!first?.terms) throw new Error("the first step of a run should be ready");
  const { terms } = first;
  return lanes.map((lane) => {
    const steps = new Map([[0, { ...first, terms: { ...terms, lane } }]]);
    return encodePage({ ...page, steps }).text;
  });
}

/** As many runs as there are to be rows, each with its first step ready, in the lanes by turns. */
async function copyRun(runId: string, lanes: readonly number[]): Promise<void> {
  await hand.query(
    `create temp table copied as
     select gen_random_uuid() as id, ($1::integer[])[1 + n % $2] as lane, n
     from generate_series(1, $3::integer) as n`,
    [lanes, LANES, ROWS],
  );
  await hand.query(
    `insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
       created_at)
     select c.id, r.namespace_id, r.partition, r.definition_id, r.workflow, r.version, r.priority,
       r.labels, r.created_at
     from copied as c join drover.run as r on r.id = $1`,
    [runId],
  );
  await hand.query(
    `insert into drover.run_page (run_id, no, partition, version, wake_at, namespace_id, definition_id, run_state,
       settled, state)
     select c.id, p.no, p.partition, p.version, p.wake_at, p.namespace_id, p.definition_id, p.run_state,
       p.settled, ($2::text[])[1 + c.n % $3]
     from copied as c join drover.run_page as p on p.run_id = $1 and p.no = 0`,
    [runId, await pagesIn(runId, lanes), LANES],
  );
  await hand.query(
    `insert into drover.ready (run_id, step_no, partition, lane, priority, ordinal, ready_at)
     select c.id, 0, r.partition, c.lane, 5, c.n, now()
     from copied as c join drover.run as r on r.id = $1`,
    [runId],
  );
}

describe("a namespace with a hundred thousand ready tasks", () => {
  it("and many agents: each claim is small, and the other namespace's task is in the first", async () => {
    const large = inNamespace(await plane.store.createNamespace("large"));
    const small = inNamespace(await plane.store.createNamespace("small"));
    // All wait before anything is ready, so that one poll tick finds all of it.
    const { runId } = await bulkRun(large);
    const rows = await hand.query<{ lane: number }>(
      "delete from drover.ready where run_id = $1 returning lane",
      [runId],
    );
    const lanes = rows.map(({ lane }) => lane);
    const waiting = Array.from({ length: WAITERS }, (_, no) =>
      newAgent(large).poll(laneTask(no % LANES), { maxTasks: 100, waitMs: 100_000 }),
    );
    const served = newAgent(small).take("single", { waitMs: 100_000 });
    await plane.pollTick.runOnce();
    claims.length = 0;
    // The single task becomes ready last.
    await copyRun(runId, lanes);
    const elsewhere = await openQuietPlane(database.connectionString);
    const single = await schedule(
      { ...elsewhere, namespace: small.namespace },
      { workflow: "single", steps: [{ id: "s", needs: [], task: "single" }] },
    );
    await plane.pollTick.runOnce();
    expect((await served).runId).toBe(single.runId);
    expect(claims[0]).toContain(single.runId);
    expect(claims[0]?.length).toBeLessThanOrEqual(2_000);
    // The tasks beyond the limit of a claim have their turn without another poll tick.
    const taken = await Promise.all(waiting);
    expect(Math.min(...taken.map((tasks) => tasks.length))).toBeGreaterThan(0);
    expect(Math.max(...claims.map((of) => of.length))).toBeLessThanOrEqual(2_000);
    await elsewhere.close();
  });
});
