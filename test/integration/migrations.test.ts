import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { dumpSchema } from "../../migrations/schema-dump.ts";
import {
  migrate,
  migrationStates,
  pendingMigrations,
  requireMigrated,
} from "../../server/store/postgres/migrate.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

const herd = "create table drover.herd (id integer primary key);";
const sheep =
  "create table drover.sheep (id integer primary key, herd integer references drover.herd (id));";

let database: TestDatabase;
let client: Client;
let folder: string;

beforeEach(async () => {
  folder = makeTestFolder();
  database = await createTestDatabase({ empty: true });
  client = new Client({ connectionString: database.connectionString });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(folder, name), sql);
}

async function tables(): Promise<string[]> {
  const found = await client.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'drover' order by 1",
  );
  return found.rows.map(({ name }) => name);
}

describe("migrations", () => {
  test("are applied in the order of their numbers, once", async () => {
    write({ "0002_sheep.sql": sheep, "0001_herd.sql": herd });
    expect(await migrate(client, { folder })).toEqual({
      applied: ["0001_herd.sql", "0002_sheep.sql"],
    });
    expect(await migrate(client, { folder })).toEqual({ applied: [] });
    expect(await tables()).toEqual(["drover_migration", "herd", "sheep"]);
  });

  test("that are pending can be listed without touching the database", async () => {
    write({ "0001_herd.sql": herd, "0002_sheep.sql": sheep });
    expect(await pendingMigrations(client, { folder })).toEqual([
      "0001_herd.sql",
      "0002_sheep.sql",
    ]);
    expect(await tables()).toEqual([]);
    await migrate(client, { folder });
    expect(await pendingMigrations(client, { folder })).toEqual([]);
  });

  test("a connection that breaks meanwhile fails the call, and ends no process", async () => {
    write({ "0001_herd.sql": "select pg_terminate_backend(pg_backend_pid());" });
    const broken = migrate(database.connectionString, { folder });
    await expect(broken).rejects.toThrow("terminating connection");
    expect(await tables()).toEqual([]);
  });

  test("an empty folder is a schema without tables", async () => {
    expect(await migrate(database.connectionString, { folder })).toEqual({ applied: [] });
  });

  test("the dumped schema beside them is not one of them", async () => {
    write({ "0001_herd.sql": herd, "schema.sql": "this is not applied" });
    expect(await migrate(client, { folder })).toEqual({ applied: ["0001_herd.sql"] });
  });

  test("other line ends do not count as a change", async () => {
    write({ "0001_herd.sql": `${herd}\n` });
    await migrate(client, { folder });
    write({ "0001_herd.sql": `${herd}\r\n` });
    expect(await migrate(client, { folder })).toEqual({ applied: [] });
  });

  test("several programs at once apply each file once", async () => {
    write({ "0001_herd.sql": herd, "0002_sheep.sql": sheep });
    const runs = await Promise.all(
      [1, 2, 3, 4].map(() => migrate(database.connectionString, { folder })),
    );
    expect(runs.flatMap(({ applied }) => applied).sort()).toEqual([
      "0001_herd.sql",
      "0002_sheep.sql",
    ]);
  });

  test("a file that fails leaves nothing of itself and all before it", async () => {
    const broken = "create table drover.wool (id integer);\ncreate table drover.sock (id yarn);";
    write({ "0001_herd.sql": herd, "0002_wool.sql": broken, "0003_sheep.sql": sheep });
    await expect(migrate(client, { folder })).rejects.toThrow(
      /Migration 0002_wool\.sql, line 2 failed: type "yarn" does not exist.*'drover migrate' again/,
    );
    expect(await tables()).toEqual(["drover_migration", "herd"]);
    write({ "0002_wool.sql": "create table drover.wool (id integer);" });
    expect(await migrate(client, { folder })).toEqual({
      applied: ["0002_wool.sql", "0003_sheep.sql"],
    });
  });
});

