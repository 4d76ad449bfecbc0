/**
 * An embedded PostgreSQL as a service: a real server, started from the programs from npm, for
 * `drover dev`, the demo and the tests.
 *
 *     stopped --start--> running --stop or kill--> stopped      (each may be called at any time)
 *
 * Promises: `start` gives a server that answers, with the data of the last time and, if the port is
 * free, on the port of the last time. A server that a killed process left running is taken over. A
 * server that a living process owns is shared, and stopped only by that process (owner.ts). `stop`
 * returns when the server has ended. Calls are executed one after the other.
 *
 * Drover's own role is no superuser, since Drover must not need one; the superuser `postgres` is
 * for people and tests.
 */

import { type Clock, type Random, systemClock, systemRandom } from "@drover/server/clock.ts";
import type { LaunchDatabase } from "@drover/server/config.ts";
import { Client } from "pg";
import { findPackage } from "./binaries.ts";
import { type Cluster, clusterPaths, openCluster } from "./cluster.ts";
import { becomeOwner, hasLivingOwner, isOwner } from "./owner.ts";
import { bringUp, endPostmaster, findPostmaster, type LivePostmaster } from "./postmaster.ts";

export interface EmbeddedPostgresOptions {
  /** Created if it does not exist. */
  readonly dataDir: string;
  readonly log: (message: string) => void;
  /** Default true. False is for tests: much faster, but a power failure may destroy the data. */
  readonly durable?: boolean;
  /** PostgreSQL settings that add to the defaults or replace them. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Added to the environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: where npm put the package for this platform. */
  readonly packageDir?: string;
  readonly clock?: Clock;
  readonly random?: Random;
}

interface EmbeddedPostgresAddress {
  /** The database `drover`, as the role that owns it. */
  readonly connectionString: string;
  /** The database `postgres`, as superuser. */
  readonly adminConnectionString: string;
}

export interface EmbeddedPostgres {
  start(): Promise<EmbeddedPostgresAddress>;
  /** Aborts running statements, writes a checkpoint, and returns when the server has ended. */
  stop(): Promise<void>;
  /** Ends the server like a crash, for tests. */
  kill(): Promise<void>;
}

const fastStopMsMax = 30_000;
const immediateStopMsMax = 10_000;

/** For a small machine that also runs everything else. */
const ourSettings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  shared_buffers: "128MB",
  max_connections: "200",
  max_wal_size: "1GB",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  lc_messages: "C",
} as const;

const carelessSettings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

export function createEmbeddedPostgres(options: EmbeddedPostgresOptions): EmbeddedPostgres {
  const { dataDir, log, durable = true, env = {} } = options;
  const { clock = systemClock, random = systemRandom } = options;
  const paths = clusterPaths(dataDir);
  const instance = Buffer.from(random.bytes(8)).toString("hex");
  const settings = {
    ...ourSettings,
    ...(durable ? {} : carelessSettings),
    ...options.settings,
  };
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work, work);
    last = result.catch(() => undefined);
    return result;
  };

  /**
   * A program that exits without `stop` stops its server; only SIGKILL leaves the server running.
   */
  const stopAtExit = () => {
    const left = findPostmaster(paths.data);
    if (left.kind === "live" && isOwner(paths.ownerFile, instance))
      process.kill(left.pid, "SIGINT");
  };

  const start = async (): Promise<EmbeddedPostgresAddress> => {
    const packageDir = options.packageDir ?? findPackage();
    const cluster = await openCluster({ dataDir, packageDir, durable, random });
    const ownedBefore = isOwner(cluster.ownerFile, instance);
    const { live, started } = await bringUp(cluster, { settings, env, clock, random });
    const owns = becomeOwner(cluster.ownerFile, instance);
    process.off("exit", stopAtExit);
    if (owns) process.on("exit", stopAtExit);
    const address = addressOf(cluster, live);
    await ensureDatabase(address.adminConnectionString, cluster.password);
    const how = started ? "started" : owns ? "found running and taken over" : "shared";
    const what = `PostgreSQL ${cluster.binaries.version} ${how} on 127.0.0.1:${live.port}`;
    if (started || !ownedBefore) log(`${what}, data in ${dataDir}`);
    return address;
  };

  const stop = async (): Promise<void> => {
    process.off("exit", stopAtExit);
    if (!isOwner(paths.ownerFile, instance)) return;
    await endOrThrow(paths.data, clock);
  };

  const kill = async (): Promise<void> => {
    await endPostmaster(paths.data, "SIGKILL", immediateStopMsMax, clock);
  };

  return Object.freeze({
    start: () => inTurn(start),
    stop: () => inTurn(stop),
    kill: () => inTurn(kill),
  });
}

/** What starts a server of Drover's together with a database of its own, in the folder. */
export function postgresLauncher(dataDir: string): LaunchDatabase {
  return async (say) => {
    const postgres = createEmbeddedPostgres({ dataDir, log: say });
    try {
      const { connectionString } = await postgres.start();
      return { connectionString, stop: postgres.stop };
    } catch (error) {
      await postgres.stop().catch(() => undefined);
      throw error;
    }
  };
}

/** Stops the server of a data directory if the process that started it is gone. */
export async function stopAbandonedPostgres(dataDir: string, clock = systemClock): Promise<void> {
  const paths = clusterPaths(dataDir);
  if (!hasLivingOwner(paths.ownerFile)) await endOrThrow(paths.data, clock);
}

async function endOrThrow(data: string, clock: Clock): Promise<void> {
  if (await endPostmaster(data, "SIGINT", fastStopMsMax, clock)) return;
  // Without a checkpoint; the next start recovers. Nothing committed is lost.
  if (await endPostmaster(data, "SIGQUIT", immediateStopMsMax, clock)) return;
  throw new Error(`PostgreSQL in ${data} does not end. Its log is beside that folder.`);
}

function addressOf(cluster: Cluster, { port }: LivePostmaster): EmbeddedPostgresAddress {
  const url = (role: string, database: string) =>
    `postgresql://${role}:${cluster.password}@127.0.0.1:${port}/${database}`;
  return Object.freeze({
    connectionString: url("drover", "drover"),
    adminConnectionString: url("postgres", "postgres"),
  });
}

/** Another process may be creating the same objects at the same time. */
const existsAlready = new Set(["42710", "42P04", "23505"]);

async function ensureDatabase(adminConnectionString: string, password: string): Promise<void> {
  const client = new Client({ connectionString: adminConnectionString });
  // Without a listener, a server that ends between two statements would end this process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    const found = await client.query("select from pg_database where datname = 'drover'");
    if (found.rowCount === 1) return;
    const literal = client.escapeLiteral(password);
    for (const statement of [
      `create role drover login createdb password ${literal}`,
      "create database drover owner drover",
    ]) {
      await client.query(statement).catch((error: unknown) => {
        const code = error instanceof Error && "code" in error ? String(error.code) : "";
        if (!existsAlready.has(code)) throw error;
      });
    }
  } finally {
    await client.end();
  }
}
