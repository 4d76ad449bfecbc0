// PostgreSQL: a primary, and a standby that confirms each commit before it is answered. The standby
// can be promoted; the old primary is then fenced, thrown away, and replaced by a new standby.
//
//   alone --addStandby--> pair --promote--> alone (another timeline) --addStandby--> pair
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { chown } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { accountFor } from "../../dev-postgres/account.ts";
import { clusterPaths } from "../../dev-postgres/cluster.ts";
import { createEmbeddedPostgres, type EmbeddedPostgres } from "../../dev-postgres/postgres.ts";
import { findPostmaster } from "../../dev-postgres/postmaster.ts";
import { migrate } from "../../server/store/postgres/migrate.ts";
import { until } from "../support/until.ts";
import { type Orders, type Preload, preloadedWith } from "./preloaded.ts";

export interface Database {
  /** host:port of the primary. */
  readonly address: () => string;
  /** As the role of Drover, with another address in it. */
  connectionString(address?: string): string;
  /** As the superuser, in the database of Drover, at the primary itself. */
  admin<T>(work: (client: Client) => Promise<T>): Promise<T>;
  /** `fast` aborts statements and writes a checkpoint; the others are crashes. */
  stop(how: "fast" | "immediate" | "kill"): Promise<void>;
  /** Starts the primary again; returns when it answers. */
  start(): Promise<void>;
  /** Starts the primary, and does not wait. */
  startWithoutWaiting(): Promise<void>;
  /** To what is preloaded into the primary: what is not named is as without a fault. */
  order(orders: Partial<Omit<Orders, "clockMs">>): void;
  /** Moves the wall clock of primary and standby, as if they were on one machine. */
  jumpClock(byMs: number): void;
  /** The pid of the primary, if it runs. */
  readonly pid: () => number | null;
  /** null: this database has no standby. */
  readonly standby: Standby | null;
  stopAll(): Promise<void>;
}

export interface Standby {
  /**
   * Makes the standby the primary. The old one is killed before, or, as an island, after
   * `fence` has cut everyone off from it.
   */
  promote(how: "killed" | "island", fence: () => void): Promise<void>;
  /** Builds a standby from the primary; returns when it confirms commits. */
  add(): Promise<void>;
}

interface Node {
  readonly name: string;
  readonly folder: string;
  readonly postgres: EmbeddedPostgres;
  readonly order: Database["order"];
}

export const MIGRATIONS = join(import.meta.dirname, "../../migrations");
const SETTINGS = {
  max_connections: "120",
  shared_buffers: "64MB",
  wal_keep_size: "512MB",
  log_checkpoints: "off",
  // A standby that is gone is noticed soon.
  wal_sender_timeout: "10s",
  wal_receiver_timeout: "10s",
};
const STANDBY_MS_MAX = 60_000;

