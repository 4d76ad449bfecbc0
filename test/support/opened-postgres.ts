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
import { createTestDatabase } from "./postgres.ts";
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

/** A store of so many shards; on Citus, as many as DROVER_SHARDS says. */
export async function openPostgresShards(count: number): Promise<OpenedShards> {
  const isOnCitus = citusUrl !== undefined;
  if (isOnCitus && count !== testShards)
    throw new Error(`set DROVER_SHARDS=${count}: a test database on Citus has so many shards`);
  const { connectionString, drop } = await createTestDatabase(
    isOnCitus ? { shards: true } : { empty: true },
  );
  if (!isOnCitus) await migrate(connectionString, { folder: MIGRATIONS, shards: count });
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
