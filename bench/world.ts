// What a profile measures: a PostgreSQL of its own, durable as a user's would be, and a server as a
// process of its own beside it; and what the two have used.
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { createEmbeddedPostgres } from "../dev-postgres/postgres.ts";
import { migrate } from "../server/store/postgres/migrate.ts";
import { MIGRATIONS } from "../server/store/postgres/migrations-folder.ts";
import { cpuSeconds, memoryMiB } from "./machine.ts";

export { MIGRATIONS };

export interface BenchWorld {
  /** `host:port` of the server. */
  readonly address: string;
  readonly database: Client;
  /** Of the database, for sessions of one's own. */
  readonly connectionString: string;
  /** What server and database have used so far. */
  used(): Promise<Used>;
  /** Polls that wait at the server. */
  pollsParked(): Promise<number>;
  /** Kills the server, and starts another one at its address; returns when it listens. */
  replaceServer(): Promise<void>;
  /** How often each statement was sent so far, by its text. */
  statements(): Promise<ReadonlyMap<string, number>>;
  /** Where it is, once it is there. */
  newDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

export interface Used extends DatabaseUsed {
  readonly serverCpuS: number;
  /** Not so far, but now: resident memory of the server. */
  readonly serverRssMiB: number;
}

export interface DatabaseUsed {
  readonly databaseCpuS: number;
  readonly walBytes: number;
  /** Pages that were written whole: changed for the first time after a checkpoint. */
  readonly walFullPages: number;
  readonly commits: number;
  /** That were sent to the databases named, by the server, or whatever is measured. */
  readonly statements: number;
}

/**
 * A PostgreSQL in a folder that is gone when it stops, with these settings beside the default ones.
 */
export async function openDatabase(settings: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "drover-bench-"));
  // PostgreSQL may have to run under another account, which must be able to pass.
  chmodSync(folder, 0o711);
  const postgres = createEmbeddedPostgres({
    dataDir: join(folder, "data"),
    log: () => undefined,
    settings,
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

/**
 * What it has used so far: all of it, of CPU and log; these databases, of commits and statements.
 * `admin` is its superuser's session, in a database that has pg_stat_statements.
 */
export async function watchDatabase(
  admin: Client,
  names: readonly string[],
): Promise<() => Promise<DatabaseUsed>> {
  const postmaster = Number(
    await one(admin, "select split_part(pg_read_file('postmaster.pid'), chr(10), 1)"),
  );
  return async () => ({
    databaseCpuS: cpuSeconds(postmaster),
    walBytes: Number(await one(admin, "select wal_bytes from pg_stat_wal")),
    walFullPages: Number(await one(admin, "select wal_fpi from pg_stat_wal")),
    commits: Number(
      await one(
        admin,
        "select sum(xact_commit) from pg_stat_database where datname = any($1)",
        names,
      ),
    ),
    statements: Number(
      await one(
        admin,
        `select coalesce(sum(calls), 0) from pg_stat_statements as s
         join pg_database as d on d.oid = s.dbid where d.datname = any($1)`,
        names,
      ),
    ),
  });
}

export const SERVER_PROGRAM = "../test/support/server-process.ts";
const serverFlags: string[] = [];

/** Servers write down in `folder`, when they end, what they have spent their CPU on. */
export function profileServers(folder: string): void {
  serverFlags.push("--cpu-prof", `--cpu-prof-dir=${folder}`);
}

/** `settings` of PostgreSQL, beside the default ones. `shards`: of the store. */
export async function openWorld(
  settings: Readonly<Record<string, string>> = {},
  shards = 1,
): Promise<BenchWorld> {
  const postgres = await openDatabase({
    ...settings,
    shared_preload_libraries: "pg_stat_statements",
  });
  const { connectionString, adminConnectionString } = postgres;
  if (shards > 1) await migrate(connectionString, { folder: MIGRATIONS, shards });
  let server = await startProgram(SERVER_PROGRAM, [connectionString]);
  const address = server.firstLine;
  const database = new Client({ connectionString });
  const admin = new Client({ connectionString: adminConnectionString });
  await Promise.all([database.connect(), admin.connect()]);
  await admin.query("create extension pg_stat_statements; grant pg_checkpoint to drover");
  const databaseUsed = await watchDatabase(admin, ["drover"]);
  return Object.freeze({
    address,
    database,
    connectionString,
    async used() {
      return {
        serverCpuS: cpuSeconds(server.child.pid ?? 0),
        ...(await databaseUsed()),
        serverRssMiB: memoryMiB(server.child.pid ?? 0),
      };
    },
    async pollsParked() {
      const page = await fetch(`http://${address}/metrics`);
      const line = /^drover_polls_parked(?:{.*})? (\d+)/m.exec(await page.text());
      if (!line) throw new Error(`http://${address}/metrics has no drover_polls_parked`);
      return Number(line[1]);
    },
    async replaceServer() {
      const ended = once(server.child, "exit");
      server.child.kill("SIGKILL");
      await ended;
      server = await startProgram(SERVER_PROGRAM, [connectionString, address]);
    },
    async statements() {
      const { rows } = await admin.query<{ query: string; calls: number }>(
        `select s.query, sum(s.calls)::float8 as calls from pg_stat_statements as s
         join pg_database as d on d.oid = s.dbid where d.datname = 'drover' group by s.query`,
      );
      return new Map(rows.map(({ query, calls }) => [query, calls]));
    },
    async newDatabase(name) {
      await admin.query(`create database ${name} owner drover`);
      const url = new URL(connectionString);
      url.pathname = `/${name}`;
      return url.href;
    },
    async stop() {
      await Promise.all([database.end(), admin.end()]);
      server.child.kill("SIGTERM");
      await once(server.child, "exit");
      await postgres.stop();
    },
  } satisfies BenchWorld);
}

/** The first line that a program prints; its path is relative to this folder. */
export async function startProgram(
  name: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; firstLine: string }> {
  const flags = name === SERVER_PROGRAM ? serverFlags : [];
  const child = spawn(process.execPath, [...flags, join(import.meta.dirname, name), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [firstLine] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => {
      throw new Error(`${name} ended before it said anything`);
    }),
  ]);
  return { child, firstLine: String(firstLine) };
}

/** A program of a benchmark that exchanges messages with its parent while it runs. */
export interface Worker {
  send(message: number): void;
  onMessage(listener: (message: unknown) => void): void;
  /** What it has used so far. */
  cpuS(): number;
  kill(): Promise<void>;
}

/** Its path is relative to this folder; it has printed its first line. */
export async function startWorker(name: string, args: readonly string[]): Promise<Worker> {
  const child = fork(join(import.meta.dirname, name), [...args]);
  const ended = once(child, "exit");
  await Promise.race([
    once(child, "message"),
    ended.then(() => {
      throw new Error(`${name} ended before it said anything`);
    }),
  ]);
  return Object.freeze({
    send: (message) => void child.send(message),
    onMessage: (listener) => void child.on("message", listener),
    cpuS: () => cpuSeconds(child.pid ?? 0),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  } satisfies Worker);
}

async function one(client: Client, sql: string, ...given: unknown[]): Promise<unknown> {
  const { rows } = await client.query<Record<string, unknown>>(sql, given);
  return Object.values(rows[0] ?? {})[0];
}
