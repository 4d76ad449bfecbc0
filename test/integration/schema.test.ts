// All of Drover is in one schema of its database, which a setting names: beside anything else in
// the database, beside another Drover, and by a role that has no rights elsewhere.
import { randomBytes } from "node:crypto";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { dumpSchema } from "../../migrations/schema-dump.ts";
import { systemRandom } from "../../server/clock.ts";
import { startServer } from "../../server/main.ts";
import { DATABASE_SCHEMA } from "../../server/store/postgres/database-schema.ts";
import { migrate, pendingMigrations } from "../../server/store/postgres/migrate.ts";
import { createPostgresStore } from "../../server/store/postgres/postgres-store.ts";
import { bind, type Values } from "../../server/store/postgres/sql.ts";
import { randomUuid } from "../../server/uuid.ts";
import {
  endOf,
  openPlane,
  quietLog,
  scheduleInline,
  type TestPlane,
  testAgent,
} from "../support/control-plane.ts";
import { drover, startDrover } from "../support/drover-process.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { at, callJson, textAt } from "../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { success } from "./control-plane/fixture.ts";

const MIGRATIONS = join(import.meta.dirname, "../../migrations");
const OTHER = "other_drover";
const PARTITIONS = 256;

let database: TestDatabase;
let client: Client;
const planes: TestPlane[] = [];

beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  client = await connect(database.connectionString);
});
afterEach(async () => {
  for (const plane of planes.splice(0)) await plane.close();
  await client.end();
  await database.drop();
});

async function connect(connectionString: string): Promise<Client> {
  const session = new Client({ connectionString });
  await session.connect();
  return session;
}

async function open(connectionString: string, schema = DATABASE_SCHEMA): Promise<TestPlane> {
  await migrate(connectionString, { folder: MIGRATIONS, schema });
  const plane = await openPlane(connectionString, { schema });
  planes.push(plane);
  return plane;
}

/** A run of one step, from its start to its end; its id. */
async function runOne(plane: TestPlane): Promise<string> {
  const runId = await scheduleInline(plane, {
    workflow: "one",
    steps: [{ id: "a", needs: [], task: "a" }],
  });
  const agent = testAgent(plane);
  await agent.report(await agent.take(), success);
  expect(await endOf(plane, runId)).toMatchObject({ state: "COMPLETED" });
  return runId;
}

