/**
 * What one workflow or namespace is asked for does not depend on what others have: rows that are
 * read are counted by PostgreSQL itself, beside thousands that are not concerned.
 */
import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { NO_LIMITS } from "../../../server/store/namespaces.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog } from "../../support/control-plane.ts";
import { beforeAllButCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

/** Ready rows of a workflow that is paused, and definitions of others. */
const MANY = 5_000;
const FEW = 10;
/** What may be read of a table to deal with a few rows, however many there are. */
const READ_MAX = 200;

let database: TestDatabase;
let db: pg.Client;

const RUNS = `
  with made as (
    insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
      created_at)
    select ('01900000-0000-7000-8000-' || lpad(to_hex($3::integer * 1000000 + n), 12, '0'))::uuid, 1, n % 256,
      d.id, $1::text, 1, 5, '{}', now()
    from generate_series(1, $2::integer) as n
    join drover.definition as d on d.namespace_id = 1 and d.digest = $1::text::bytea
    returning id, partition, definition_id
  ),
  opened as (
    insert into drover.run_page (run_id, no, partition, version, namespace_id, definition_id, run_state, settled,
      state)
    select id, 0, partition, 1, 1, definition_id, 0, false, '{}' from made
  )
  insert into drover.ready (run_id, step_no, partition, lane, priority, paused, ordinal, ready_at)
  select m.id, 0, m.partition, l.id, 5, true, row_number() over (order by m.id), now()
  from made as m, drover.lane as l where l.namespace_id = 1`;

beforeAllButCitus("the rows that are read are counted at the shards of a table", async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  await db.query("insert into drover.lane (namespace_id, queue, task) values (1, 'default', 't')");
  await db.query(
    `insert into drover.definition (namespace_id, digest, body)
     select 1, name::bytea, json_build_object('workflow', name, 'steps', '[]'::json)::text
     from (
       select 'inline-' || n as name from generate_series(1, $1::integer) as n
       union all values ('big'), ('small')
     ) as named`,
    [MANY],
  );
  await db.query(RUNS, ["big", MANY, 1]);
  await db.query(RUNS, ["small", FEW, 2]);
  await db.query(
    `insert into drover.paused_workflow (namespace_id, name, reason)
     values (1, 'big', 'an incident'), (1, 'small', '')`,
  );
  await db.query("vacuum analyze");
});
afterAll(async () => {
  await db?.end();
  await database?.drop();
});

/** Rows of each table that sessions which have ended by now have read, by indexes or without. */
async function readSoFar(): Promise<ReadonlyMap<string, number>> {
  // What this session has read itself would be reported some time later, as if the work had read
  // it.
  await db.query("select pg_stat_force_next_flush()");
  await db.query("select pg_stat_clear_snapshot()");
  const { rows } = await db.query<{ name: string; read: number }>(
    `select t.relname as name, (t.seq_tup_read + coalesce((
       select sum(i.idx_tup_read) from pg_stat_user_indexes as i where i.relid = t.relid
     ), 0))::integer as read
     from pg_stat_user_tables as t`,
  );
  return new Map(rows.map(({ name, read }) => [name, read]));
}

/** What the work reads of a table, by a store of its own: sessions report it when they end. */
async function read(table: string, work: (store: Store) => Promise<unknown>): Promise<number> {
  const others = async () => {
    const { rows } = await db.query(
      `select from pg_stat_activity
       where datname = current_database() and application_name like 'drover-%'`,
    );
    return rows.length;
  };
  const before = (await readSoFar()).get(table) ?? 0;
  const store = createPostgresStore({
    connectionString: database.connectionString,
    log: quietLog,
  });
  try {
    await work(store);
  } finally {
    await store.close();
  }
  await expect.poll(others, { interval: 5 }).toBe(0);
  return ((await readSoFar()).get(table) ?? 0) - before;
}

const small = { namespaceId: 1, workflow: "small" };
const heldOf = async (workflow: string) => {
  const { rows } = await db.query(
    "select from drover.ready as r join drover.run as n on n.id = r.run_id where n.workflow = $1 and r.paused",
    [workflow],
  );
  return rows.length;
};

it("a workflow is resumed whatever another that is paused has ready", async () => {
  const ready = await read("ready", (store) => store.queues.resumeWorkflow(small));
  expect(await heldOf("small")).toBe(0);
  expect(await heldOf("big")).toBe(MANY);
  expect(ready).toBeGreaterThanOrEqual(FEW);
  expect(ready).toBeLessThan(READ_MAX);
});

it("a workflow is paused whatever other definitions and open runs there are", async () => {
  const definitions = await read("definition", (store) => store.queues.pauseWorkflow(small, ""));
  expect(await heldOf("small")).toBe(FEW);
  expect(definitions).toBeLessThan(READ_MAX);
  await db.query("delete from drover.paused_workflow where name = 'small'");
  const runs = await read("run_page_default", (store) => store.queues.resumeWorkflow(small));
  expect(runs).toBeLessThan(READ_MAX);
});

it("housekeeping reads no ready row of workflows that stay paused", async () => {
  expect(await read("ready", (store) => store.forgetOld(100))).toBeLessThan(READ_MAX);
  expect(await heldOf("big")).toBe(MANY);
});

it("the open runs of a namespace are counted beyond what one statement reads", async () => {
  const MORE = 20_100;
  await db.query(RUNS, ["small", MORE, 3]);
  const store = createPostgresStore({
    connectionString: database.connectionString,
    log: quietLog,
  });
  const limited = async (openRunsMax: number) => {
    await store.namespaces.setLimits(1, { ...NO_LIMITS, openRunsMax });
    return (await store.namespaces.limited())[0]?.openRuns;
  };
  expect(await limited(1_000_000)).toBe(MANY + FEW + MORE);
  expect(await limited(20_001)).toBe(20_001);
  expect(await limited(7)).toBe(7);
  await store.close();
});
