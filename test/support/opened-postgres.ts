/** A PostgreSQL store on a database of its own, which goes when it is closed. */
import pino from "pino";
import { migrate } from "../../server/store/postgres/migrate.ts";
import { MIGRATIONS } from "../../server/store/postgres/migrations-folder.ts";
import {
  createPostgresShards,
  createPostgresStore,
} from "../../server/store/postgres/postgres-store.ts";
import { shardPlaces } from "../../server/store/postgres/shard-address.ts";
import type { Shards } from "../../server/store/shards.ts";
import type { Store } from "../../server/store/store.ts";
import { citusUrl } from "./citus.ts";
import { createTestDatabase, type TestDatabase } from "./postgres.ts";
import { testShards } from "./test-shards.ts";

export interface OpenedPostgres {
  readonly store: Store;
  close(): Promise<void>;
}

interface OpenedShards {
  readonly shards: Shards<Store>;
  readonly connectionString: string;
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

/** Of a store of so many shards; on Citus, as many as DROVER_SHARDS says. */
export async function createShardsDatabase(count: number): Promise<TestDatabase> {
  if (citusUrl !== undefined) {
    if (count === testShards) return createTestDatabase({ shards: true });
    throw new Error(`set DROVER_SHARDS=${count}: a test database on Citus has so many shards`);
  }
  const database = await createTestDatabase({ empty: true });
  await migrate(database.connectionString, { folder: MIGRATIONS, shards: count });
  return database;
}

/** As `createShardsDatabase`. */
export async function openPostgresShards(count: number): Promise<OpenedShards> {
  const { connectionString, drop } = await createShardsDatabase(count);
  const log = pino({ level: "silent" });
  const places = await shardPlaces(connectionString);
  const shards = createPostgresShards(
    places.map(({ schema, address }) => {
      return { connectionString: address ?? connectionString, log, schema };
    }),
  );
  return {
    shards,
    connectionString,
    close: async () => {
      await Promise.all(shards.all.map((store) => store.close()));
      await drop();
    },
  };
}
