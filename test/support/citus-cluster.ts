/**
 * A Citus cluster on this machine, for tests with DROVER_CITUS: a coordinator and three workers.
 *
 *     npm run citus -- --source ~/citus   # builds Citus, in minutes, and starts the cluster
 *     npm run citus                       # starts it again
 *     npm run citus -- stop
 *
 * Nothing is installed outside the data folder: the PostgreSQL of this machine is copied, and Citus
 * is installed into the copy. Any local user may connect to the cluster as superuser. If the
 * machine crashes, its data may be lost.
 *
 * The data folder has `build`, the copy of the source that is compiled; `programs`, PostgreSQL with
 * Citus at the paths that the installed one has; and a data directory with its log for each node.
 */
import { type ExecFileSyncOptions, execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { type Account, accountFor, obstacleTo } from "../../dev-postgres/account.ts";
import { findPostmaster } from "../../dev-postgres/postmaster.ts";
import { madeOnce } from "./made-once.ts";

interface Given {
  readonly data: string;
  readonly source: string | undefined;
  readonly pgConfig: string | undefined;
}

/** A PostgreSQL of this machine, as its pg_config describes it. */
interface Installed {
  readonly pgConfig: string;
  readonly version: string;
  readonly bin: string;
  readonly library: string;
  readonly share: string;
  readonly headers: string;
}

interface Cluster {
  readonly data: string;
  readonly account: Account;
  readonly bin: string;
}

const NODES = ["coordinator", "worker-1", "worker-2", "worker-3"] as const;
const DATABASE = "drover";
const SETTINGS = {
  shared_preload_libraries: "citus",
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  wal_level: "logical",
  max_connections: "200",
  max_prepared_transactions: "200",
  fsync: "off",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  "citus.node_conninfo": "sslmode=disable",
  "citus.enable_statistics_collection": "off",
  // Every two seconds, by each database on each node; a transaction of Drover is within one node.
  "citus.distributed_deadlock_detection_factor": "-1",
} as const;
const DEBIAN = "/usr/lib/postgresql";
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const LINES_SHOWN = 12;

/** Some minor releases of PostgreSQL 15 declare a function that Citus defines for all of them. */
export function withoutDoubled(source: string, header: string): string {
  if (!/\bhave_createdb_privilege\(void\)/.test(header)) return source;
  return source.replace(
    /^static inline bool\nhave_createdb_privilege\(void\)\n\{[\s\S]*?^\}\n/m,
    "",
  );
}

function findInstalled(given: string | undefined): Installed {
  const pgConfig = given ?? newestOfDebian() ?? "pg_config";
  const ask = (what: string): string => {
    try {
      return execFileSync(pgConfig, [what], { encoding: "utf8" }).trim();
    } catch (cause) {
      throw new Error(
        `${pgConfig} does not run (${messageOf(cause)}). Install PostgreSQL and its headers, with ` +
          "'apt-get install postgresql postgresql-server-dev-all', or name the pg_config of " +
          "another one with --pg-config.",
      );
    }
  };
  const version = ask("--version");
  const major = /\d+/.exec(version)?.[0];
  const paths = {
    bin: ask("--bindir"),
    library: ask("--pkglibdir"),
    share: ask("--sharedir"),
    headers: ask("--includedir-server"),
  };
  const lacks = (file: string, name: string): void => {
    if (existsSync(file)) return;
    throw new Error(`${version} has no ${file}: 'apt-get install ${name}-${major}' brings it.`);
  };
  lacks(join(paths.bin, "initdb"), "postgresql");
  lacks(join(paths.headers, "postgres.h"), "postgresql-server-dev");
  return { pgConfig, version, ...paths };
}

function newestOfDebian(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  return readdirSync(DEBIAN)
    .sort((one, other) => Number(other) - Number(one))
    .map((major) => join(DEBIAN, major, "bin/pg_config"))
    .find((path) => existsSync(path));
}

function build(source: string, data: string, programs: string, installed: Installed): void {
  const folder = join(data, "build");
  rmSync(folder, { recursive: true, force: true });
  cpSync(source, folder, { recursive: true, filter: (path) => basename(path) !== ".git" });
  declareOnce(folder, installed);
  for (const path of [installed.bin, installed.library, installed.share])
    cpSync(path, join(programs, path), { recursive: true });
  const compile = (program: string, ...args: readonly string[]): void => {
    say([program, ...args].join(" "));
    try {
      run(program, args, { cwd: folder });
    } catch (cause) {
      throw new Error(
        `${program} failed in ${folder}. Citus needs a C compiler, make, flex and the headers of ` +
          "the libraries of PostgreSQL: 'apt-get install build-essential flex libssl-dev " +
          `libkrb5-dev libreadline-dev zlib1g-dev'.\n${messageOf(cause)}`,
      );
    }
  };
  const without = ["libcurl", "lz4", "zstd"].map((library) => `--without-${library}`);
  compile("./configure", `PG_CONFIG=${installed.pgConfig}`, ...without);
  // The source may hold what was compiled for another PostgreSQL.
  compile("make", "clean");
  // Bitcode for the just-in-time compiler would need clang.
  compile("make", `-j${availableParallelism()}`, "extension", "with_llvm=no");
  compile("make", "install-extension", "with_llvm=no", `DESTDIR=${programs}`);
}

function declareOnce(folder: string, { headers, version }: Installed): void {
  const path = join(folder, "src/include/pg_version_compat.h");
  const source = readFileSync(path, "utf8");
  const header = readFileSync(join(headers, "commands/dbcommands.h"), "utf8");
  const changed = withoutDoubled(source, header);
  if (changed === source) return;
  say(`${version} declares have_createdb_privilege; the copy of the source no longer defines it`);
  writeFileSync(path, changed);
}

async function prepare({ data, source, pgConfig }: Given): Promise<Cluster> {
  const programs = join(data, "programs");
  if (!existsSync(programs)) await makePrograms(programs, { data, source, pgConfig });
  const account = accountFor([join(data, NODES[0])]);
  const bin = join(programs, readFileSync(join(programs, "bin"), "utf8"));
  const obstacle = obstacleTo(join(bin, "postgres"), account);
  if (obstacle !== undefined)
    throw new Error(
      `PostgreSQL refuses to run as root, and the account ${account.name} may not enter ` +
        `${obstacle}: name another folder with --data, or run this as an ordinary user.`,
    );
  return { data, account, bin };
}

async function makePrograms(programs: string, { data, source, pgConfig }: Given): Promise<void> {
  if (source === undefined)
    throw new Error(
      `No Citus is built in ${data}: name the folder of its source with --source, or the folder ` +
        "in which it is built with --data.",
    );
  if (!existsSync(join(source, "src/include/pg_version_compat.h")))
    throw new Error(
      `--source ${source} is no source of Citus: it has no src/include/pg_version_compat.h. ` +
        "Clone https://github.com/citusdata/citus at v13.2.2.",
    );
  const installed = findInstalled(pgConfig);
  mkdirSync(data, { recursive: true });
  // The account of PostgreSQL must be able to pass.
  chmodSync(data, 0o711);
  await madeOnce(programs, async (building) => {
    build(resolve(source), data, building, installed);
    writeFileSync(join(building, "bin"), installed.bin);
  });
}

/** A program of PostgreSQL, under its account. */
function runOf({ bin, account }: Cluster, program: string, args: readonly string[]): void {
  const as = account.switchTo ? { uid: account.uid, gid: account.gid } : {};
  run(join(bin, program), args, { cwd: "/", ...as });
}

function initialise(cluster: Cluster, node: string, port: number): void {
  const { data, account } = cluster;
  const folder = join(data, node);
  if (existsSync(join(folder, "PG_VERSION"))) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account.switchTo) chownSync(folder, account.uid, account.gid);
  const how = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres"];
  runOf(cluster, "initdb", [`--pgdata=${folder}`, ...how]);
  const settings = Object.entries({ ...SETTINGS, port: String(port) });
  appendFileSync(
    join(folder, "postgresql.conf"),
    settings.map(([name, value]) => `${name} = '${value}'\n`).join(""),
  );
}

