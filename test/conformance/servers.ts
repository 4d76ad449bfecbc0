/** The servers that all scenarios share: two of them, on one database of their own. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createEmbeddedPostgres } from "../../dev-postgres/postgres.ts";
import { startServer } from "../../server/main.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import type { Servers } from "./stage.ts";

export interface RunningServers extends Servers {
  stop(): Promise<void>;
}

/** On this database; without one they get a PostgreSQL of their own. */
export async function startServers(url?: string): Promise<RunningServers> {
  const postgres = url === undefined ? await startPostgres() : null;
  const connectionString = url ?? postgres?.connectionString ?? "";
  const start = () =>
    startServer({
      address: "127.0.0.1:0",
      database: { kind: "url", url: connectionString },
      log: { level: "silent" },
    });
  const first = await start();
  const second = await start();
  return Object.freeze({
    first: first.address,
    second: second.address,
    connectionString,
    async stop(): Promise<void> {
      await Promise.all([first.stop(), second.stop()]);
      await postgres?.stop();
    },
  });
}

async function startPostgres() {
  const folder = makeTestFolder();
  const postgres = createEmbeddedPostgres({
    dataDir: join(folder, "data"),
    durable: false,
    log: () => undefined,
  });
  const { connectionString } = await postgres.start();
  return {
    connectionString,
    async stop(): Promise<void> {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