describe("a migration whose table another session holds", () => {
  let holder: Client;

  beforeEach(async () => {
    holder = new Client({ connectionString: database.connectionString });
    await holder.connect();
    write({ "0001_herd.sql": herd });
    await migrate(client, { folder });
    write({ "0002_wool.sql": "alter table drover.herd add column wool integer;" });
    await holder.query("begin");
    await holder.query("select from drover.herd");
  });
  afterEach(() => holder.end());

  /** A session waits for a lock on the table. */
  const untilWaiting = () =>
    expect
      .poll(
        async () => {
          const waiting = await client.query(
            "select from pg_locks where relation = 'drover.herd'::regclass and not granted",
          );
          return waiting.rowCount ?? 0;
        },
        { interval: 5 },
      )
      .toBe(1);

  test("lets those pass that came behind it, and is applied when the table is free", async () => {
    const applied = migrate(database.connectionString, { folder, lockMs: 500 });
    await untilWaiting();
    const reader = new Client({ connectionString: database.connectionString });
    await reader.connect();
    // It would wait behind the migration, and does for as long as one try takes.
    await reader.query("select from drover.herd");
    await reader.end();
    await holder.query("commit");
    expect(await applied).toEqual({ applied: ["0002_wool.sql"] });
  });

  test("gives up at last, stores nothing, and names the session to find", async () => {
    const options = { folder, lockMs: 5, lockTries: 3 };
    await expect(migrate(database.connectionString, options)).rejects.toThrow(
      /0002_wool\.sql needs a lock that another session holds.*pg_stat_activity.*drover migrate/,
    );
    await holder.query("commit");
    expect(await migrate(client, { folder })).toEqual({ applied: ["0002_wool.sql"] });
  });
});

describe("an older program on a newer schema", () => {
  const beside = (oldest: string, sql: string) => `-- Oldest program: ${oldest}\n${sql}`;
  const wool = "create table drover.wool (id integer);";

  test("works if every file that it does not know names it, or an older one", async () => {
    write({
      "0001_herd.sql": herd,
      "0002_sheep.sql": beside("0001", sheep),
      "0003_wool.sql": beside("0001", wool),
    });
    await migrate(client, { folder });
    rmSync(join(folder, "0003_wool.sql"));
    rmSync(join(folder, "0002_sheep.sql"));
    expect(await migrate(client, { folder })).toEqual({ applied: [] });
    await requireMigrated(client, { folder });
    const states = await migrationStates(client, { folder });
    expect(states.map(({ name, oldestProgram }) => [name, oldestProgram])).toEqual([
      ["0001_herd.sql", 1],
      ["0002_sheep.sql", 1],
      ["0003_wool.sql", 1],
    ]);
  });

  test("is refused as soon as one of them names a newer one", async () => {
    write({
      "0001_herd.sql": herd,
      "0002_sheep.sql": beside("0001", sheep),
      "0003_wool.sql": beside("0002", wool),
    });
    await migrate(client, { folder });
    rmSync(join(folder, "0003_wool.sql"));
    expect(await migrate(client, { folder })).toEqual({ applied: [] });
    rmSync(join(folder, "0002_sheep.sql"));
    for (const refused of [migrate, pendingMigrations, requireMigrated])
      await expect(refused(client, { folder })).rejects.toThrow(
        /at 0003_wool\.sql, which works with programs that know migration 0002 or later, and this program knows 0001_herd\.sql/,
      );
  });

  test("is held to the files that it knows", async () => {
    write({ "0001_herd.sql": herd, "0002_sheep.sql": beside("0001", sheep) });
    await migrate(client, { folder });
    rmSync(join(folder, "0002_sheep.sql"));
    write({ "0001_herd.sql": `${herd} -- and more` });
    await expect(migrate(client, { folder })).rejects.toThrow(/was changed after/);
  });

  test("cannot be one that does not exist", async () => {
    write({ "0001_herd.sql": herd, "0002_sheep.sql": beside("0003", sheep) });
    await expect(migrate(client, { folder })).rejects.toThrow(
      /0002_sheep\.sql says 'Oldest program: 0003'.*from 0001 to 0002/,
    );
  });
});