/** Returns its port. */
function start(cluster: Cluster, node: string): number {
  const folder = join(cluster.data, node);
  const log = join(folder, "log");
  if (findPostmaster(folder).kind !== "live")
    try {
      runOf(cluster, "pg_ctl", ["start", "-w", "-D", folder, "-l", log]);
    } catch {
      const lines = existsSync(log) ? lastLinesOf(readFileSync(log, "utf8")) : "";
      throw new Error(
        `The ${node} did not start. If its port is taken, delete ${folder} and choose other ` +
          `ports with --port. Its log, ${log}, ends with:\n${lines}`,
      );
    }
  const found = findPostmaster(folder);
  if (found.kind === "live") return found.port;
  throw new Error(`The ${node} has ended after its start; its log is ${log}.`);
}

function stop(cluster: Cluster): void {
  for (const node of NODES) {
    const folder = join(cluster.data, node);
    if (findPostmaster(folder).kind === "live")
      runOf(cluster, "pg_ctl", ["stop", "-w", "-m", "fast", "-D", folder]);
  }
}

function urlOf(port: number, database: string): string {
  return `postgresql://postgres@127.0.0.1:${port}/${database}`;
}

/** Returns the URL of the coordinator. What is there stays. */
async function makeCluster(ports: readonly number[]): Promise<string> {
  for (const port of ports) {
    const server = urlOf(port, "postgres");
    const found = await ask(server, `select from pg_database where datname = '${DATABASE}'`);
    if (found === 0) await ask(server, `create database ${DATABASE}`);
    await ask(urlOf(port, DATABASE), "create extension if not exists citus");
  }
  const [coordinator = 0, ...workers] = ports;
  const url = urlOf(coordinator, DATABASE);
  await ask(url, `select citus_set_coordinator_host('127.0.0.1', ${coordinator})`);
  for (const port of workers) await ask(url, `select citus_add_node('127.0.0.1', ${port})`);
  return url;
}

