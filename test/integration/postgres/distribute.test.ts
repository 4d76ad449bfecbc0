/**
 * A schema on Citus has one owner, and its numbers go on growing when it moves. On plain PostgreSQL
 * nothing is distributed, and the reason is given.
 */
import pg from "pg";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  onTestFinished,
  test,
} from "vitest";
import { DATABASE_SCHEMA } from "../../../server/store/postgres/database-schema.ts";
import {
  citusNodes,
  distributeSchema,
  distributeStore,
  moveSchema,
} from "../../../server/store/postgres/distribute.ts";
import { migrate } from "../../../server/store/postgres/migrate.ts";
import { MIGRATIONS } from "../../../server/store/postgres/migrations-folder.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { urlOn } from "../../../server/store/postgres/shard-address.ts";
import { queryOn } from "../../../server/store/postgres/transaction.ts";
import { schedule } from "../../contract/fixture.ts";
import { citusUrl, makeEmptyOnNodes } from "../../support/citus.ts";
import { quietLog } from "../../support/control-plane.ts";
import { workflow } from "../../support/core-world.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

test("a database without Citus is refused, and what to do is said", async () => {
  await expect(distributeSchema(inject("testServerUrl"))).rejects.toThrow(
    /^The database \w+ has no extension citus: run 'create extension citus' in it on every node/,
  );
});

describe("of a cluster that its catalogs describe", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ empty: true });
  });
  afterAll(() => database.drop());

  /** One node, which is this database. It has what is read of Citus before anything is changed. */
  async function describeCluster(version: string): Promise<string> {
    const { hostname, port } = new URL(database.adminConnectionString);
    const admin = new pg.Client({ connectionString: database.adminConnectionString });
    await admin.connect();
    await admin.query(
      `set allow_system_table_mods = on;
       delete from pg_extension where extname = 'citus';
       insert into pg_extension
       select 999999, 'citus', extowner, extnamespace, false, '${version}', null, null
       from pg_extension where extname = 'plpgsql';
       create or replace function citus_is_coordinator() returns boolean return true;
       create table if not exists pg_dist_node as
       select '${hostname}'::text as nodename, ${port || 5432} as nodeport, 0 as groupid,
         'primary'::text as noderole, true as isactive;`,
    );
    await admin.end();
    return database.adminConnectionString;
  }
  const schemas = async (url: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query("select from pg_namespace where nspname like 'drover%'");
    await client.end();
    return rows.length;
  };
  const storeOf = { folder: MIGRATIONS, schema: DATABASE_SCHEMA, shards: 2 };

  test("a Citus that cannot move a schema is refused", async () => {
    const url = await describeCluster("11.3-1");
    await expect(distributeStore(url, storeOf)).rejects.toThrow(
      /^The database \w+ has Citus 11\.3-1, which cannot move a schema: upgrade it to Citus 12\.1 /,
    );
  });

  test("several shards are refused where a node prepares no transactions", async () => {
    const url = await describeCluster("13.2-1");
    await expect(distributeStore(url, storeOf)).rejects.toThrow(
      /^On \S+:\d+ the setting max_prepared_transactions is 0, and a store of several shards needs /,
    );
    expect(await schemas(url)).toBe(0);
  });
});

