/** A PostgreSQL store on a database of its own, which goes when it is closed. */
import pino from "pino";
import { createPostgresStore } from "../../server/store/postgres/postgres-store.ts";
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
