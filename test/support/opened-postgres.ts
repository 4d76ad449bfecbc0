/** A PostgreSQL store on a database of its own, which goes when it is closed. */
import pino from "pino";
import { DATABASE_SCHEMA, shardSchema } from "../../server/store/postgres/database-schema.ts";
import { migrate } from "../../server/store/postgres/migrate.ts";
import { MIGRATIONS } from "../../server/store/postgres/migrations-folder.ts";
import {
  createPostgresShards,
  createPostgresStore,
} from "../../server/store/postgres/postgres-store.ts";
import type { Shards } from "../../server/store/shards.ts";
import type { Store } from "../../server/store/store.ts";
import { createTestDatabase } from "./postgres.ts";

export interface OpenedPostgres {
  readonly store: Store;
  close(): Promise<void>;
}

export async function openPostgres(): Promise<OpenedPostgres> {
  const database = await createTestDatabase();
  const store = createPostgresStore({
    connectionString: database.connectionString,
    log: pino({ level: "silent" }),
  });
  return {
    store,
    close: async () => {
      await store.close();
      await database.drop();
    },
  };
}

/** A store of so many shards, on one database. */
export async function openPostgresShards(
  count: number,
): Promise<{ readonly shards: Shards<Store>; close(): Promise<void> }> {
  const { connectionString, drop } = await createTestDatabase({ empty: true });
  await migrate(connectionString, { folder: MIGRATIONS, shards: count });
  const log = pino({ level: "silent" });
  const shards = createPostgresShards(
    Array.from({ length: count }, (_, number) => {
      return { connectionString, log, schema: shardSchema(DATABASE_SCHEMA, number) };
    }),
  );
  return {
    shards,
    close: async () => {
      await Promise.all(shards.all.map((store) => store.close()));
      await drop();
    },
  };
}
