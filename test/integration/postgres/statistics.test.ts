/**
 * A table that a vacuum found without rows, while a snapshot retained its pages, is taken for empty
 * however many rows come: plans made then are made anew within seconds of the first work.
 */
import pg from "pg";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { loadStatements } from "../../../server/store/postgres/sql.ts";
import type { Store } from "../../../server/store/store.ts";
import { schedule } from "../../contract/fixture.ts";
import { quietLog } from "../../support/control-plane.ts";
import { workflow } from "../../support/core-world.ts";
import { beforeAllButCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { fill } from "./fill.ts";

const ASKS_NOTHING = { lanes: [], runs: [], watermarks: [] };

let database: TestDatabase;
let connectionString: string;
let store: Store;
let hand: pg.Client;
let pool: pg.Pool;
let planned: pg.PoolClient;

beforeAllButCitus("a session plans each statement anew", async () => {
  database = await createTestDatabase();
  ({ connectionString } = database);
  await fill(connectionString, 4_000);
  store = createPostgresStore({ connectionString, log: quietLog });
  hand = new pg.Client({ connectionString });
  await hand.connect();
  pool = createPool(connectionString, "hot", 1, quietLog);
  planned = await pool.connect();
  const text = [...loadStatements().values()].find(({ name }) => name === "end_leases")?.text;
  await planned.query(`prepare ended as ${text}`);
});
afterAll(async () => {
  planned?.release();
  await Promise.all([pool?.end(), hand?.end(), store?.close()]);
  await database?.drop();
});

/** All leases go and are forgotten by a vacuum while a snapshot is open; then they come back. */
beforeEach(async () => {
  const reader = new pg.Client({ connectionString });
  await reader.connect();
  try {
    await hand.query("create temp table saved as select * from drover.lease");
    await reader.query("begin isolation level repeatable read");
    await reader.query("select from drover.lease limit 1");
    await hand.query("delete from drover.lease");
    await hand.query("select pg_stat_force_next_flush()");
    await hand.query("vacuum analyze drover.lease");
    await plan();
    await reader.query("commit");
    await hand.query("insert into drover.lease select * from saved");
    await hand.query("drop table saved");
    await hand.query("select pg_stat_force_next_flush()");
  } finally {
    await reader.end();
  }
});

/** The plan that a session of the hot pool has, made once and reused. */
async function plan(): Promise<string> {
  const { rows } = await planned.query<{ "QUERY PLAN": string }>(
    "explain execute ended (null, null, null)",
  );
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

const BY_KEY = /Index Scan using lease_pkey.*\n +Index Cond: \(\(run_id = u.run_id\)/;

test("a server that does nothing asks nothing", async () => {
  const idle = createPostgresStore({ connectionString, log: quietLog });
  try {
    for (let ticks = 0; ticks < 5; ticks++) await idle.pollQuery(ASKS_NOTHING);
  } finally {
    // Waits for what is under way.
    await idle.close();
  }
  expect(await plan()).not.toMatch(BY_KEY);
});

test("the first work after it puts the plan right", async () => {
  expect(await plan()).not.toMatch(BY_KEY);
  await schedule(store, workflow({ a: {} }));
  await until("leases are found by their key", async () => {
    await store.pollQuery(ASKS_NOTHING);
    return BY_KEY.test(await plan()) ? true : null;
  });
});