describe("on a Citus cluster", () => {
  let database: TestDatabase;
  let coordinator = "";

  beforeAll(async () => {
    database = await createTestDatabase();
    if (citusUrl === undefined) return;
    const [first] = await citusNodes(citusUrl);
    if (first === undefined) throw new Error("the cluster has no coordinator");
    coordinator = urlOn(database.connectionString, first);
  });
  afterAll(() => database.drop());
  beforeEach((context) => {
    if (citusUrl === undefined) context.skip("DROVER_CITUS names no Citus cluster");
  });

  const ask = async (url: string, text: string): Promise<readonly unknown[]> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query({ text, rowMode: "array" });
    await client.end();
    return rows.flat();
  };
  const nextMove = (url: string) =>
    ask(url, "insert into drover.pin_move (namespace_id, workflow) values (1, 'w') returning id");

  test("what is distributed stays where it is", async () => {
    const owner = await distributeSchema(coordinator);
    expect(urlOn(coordinator, owner)).toBe(database.connectionString);
  });

  test("a worker is refused", async () => {
    await expect(distributeSchema(database.connectionString)).rejects.toThrow(
      /leads to a worker of the Citus cluster, where tables cannot be changed: connect to the coord/,
    );
  });

  test("a schema that nothing has migrated is refused", async () => {
    await expect(distributeSchema(coordinator, "other")).rejects.toThrow(
      "The schema other has no tables of Drover: run 'drover migrate' on the coordinator first.",
    );
  });

  test("the sizes of tables are those of its rows, and a table that has grown is found", async () => {
    const { connectionString } = database;
    const store = createPostgresStore({ connectionString, log: quietLog });
    await schedule(store, workflow({ a: {} }));
    await store.close();
    // More than a table counts as empty with, and not so many that autovacuum analyzes it.
    await ask(
      connectionString,
      `insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
         heartbeat_ms, cancel)
       select gen_random_uuid(), 0, 0, 1, 1, 's', 'x', 1, now(), 30000, 'none' from generate_series(1, 50)`,
    );
    const pool = createPool(connectionString, "hot", 1, quietLog);
    try {
      const query = queryOn(pool, DATABASE_SCHEMA);
      const sizes = await query<{ name: string; blocks: number }>("storage_blocks", { every: 0 });
      expect(Object.fromEntries(sizes.map(({ name, blocks }) => [name, blocks]))).toEqual({
        run: 1,
        run_page: 1,
        payload: 0,
        attempt_log: 0,
        handler_log: 0,
      });
      const [grown, ...others] = await query<{ name: string }>("grown_tables", {});
      expect(grown?.name).toMatch(/^drover\.lease_\d+$/);
      expect(others).toEqual([]);
      await pool.query(`analyze (skip_locked) ${grown?.name}`);
      expect(await query("grown_tables", {})).toEqual([]);
    } finally {
      await pool.end();
    }
  });

  test("rows and the values of sequences follow a move, to whichever node", async () => {
    const nodes = await citusNodes(coordinator);
    const home = await distributeSchema(coordinator);
    const away = nodes.find((node) => !node.isCoordinator && node.port !== home.port);
    if (away === undefined) throw new Error("the cluster needs two workers");
    expect(await nextMove(urlOn(coordinator, home))).toEqual(["1"]);
    await moveSchema(coordinator, away);
    const [second] = await nextMove(urlOn(coordinator, away));
    await moveSchema(coordinator, home);
    const [third] = await nextMove(urlOn(coordinator, home));
    // What sessions at the former node may still draw is left out.
    expect([Number(second), Number(third)]).toEqual([1_000_002, 2_000_003]);
    expect(await ask(urlOn(coordinator, home), "select id from drover.pin_move")).toHaveLength(3);
  });

  test("rows that are there go with their tables, and the number of shards stays", async () => {
    const name = `drover_test_${process.pid}_filled`;
    const filled = await makeEmptyOnNodes(coordinator, name);
    onTestFinished(filled.drop);
    const of = { folder: MIGRATIONS, schema: DATABASE_SCHEMA };
    await migrate(filled.connectionString, of);
    await ask(filled.connectionString, "insert into drover.namespace (id, name) values (7, 'old')");
    await expect(distributeStore(filled.connectionString, { ...of, shards: 2 })).rejects.toThrow(
      "The store in the schema drover has 1 shard, and cannot be divided into 2: runs stay where they are.",
    );
    const [owner, ...others] = await distributeStore(filled.connectionString, of);
    expect(others).toEqual([]);
    if (!owner) throw new Error("no node owns the schema");
    const here = urlOn(filled.connectionString, owner);
    expect(await ask(here, "select name from drover.namespace where id = 7")).toEqual(["old"]);
    expect(await distributeStore(filled.connectionString, of)).toEqual([owner]);
  });

  test("a node that is not of the cluster is refused", async () => {
    await expect(moveSchema(coordinator, { host: "db.example", port: 1 })).rejects.toThrow(
      /^db.example:1 is no node of this Citus cluster. Its nodes are /,
    );
  });
});