describe("a program that may not migrate", () => {
  test("refuses a schema that is too old, and changes nothing", async () => {
    write({ "0001_herd.sql": herd });
    await expect(requireMigrated(client, { folder })).rejects.toThrow(
      /schema drover has no tables of Drover, and this program needs 0001_herd\.sql/,
    );
    await migrate(client, { folder });
    await requireMigrated(client, { folder });
    write({ "0002_sheep.sql": sheep });
    await expect(requireMigrated(client, { folder })).rejects.toThrow(
      /schema drover is at 0001_herd\.sql, and this program needs 0002_sheep\.sql.*'drover migrate'/,
    );
    expect(await tables()).toEqual(["drover_migration", "herd"]);
  });
});

describe("where the node of a shard is away, a program that may not migrate", () => {
  beforeEach(async () => {
    write({ "0001_herd.sql": herd });
    await migrate(client, { folder, shards: 2 });
  });

  /** As Citus does it: what is about the tables of this schema fails. */
  async function loseNodeOf(schema: string): Promise<void> {
    await client.query(`
      create function ${schema}.away() returns boolean language plpgsql as $$
      begin
        raise exception 'connection to the remote node 10.0.0.5:5432 failed' using errcode = '08006';
      end $$;
      alter table ${schema}.drover_migration rename to kept;
      create view ${schema}.drover_migration as select * from ${schema}.kept where ${schema}.away();
    `);
  }

  test("starts, and learns the schema of that shard", async () => {
    await loseNodeOf("drover_shard_1");
    const away: string[] = [];
    const onUnreachable = (schema: string): unknown => away.push(schema);
    await requireMigrated(client, { folder, onUnreachable });
    expect(away).toEqual(["drover_shard_1"]);
    await expect(requireMigrated(client, { folder })).rejects.toThrow(/10\.0\.0\.5:5432 failed/);
    await expect(migrate(client, { folder, onUnreachable })).rejects.toThrow(/10\.0\.0\.5:5432/);
  });

  test("is refused as ever if the other shards are too old", async () => {
    await loseNodeOf("drover_shard_1");
    write({ "0002_sheep.sql": sheep });
    const onUnreachable = (): void => undefined;
    await expect(requireMigrated(client, { folder, onUnreachable })).rejects.toThrow(
      /schema drover is at 0001_herd\.sql, and this program needs 0002_sheep\.sql/,
    );
  });

  test("needs the first shard", async () => {
    await loseNodeOf("drover_shard_0");
    const onUnreachable = (): void => undefined;
    await expect(requireMigrated(client, { folder, onUnreachable })).rejects.toThrow(
      /schema drover_shard_0 does not answer: .*10\.0\.0\.5:5432 failed\. Start that node/,
    );
  });
});

describe("refused, with nothing changed, is", () => {
  test("a file changed after it was applied", async () => {
    write({ "0001_herd.sql": herd });
    await migrate(client, { folder });
    write({ "0001_herd.sql": `${herd} -- and more`, "0002_sheep.sql": sheep });
    await expect(migrate(client, { folder })).rejects.toThrow(
      /0001_herd\.sql was changed after this database applied it/,
    );
    await expect(pendingMigrations(client, { folder })).rejects.toThrow(/was changed/);
    expect(await tables()).toEqual(["drover_migration", "herd"]);
  });

  test("a gap in the numbers of the files", async () => {
    write({ "0001_herd.sql": herd, "0003_sheep.sql": sheep });
    await expect(migrate(client, { folder })).rejects.toThrow(
      /Migration 0002 is missing.*0001_herd\.sql is followed by 0003_sheep\.sql/,
    );
    expect(await tables()).toEqual([]);
  });

  test("a number used twice", async () => {
    write({ "0001_herd.sql": herd, "0001_sheep.sql": sheep });
    await expect(migrate(client, { folder })).rejects.toThrow(/no gaps and no doubles/);
  });

  test("a name that has no number", async () => {
    write({ "sheep.sql": sheep });
    await expect(migrate(client, { folder })).rejects.toThrow(/is no name for a migration/);
  });

  test("a gap in what the database recorded", async () => {
    write({ "0001_herd.sql": herd, "0002_sheep.sql": sheep });
    await migrate(client, { folder });
    await client.query("delete from drover.drover_migration where number = 1");
    await expect(migrate(client, { folder })).rejects.toThrow(/no record of 0001_herd\.sql/);
  });

  test("a database that a newer program has migrated", async () => {
    write({ "0001_herd.sql": herd, "0002_sheep.sql": sheep });
    await migrate(client, { folder });
    rmSync(join(folder, "0002_sheep.sql"));
    await expect(migrate(client, { folder })).rejects.toThrow(
      /newer Drover: it is at 0002_sheep\.sql, .* and this program knows 0001_herd\.sql/,
    );
  });

  test("a schema that an earlier form of the record describes", async () => {
    await client.query(`create schema drover;
      create table drover.drover_migration (number integer, name text, checksum text)`);
    write({ "0001_herd.sql": herd });
    await expect(migrate(client, { folder })).rejects.toThrow(
      /unreleased Drover.*drop that schema/,
    );
  });

  test("a file that ends its own transaction", async () => {
    write({ "0001_herd.sql": `${herd}\ncommit;` });
    await expect(migrate(client, { folder })).rejects.toThrow(/contains 'commit'/);
  });
});

