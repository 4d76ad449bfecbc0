// What a profile measures: a PostgreSQL of its own, durable as a user's would be, and a server as a
// process of its own beside it; and what the two have used.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { createEmbeddedPostgres } from "../server/embedded/postgres.ts";
import { cpuSeconds } from "./machine.ts";

export interface BenchWorld {
  /** `host:port` of the server. */
  readonly address: string;
  readonly database: Client;
  /** What server and database have used so far. */
  used(): Promise<Used>;
  stop(): Promise<void>;
}

export interface Used {
  readonly serverCpuS: number;
  readonly databaseCpuS: number;
  readonly walBytes: number;
  readonly commits: number;
}

/** A PostgreSQL in a folder that is gone when it stops, with these settings beside the usual. */
export async function openDatabase(settings: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "drover-bench-"));
  // PostgreSQL may have to run under another account, which must be able to pass.
  chmodSync(folder, 0o711);
  const postgres = createEmbeddedPostgres({
    ...{ dataDir: join(folder, "data"), log: () => undefined, settings },
  });
  const address = await postgres.start();
  return Object.freeze({
    ...address,
    async stop() {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  });
}

export const SERVER_PROGRAM = "../test/support/server-process.ts";

export async function openWorld(): Promise<BenchWorld> {
  const postgres = await openDatabase();
  const { connectionString, adminConnectionString } = postgres;
  const server = await startProgram(SERVER_PROGRAM, [connectionString]);
  const database = new Client({ connectionString });
  const admin = new Client({ connectionString: adminConnectionString });
  await Promise.all([database.connect(), admin.connect()]);
  const postmaster = Number(
    await one(admin, "select split_part(pg_read_file('postmaster.pid'), chr(10), 1)"),
  );
  return Object.freeze({
    address: server.said,
    database,
    async used() {
      const wal = await one(admin, "select wal_bytes from pg_stat_wal");
      const commits = await one(
        admin,
        "select xact_commit from pg_stat_database where datname = 'drover'",
      );
      return {
        serverCpuS: cpuSeconds(server.child.pid ?? 0),
        databaseCpuS: cpuSeconds(postmaster),
        walBytes: Number(wal),
        commits: Number(commits),
      };
    },
    async stop() {
      await Promise.all([database.end(), admin.end()]);
      server.child.kill("SIGTERM");
      await once(server.child, "exit");
      await postgres.stop();
    },
  });
}

/** The first line that a program says, once it has said it; its path is seen from this folder. */
export async function startProgram(
  name: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, name), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [said] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => {
      throw new Error(`${name} ended before it said anything`);
    }),
  ]);
  return { child, said: String(said) };
}

async function one(client: Client, sql: string): Promise<unknown> {
  const { rows } = await client.query<Record<string, unknown>>(sql);
  return Object.values(rows[0] ?? {})[0];
}
