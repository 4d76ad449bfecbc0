/** The PostgreSQL store keeps the contract. */
import pino from "pino";
import { createPostgresStore } from "../../server/store/postgres/postgres-store.ts";
import { createTestDatabase } from "../support/postgres.ts";
import type { OpenedStore } from "./fixture.ts";
import { describeStore } from "./store-contract.ts";

async function openPostgres(): Promise<OpenedStore> {
  const database = await createTestDatabase();
  const store = await createPostgresStore({
    connectionString: database.connectionString,
    log: pino({ level: "silent" }),
  });
  return {
    store,
    elapse: async () => undefined,
    close: async () => {
      await store.close();
      await database.drop();
    },
  };
}

describeStore("PostgreSQL store", openPostgres);