/** Returns the number of rows. */
async function ask(url: string, text: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

function run(program: string, args: readonly string[], options: ExecFileSyncOptions): void {
  try {
    // A file: pg_ctl leaves a server behind, which would keep a pipe open.
    execFileSync(program, args, { ...options, stdio: "pipe", maxBuffer: OUTPUT_BYTES_MAX });
  } catch (error) {
    if (!(error instanceof Error && "stderr" in error)) throw error;
    throw new Error(lastLinesOf(String(error.stderr)) || error.message);
  }
}

function lastLinesOf(text: string): string {
  return text.trim().split("\n").slice(-LINES_SHOWN).join("\n");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      source: { type: "string" },
      data: { type: "string", default: join(import.meta.dirname, "../../.drover/citus") },
      "pg-config": { type: "string" },
      /** Of the coordinator; the workers have the ones after it. */
      port: { type: "string", default: "9700" },
    },
  });
  const [verb = "start", ...more] = positionals;
  const port = Number(values.port);
  if ((verb !== "start" && verb !== "stop") || more.length > 0)
    throw new Error(`${positionals.join(" ")}: give 'start', 'stop' or nothing.`);
  if (!(Number.isInteger(port) && port > 0 && port < 65_536 - NODES.length))
    throw new Error(`--port ${values.port}: give a number of at most ${65_535 - NODES.length}.`);
  const data = resolve(values.data);
  const cluster = await prepare({ data, source: values.source, pgConfig: values["pg-config"] });
  if (verb === "stop") return stop(cluster);
  NODES.forEach((node, index) => {
    initialise(cluster, node, port + index);
  });
  const url = await makeCluster(NODES.map((node) => start(cluster, node)));
  say(`DROVER_CITUS=${url}`);
}

if (import.meta.main)
  await main().catch((error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  });
