/**
 * However much is due or open, one scan reads no more than its share: a scan that reads the whole
 * backlog to do a part of it never catches up.
 */
import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { bind, type Values } from "../../../server/store/postgres/sql.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog } from "../../support/control-plane.ts";
import { beforeAllButCitus, PLANS } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { fill, LATER } from "./fill.ts";

const RUNS = 4_000;
/** All leases are in these. */
const PARTITIONS = [0, 1, 2, 3];
/** Of each partition, in one scan. */
const SHARE = 64;

let database: TestDatabase;
let db: pg.Client;
let store: Store;

beforeAllButCitus(PLANS, async () => {
  database = await createTestDatabase();
  await fill(database.connectionString, RUNS);
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  await db.query("set plan_cache_mode = force_generic_plan; set enable_seqscan = off");
  await db.query("delete from drover.message");
  await db.query(
    "update drover.run_page set wake_at = now() + interval '1 hour' where wake_at is not null",
  );
  const at = Date.now();
  await db.query(
    `update drover.run_page set partition = 7, wake_at = to_timestamp($1::float8 / 1000),
       state = replace(state, '${LATER}', '${at}')
     where state like '%"BACKOFF"%'`,
    [at],
  );
  const partition = "('x' || right(run_id::text, 2))::bit(8)::integer % 4";
  // Too early: their timers are still to come.
  await db.query(
    `update drover.run_page set partition = ${partition}, wake_at = now() where state like '%"LEASED"%'`,
  );
  await db.query(`update drover.lease set partition = ${partition}`);
  await db.query("update drover.agent_session set last_heartbeat_at = now()");
  // As autovacuum does sooner or later.
  await db.query("vacuum analyze");
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
});
afterAll(async () => {
  await store?.close();
  await db?.end();
  await database?.drop();
});

interface PlanNode {
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows that a statement reads by an index. */
async function rowsRead(name: string, index: string, given: Values): Promise<number> {
  const { text, values } = bind(name, given);
  const { rows } = await db.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
    `explain (analyze, timing off, format json) ${text}`,
    values,
  );
  const readBy = (node: PlanNode): number =>
    (node["Index Name"] === index ? node["Actual Rows"] * node["Actual Loops"] : 0) +
    (node.Plans ?? []).reduce((sum, below) => sum + readBy(below), 0);
  const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
  if (!plan) throw new Error("explain gave no plan");
  return readBy(plan);
}

async function dueLeases(): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count
     from drover.lease as l join drover.run_page as p on p.run_id = l.run_id and p.no = 0
     where p.wake_at <= now()`,
  );
  return rows[0]?.count ?? 0;
}

it("a scan of a backlog reads its share of each partition", async () => {
  expect(await dueLeases()).toBeGreaterThan(PARTITIONS.length * SHARE);
  const read = await rowsRead("due_rows", "run_page_default_partition_wake_at_idx", {
    partitions: PARTITIONS,
    limit: 500,
    of_partition_max: SHARE,
    since: null,
    ahead: 1_000,
    kind: [],
    id: [],
    place: [],
  });
  expect(read).toBe(PARTITIONS.length * SHARE);
});

it("pages that were scanned too early are moved by the share, and the rest is scanned at once", async () => {
  const before = await dueLeases();
  const { due, now, nextAt } = await store.dueRows(PARTITIONS, 500);
  expect(due).toEqual([]);
  expect(nextAt).toBe(now);
  expect(before - (await dueLeases())).toBe(PARTITIONS.length * SHARE);
});

it("what is due beyond the share of its partition is scanned at once", async () => {
  const { due, now, nextAt, foundTo } = await store.dueRows([7], 500);
  expect(new Set(due.map(({ runId }) => runId)).size).toBe(SHARE);
  expect(nextAt).toBe(now);
  expect(foundTo).toBe(due.at(-1)?.wakeAt);
});

it("a page of open runs, of a namespace or of definitions, reads no runs beyond it", async () => {
  const first = "00000000-0000-0000-0000-000000000000";
  const index = "run_page_default_namespace_id_definition_id_run_id_idx";
  expect(
    await rowsRead("count_open_runs_of", index, {
      namespace_id: 1,
      definition_id: 0,
      run_id: first,
      limit: 10,
    }),
  ).toBe(10);
  const all = Array.from({ length: 20 }, (_, n) => n + 1);
  expect(
    await rowsRead("open_runs_of_definitions", index, {
      namespace_id: 1,
      definition_ids: all,
      after: first,
      limit: 10,
    }),
  ).toBe(10);
});

it("a claim counts the tasks of a queue up to its limit, however many agents have", async () => {
  await db.query(
    "insert into drover.queue (namespace_id, name, leases_max) values (1, 'default', 3)",
  );
  const lanes = 40;
  expect(
    await rowsRead("count_leases", "lease_lane", { namespace_id: [1], name: ["default"] }),
  ).toBeLessThanOrEqual(lanes * 3);
  const { rows } = await db.query("select from drover.lease");
  expect(rows.length).toBeGreaterThan(900);
});