describe("the schema written from the catalogue", () => {
  const everything = `
    create schema drover;
    create table drover.herd (id bigint generated always as identity primary key,
      name text collate "C" not null unique check (name <> 'Wolf'), wool bytea)
      with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_enabled = off);
    alter table drover.herd alter column wool set storage external;
    create table drover.walk (day date not null, herd bigint references drover.herd, primary key (day))
      partition by range (day);
    create table drover.walk_2026 partition of drover.walk for values from ('2026-01-01') to ('2027-01-01');
    create index walk_herd on drover.walk (herd, day desc) where herd > 2;
    create view drover.lone as select herd.id, herd.name || ' herd.id' as label from drover.herd where exists (
      select from drover.walk where walk.herd = herd.id);
    create function drover.twice(n integer) returns integer language sql immutable as 'SELECT n * 2';
    comment on table drover.herd is 'who''s there';`;

  async function dumpOf(sql: string): Promise<string> {
    const fresh = await createTestDatabase({ empty: true });
    const session = new Client({ connectionString: fresh.connectionString });
    await session.connect();
    try {
      await session.query(sql);
      return await dumpSchema(session);
    } finally {
      await session.end();
      await fresh.drop();
    }
  }

  test("gives itself again when it is run on an empty database", async () => {
    const dump = await dumpOf(everything);
    expect(await dumpOf(dump)).toBe(dump);
  });

  test("lists columns, constraints, storage, partitions, indexes and views", async () => {
    const dump = await dumpOf(everything);
    for (const line of [
      'name text collate "C" not null',
      "constraint herd_name_check check ((name <> 'Wolf'::text))",
      "with (autovacuum_vacuum_scale_factor=0.01, fillfactor=50, toast.autovacuum_enabled=off)",
      "alter table drover.herd alter column wool set storage external;",
      ") partition by range (day);",
      "create table drover.walk_2026 partition of drover.walk for values from ('2026-01-01') to ('2027-01-01');",
      "create index walk_herd on drover.walk using btree (herd, day desc) where (herd > 2);",
      "alter table drover.walk add constraint walk_herd_fkey foreign key (herd) references drover.herd(id);",
      "as $function$SELECT n * 2$function$",
      // The same on every version: named in the subquery only, and never in a text.
      " select id,\n    name || ' herd.id'::text as label",
      "where walk.herd = herd.id",
      "comment on table drover.herd is 'who''s there';",
    ]) {
      expect(dump).toContain(line);
    }
  });

  test("does not depend on the search path of the session", async () => {
    const dump = await dumpOf(everything);
    expect(await dumpOf(`${everything} set search_path = pg_catalog;`)).toBe(dump);
  });

  test("is stored beside the migrations: after a change, run npm run schema", async () => {
    const stored = readFileSync(join(import.meta.dirname, "../../migrations/schema.sql"), "utf8");
    const migrated = await createTestDatabase();
    const session = new Client({ connectionString: migrated.connectionString });
    await session.connect();
    const dump = await dumpSchema(session);
    await session.end();
    await migrated.drop();
    expect(dump).toBe(stored);
  });
});
