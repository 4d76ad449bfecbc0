/**
 * A database of its own for a test file: a clone of the migrated template. If DROVER_CITUS is set,
 * it is on that Citus cluster (citus.ts).
 *
 *     const database = await createTestDatabase();    // in beforeAll
 *     await database.drop();                          // in afterAll
 */
import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { inject } from "vitest";
import { citusUrl, cloneCitus } from "./citus.ts";
import { shardsTemplateDatabase, templateDatabase } from "./global-postgres.ts";
import { testShards } from "./test-shards.ts";

export interface TestDatabase {
  readonly connectionString: string;
  /** As superuser, for what Drover itself must never need. */
  readonly adminConnectionString: string;
  /** Ends the connections that are still open, too. */
  drop(): Promise<void>;
}

/** PostgreSQL refuses to clone a database that is being cloned. */
const cloneLockKey = 7_311_002;

/**
 * `empty` gives a database without any tables, `shards` one of as many shards as DROVER_SHARDS says
 * (test-shards.ts).
 */
export async function createTestDatabase({
  empty = false,
  shards = false,
}: {
  empty?: boolean;
  shards?: boolean;
} = {}): Promise<TestDatabase> {
  const suffix = randomBytes(6).toString("hex");
  const citusTemplate = inject(shards && testShards > 1 ? "citusShardsUrl" : "citusTemplateUrl");
  if (citusUrl !== undefined && citusTemplate !== undefined && !empty) {
    const clone = await cloneCitus(citusUrl, citusTemplate, suffix);
    return Object.freeze({ ...clone, adminConnectionString: clone.connectionString });
  }
  const name = `test_${suffix}`;
  const serverUrl = inject("testServerUrl");
  const migrated = shards && testShards > 1 ? shardsTemplateDatabase : templateDatabase;
  await onServer(serverUrl, async (client) => {
    await client.query("select pg_advisory_lock($1)", [cloneLockKey]);
    await client.query(`create database ${name} template ${empty ? "template0" : migrated}`);
  });
  const urlAt = (server: string) => new URL(`/${name}`, server).href;
  // Not `with (force)`: that is refused while a vacuum of the server's own, which is no connection
  // of ours, works on the database; without it the drop ends the vacuum itself.
  const drop = () =>
    onServer(serverUrl, async (client) => {
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = $1 and backend_type = 'client backend'`,
        [name],
      );
      await client.query(`drop database if exists ${name}`);
    });
  return Object.freeze({
    connectionString: urlAt(serverUrl),
    adminConnectionString: urlAt(inject("testAdminUrl")),
    drop,
  });
}

/** The end of the connection releases the lock. */
async function onServer(url: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