export async function createDatabase(folder: string, preload: Preload): Promise<Database> {
  let number = 0;
  let clockMs = 0;
  const nodeIn = (name: string): Node => {
    const dataDir = join(folder, name);
    const settings = { ...SETTINGS, cluster_name: name };
    const preloaded =
      preload.kind === "ready" ? preloadedWith(preload.library, `${dataDir}.orders`) : null;
    const env = preloaded?.env ?? {};
    return {
      name,
      folder: dataDir,
      postgres: createEmbeddedPostgres({ dataDir, log: () => undefined, settings, env }),
      order(orders) {
        if (!preloaded) throw new Error(`nothing is preloaded into ${name}`);
        preloaded.order({ ...orders, clockMs });
      },
    };
  };
  const nextName = (): string => {
    number += 1;
    return `database-${number}`;
  };
  let primary = nodeIn(nextName());
  let standby: Node | null = null;
  let urls = await primary.postgres.start();
  await migrate(urls.connectionString, { folder: MIGRATIONS });

  const admin = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const url = new URL(urls.adminConnectionString);
    url.pathname = new URL(urls.connectionString).pathname;
    const client = new Client({ connectionString: url.href });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  const waitForStandby = async (names: "*" | ""): Promise<void> => {
    await admin(async (client) => {
      await client.query(`alter system set synchronous_standby_names = '${names}'`);
      await client.query("select pg_reload_conf()");
    });
  };
  const pidOf = (node: Node | null): number | null => {
    const found = node && findPostmaster(clusterPaths(node.folder).data);
    return found?.kind === "live" ? found.pid : null;
  };
  const discard = async (node: Node): Promise<void> => {
    await node.postgres.kill();
    rmSync(node.folder, { recursive: true, force: true });
  };

  async function addStandby(): Promise<void> {
    const name = nextName();
    const { hostname: host, port, password } = new URL(urls.adminConnectionString);
    const source = { host, port, user: "postgres", password, application_name: name };
    await copyOf(primary.folder, join(folder, name), admin, source);
    standby = nodeIn(name);
    if (preload.kind === "ready") standby.order({});
    await standby.postgres.start();
    await waitForStandby("*");
    const isSync = () =>
      admin(async (client) => {
        const { rows } = await client.query(
          "select from pg_stat_replication where sync_state in ('sync', 'quorum')",
        );
        return rows.length > 0 ? true : null;
      });
    await until("the standby confirms commits", isSync, STANDBY_MS_MAX);
  }

  async function promote(how: "killed" | "island", fence: () => void): Promise<void> {
    const old = primary;
    const next = standby;
    if (!next) throw new Error("there is no standby to promote");
    if (how === "killed") await old.postgres.kill();
    else fence();
    standby = null;
    primary = next;
    urls = await next.postgres.start();
    await admin((client) => client.query("select pg_promote(true, 30)"));
    // The standby has copied the setting, and has no standby of its own yet.
    await waitForStandby("");
    if (how === "killed") fence();
    await discard(old);
  }

  return Object.freeze({
    address: () => new URL(urls.connectionString).host,
    connectionString(address?: string) {
      const url = new URL(urls.connectionString);
      if (address !== undefined) url.host = address;
      return url.href;
    },
    admin,
    async stop(how: "fast" | "immediate" | "kill") {
      if (how === "fast") return primary.postgres.stop();
      const pid = pidOf(primary);
      if (pid === null) return;
      process.kill(pid, how === "kill" ? "SIGKILL" : "SIGQUIT");
      await until("the primary has ended", () => (pidOf(primary) === null ? true : null));
    },
    async start() {
      urls = await primary.postgres.start();
    },
    async startWithoutWaiting() {
      void primary.postgres.start().catch(() => undefined);
      await until("the primary begins to start", () => pidOf(primary));
    },
    order: (orders: Parameters<Database["order"]>[0]) => primary.order(orders),
    jumpClock(byMs: number) {
      clockMs += byMs;
      primary.order({});
      standby?.order({});
    },
    pid: () => pidOf(primary),
    standby: { promote, add: addStandby },
    async stopAll() {
      if (standby) await standby.postgres.kill();
      await primary.postgres.kill();
    },
  });
}

/** A base backup, as pg_basebackup makes one: the package has no such program. */
async function copyOf(
  from: string,
  to: string,
  admin: Database["admin"],
  source: Readonly<Record<string, string>>,
): Promise<void> {
  const account = accountFor([clusterPaths(from).folder]);
  const { data: sourceData, passwordFile } = clusterPaths(from);
  const target = clusterPaths(to);
  mkdirSync(target.data, { recursive: true, mode: 0o700 });
  await admin(async (client) => {
    await client.query("select pg_backup_start('standby', true)");
    copyFiles(sourceData, target.data);
    const { rows } = await client.query<{ labelfile: string }>(
      "select labelfile from pg_backup_stop(false)",
    );
    writeFileSync(join(target.data, "backup_label"), rows[0]?.labelfile ?? "");
  });
  cpSync(passwordFile, target.passwordFile);
  writeFileSync(join(target.data, "standby.signal"), "");
  const conninfo = Object.entries(source).map(([name, value]) => `${name}=${value}`);
  writeFileSync(
    join(target.data, "postgresql.auto.conf"),
    `primary_conninfo = '${conninfo.join(" ")}'\n`,
  );
  if (account.switchTo) await own(to, account.uid, account.gid);
}

/** Files that the server removes meanwhile are in the WAL. */
function copyFiles(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) {
      mkdirSync(target, { recursive: true, mode: 0o700 });
      if (entry.name !== "pg_wal") copyFiles(source, target);
      else mkdirSync(join(target, "archive_status"), { recursive: true });
      continue;
    }
    if (entry.name.startsWith("postmaster.") || entry.name === "postgresql.auto.conf") continue;
    try {
      cpSync(source, target);
    } catch (error) {
      if (statSync(source, { throwIfNoEntry: false })) throw error;
    }
  }
}

async function own(path: string, uid: number, gid: number): Promise<void> {
  await chown(path, uid, gid);
  for (const entry of readdirSync(path, { recursive: true, withFileTypes: true }))
    await chown(join(entry.parentPath, entry.name), uid, gid);
}