async function namesIn(schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = $1::regnamespace
     union all select proname from pg_proc where pronamespace = $1::regnamespace order by 1`,
    [schema],
  );
  return rows.map(({ name }) => name);
}

async function isThere(schema: string): Promise<boolean> {
  const { rowCount } = await client.query("select from pg_namespace where nspname = $1", [schema]);
  return rowCount === 1;
}

describe("another schema than drover", () => {
  test("has what drover would have", async () => {
    await migrate(client, { folder: MIGRATIONS, schema: OTHER });
    const stored = readFileSync(join(MIGRATIONS, "schema.sql"), "utf8");
    const dump = (await dumpSchema(client, OTHER)).replaceAll(`"${OTHER}".`, `${OTHER}.`);
    expect(dump).toBe(
      stored.replaceAll("drover.", `${OTHER}.`).replace("schema drover;", `schema ${OTHER};`),
    );
    expect(await isThere("drover")).toBe(false);
  });

  test("may have the name of a keyword", async () => {
    const plane = await open(database.connectionString, "table");
    await runOne(plane);
    await client.query(`select "table".schedule('default', 'one')`);
  });

  test("is made by drover migrate and run by a server, each given it", async () => {
    const { connectionString: url } = database;
    const migrated = await drover(["migrate", "--database-url", url, "--database-schema", OTHER]);
    expect(migrated).toMatchObject({ code: 0, stdout: "applied  0001_init.sql\n" });
    const env = { DATABASE_URL: url, DROVER_DATABASE_SCHEMA: OTHER };
    const token = ["token", "create", "first", "--role", "viewer", "--in-database", "--by", "ada"];
    expect(await drover(token, { env })).toMatchObject({ code: 0 });
    expect((await client.query(`select name from ${OTHER}.api_token`)).rows).toEqual([
      { name: "first" },
    ]);
    const server = await startServer({
      address: "127.0.0.1:0",
      database: { kind: "url", url, schema: OTHER },
    });
    expect((await client.query(`select from ${OTHER}.node`)).rowCount).toBe(1);
    await server.stop();
    expect(await isThere("drover")).toBe(false);
    await expect(
      startServer({ address: "127.0.0.1:0", database: { kind: "url", url, schema: "public" } }),
    ).rejects.toThrow(/"public" cannot be the schema of Drover/);
  });

  test("takes runs by a function of its own", async () => {
    await open(database.connectionString, OTHER);
    await client.query(`select ${OTHER}.schedule('default', 'nowhere', key => 'mine')`);
    await expect
      .poll(async () => (await client.query(`select key from ${OTHER}.inbox_refused`)).rows)
      .toEqual([{ key: "mine" }]);
  });
});

describe("two Drovers in one database", () => {
  test("each watch all their partitions, and know their own runs alone", async () => {
    const one = await open(database.connectionString);
    const two = await open(database.connectionString, OTHER);
    for (const plane of [one, two]) {
      await expect.poll(() => plane.ownership.owned().length).toBe(PARTITIONS);
      const [region] = await plane.store.lists.regions();
      expect(region).toMatchObject({ name: "default", watched: PARTITIONS });
    }
    const ids = [await runOne(one), await runOne(two)];
    const { rows } = await client.query<{ id: string }>(
      `select id from drover.run union all select id from ${OTHER}.run`,
    );
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  test("receive nothing of what the other notifies its servers of", async () => {
    const { connectionString } = database;
    const received: Record<string, number[]> = { [DATABASE_SCHEMA]: [], [OTHER]: [] };
    const sessions = [];
    // Before a session joins: one that is idle for as long as a migration takes is ended.
    for (const schema of [DATABASE_SCHEMA, OTHER])
      await migrate(client, { folder: MIGRATIONS, schema });
    for (const schema of [DATABASE_SCHEMA, OTHER]) {
      const store = createPostgresStore({ connectionString, schema, log: quietLog });
      const node = randomUuid(systemRandom);
      const session = await store.partitions.join({ node, address: "127.0.0.1:1" });
      session.onDueTimes((time) => received[schema]?.push(time));
      session.onLanes((lanes) => received[schema]?.push(...lanes));
      sessions.push({ session, store });
    }
    const [one, two] = sessions;
    await one?.session.announceDueTime(1);
    await one?.session.announceLanes([2, 3]);
    await two?.session.announceDueTime(4);
    await one?.session.announceDueTime(5);
    await expect.poll(() => received).toEqual({ [DATABASE_SCHEMA]: [1, 2, 3, 5], [OTHER]: [4] });
    for (const { session, store } of sessions) {
      await session.leave();
      await store.close();
    }
  });

  test.each<[string, Values]>([
    ["lock_concurrency_keys", { namespace_id: [1], key: ["key"] }],
    ["lock_lane_questions", { lanes: [7] }],
    ["live_node", { number: 1 }],
  ])("do not wait for each other's locks (%s)", async (name, values) => {
    for (const schema of [DATABASE_SCHEMA, OTHER])
      await migrate(client, { folder: MIGRATIONS, schema });
    const holder = await connect(database.connectionString);
    await holder.query("begin");
    await holder.query({ ...bind(name, values), name: undefined });
    await client.query("begin; set local lock_timeout = '1s'");
    await client.query({ ...bind(name, values, OTHER), name: undefined });
    // Of the same schema it would wait, so this is the lock that is meant.
    await expect(client.query({ ...bind(name, values), name: undefined })).rejects.toThrow(
      /lock timeout/,
    );
    await client.query("rollback");
    await holder.end();
  });

  test("are migrated at the same time", async () => {
    await client.query("begin");
    await client.query(
      "select pg_advisory_xact_lock(hashtextextended('drover migrate drover', 0))",
    );
    const first = migrate(database.connectionString, { folder: MIGRATIONS });
    await migrate(database.connectionString, { folder: MIGRATIONS, schema: OTHER });
    expect(await isThere(DATABASE_SCHEMA)).toBe(false);
    await client.query("rollback");
    await first;
    expect(await namesIn(OTHER)).toEqual(await namesIn(DATABASE_SCHEMA));
  });
});

describe("a database in which others are", () => {
  test("keeps what it has in public, though it has our names", async () => {
    await client.query(`
      create table public.run (id integer primary key);
      create table public.step as select 'theirs' as text;
      create table public.drover_migration (number text);
      create view public.run_view as select id from public.run;
      create function public.schedule() returns integer language sql as 'select 1';`);
    const before = await dumpSchema(client, "public");
    const plane = await open(database.connectionString);
    await runOne(plane);
    expect(await dumpSchema(client, "public")).toBe(before);
    expect((await client.query("select text from public.step")).rows).toEqual([{ text: "theirs" }]);
    expect((await client.query("select from public.run")).rows).toEqual([]);
  });

  test("has nothing of ours outside of the schema", async () => {
    const plane = await open(database.connectionString);
    await runOne(plane);
    const { rows } = await client.query(
      `select n.nspname, c.relname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
       where n.nspname not in ('drover', 'information_schema') and n.nspname not like 'pg\\_%'`,
    );
    expect(rows).toEqual([]);
  });
});

describe("a role without rights on public", () => {
  const role = `keeper_${randomBytes(6).toString("hex")}`;
  let url: string;
  let admin: Client;

  beforeEach(async () => {
    admin = await connect(database.adminConnectionString);
    await admin.query(`create role ${role} login password 'secret'`);
    await admin.query("revoke all on schema public from public");
    const own = new URL(database.connectionString);
    own.username = role;
    own.password = "secret";
    url = own.href;
  });
  afterEach(async () => {
    for (const plane of planes.splice(0)) await plane.close();
    await admin.query(`drop owned by ${role} cascade`);
    await admin.query(`drop role ${role}`);
    await admin.end();
  });

  test("makes the schema, migrates it and runs, if it may make one", async () => {
    const name = new URL(database.connectionString).pathname.slice(1);
    await admin.query(`grant create on database ${name} to ${role}`);
    await runOne(await open(url));
  });

  test("migrates the schema that it was given, and runs", async () => {
    await admin.query(`create schema drover authorization ${role}`);
    await runOne(await open(url));
    expect(await pendingMigrations(url, { folder: MIGRATIONS })).toEqual([]);
  });

  test("gets what to ask for, if it may not make one", async () => {
    await expect(migrate(url, { folder: MIGRATIONS })).rejects.toThrow(
      /may not make the schema drover.*permission denied.*'create schema drover authorization ROLE'/,
    );
  });

  test("reads what a migrated schema allows it, and no more", async () => {
    await migrate(client, { folder: MIGRATIONS });
    await admin.query(`grant usage on schema drover to ${role}`);
    await admin.query(`grant execute on function drover.schedule to ${role}`);
    await admin.query(
      `grant select on drover.run_view, drover.step_view, drover.intervention_view to ${role}`,
    );
    const user = await connect(url);
    for (const view of ["run_view", "step_view", "intervention_view"])
      expect((await user.query(`select * from drover.${view}`)).rows).toEqual([]);
    await user.query("select drover.schedule('default', 'order')");
    await expect(user.query("select from drover.run")).rejects.toThrow(/permission denied/);
    await user.end();
  });
});

describe("a server whose role may change rows, and no tables", () => {
  const role = `server_${randomBytes(6).toString("hex")}`;
  let env: Readonly<Record<string, string>>;
  let admin: Client;

  beforeEach(async () => {
    admin = await connect(database.adminConnectionString);
    await admin.query(`create role ${role} login password 'secret'`);
    const own = new URL(database.connectionString);
    own.username = role;
    own.password = "secret";
    env = { DATABASE_URL: own.href };
  });
  afterEach(async () => {
    await admin.query(`drop owned by ${role} cascade`);
    await admin.query(`drop role ${role}`);
    await admin.end();
  });

  const startedServer = (...args: string[]) =>
    startDrover(["server", "--address", "127.0.0.1:0", ...args], { env });

  test("is refused before the owner has migrated, and runs afterwards", async () => {
    const early = await startedServer("--no-migrate").ended;
    expect(early).toMatchObject({ code: 1, stdout: "" });
    expect(early.stderr).toMatch(/schema drover has no tables of Drover.*'drover migrate'/);
    expect(await isThere("drover")).toBe(false);

    const { connectionString } = database;
    await drover(["migrate"], { env: { DATABASE_URL: connectionString } });
    const unread = await startedServer("--migrate", "no").ended;
    expect(unread.stderr).toMatch(/may not read drover\.drover_migration.*'grant usage on schema/);
    await client.query(`grant usage on schema drover to ${role};
      grant select, insert, update, delete on all tables in schema drover to ${role};
      grant usage on all sequences in schema drover to ${role};
      grant execute on all functions in schema drover to ${role};`);
    // As a setting of the environment, and with nothing to migrate not even needed.
    for (const DROVER_MIGRATE of ["no", "yes"]) {
      env = { ...env, DROVER_MIGRATE };
      const server = startedServer();
      const printed = await server.wrote("next: drover run list");
      const address = /server +([\d.:]+): /.exec(printed)?.[1] ?? "";
      const definition = { workflow: "one", steps: [{ id: "a", wait: { for: "0.001s" } }] };
      const { body } = await callJson(address, "SchedulerService/Schedule", { definition });
      const run = { runId: textAt(body, "runId") };
      const waited = await callJson(address, "SchedulerService/WaitRun", { run });
      expect(at(waited.body, "run", "state")).toBe("RUN_STATE_COMPLETED");
      server.signal("SIGTERM");
      expect((await server.ended).stderr).not.toMatch(/permission denied/);
    }
  });

  test("drover migrate tells the state of each file", async () => {
    const own = { env: { DATABASE_URL: database.connectionString } };
    expect(await drover(["migrate", "--status"], own)).toMatchObject({
      stdout: "pending  0001_init.sql  works with programs from 0001 on\n",
    });
    expect(await drover(["migrate", "--dry-run"], own)).toMatchObject({
      stdout: "pending  0001_init.sql\n",
    });
    expect(await isThere("drover")).toBe(false);
    await drover(["migrate"], own);
    expect((await drover(["migrate", "--status"], own)).stdout).toMatch(
      /^applied \d{4}-\S+Z {2}0001_init\.sql {2}works with programs from 0001 on\n$/,
    );
  });
});

describe("a migration that fails", () => {
  test("leaves nothing, not even the schema", async () => {
    const folder = makeTestFolder();
    cpSync(MIGRATIONS, folder, { recursive: true });
    const file = join(folder, "0001_init.sql");
    writeFileSync(file, `${readFileSync(file, "utf8")}\nselect 1 / 0;\n`);
    await expect(migrate(client, { folder })).rejects.toThrow(
      /0001_init\.sql failed: division by zero/,
    );
    expect(await isThere("drover")).toBe(false);
    rmSync(folder, { recursive: true });
    await migrate(client, { folder: MIGRATIONS });
  });
});

describe("a database of the first design", () => {
  test("is refused, with what to do, and left as it was", async () => {
    await client.query(`
      create table public.run_open (run_id uuid);
      create table public.drover_migration (number integer);`);
    for (const schema of [DATABASE_SCHEMA, OTHER])
      for (const call of [migrate, pendingMigrations])
        await expect(call(client, { folder: MIGRATIONS, schema })).rejects.toThrow(
          /unreleased Drover in the schema public.*Make a new database, or drop those tables/,
        );
    expect(await isThere("drover")).toBe(false);
    expect(await namesIn("public")).toEqual(["drover_migration", "run_open"]);
  });
});
