// Temporal as a peer: its server and schema tool, which Go builds from its module proxy, on
// databases of its own, and the program with worker and starter in peers/temporal.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { freePorts } from "./free-ports.ts";
import { type Database, type Peer, startTalker } from "./peer.ts";

const run = promisify(execFile);
const FOLDER = join(import.meta.dirname, "peers/temporal");
const BUILT = join(FOLDER, "build");
const SERVER = "go.temporal.io/server";
const STORES = {
  temporal: "postgresql/v12/temporal",
  temporal_visibility: "postgresql/v12/visibility",
};
const PLUGIN = "postgres12_pgx";
const SHARDS = 128;
const CONNECTIONS = 50;
const OUTPUT_MAX = 64 << 20;

/** Quotas that are no limit on this machine, and one partition of a queue, as there is one host. */
const DYNAMIC = {
  "frontend.rps": 100_000,
  "frontend.namespaceRPS": 100_000,
  "frontend.namespaceCount": 10_000,
  "history.rps": 100_000,
  "matching.rps": 100_000,
  "frontend.persistenceMaxQPS": 100_000,
  "history.persistenceMaxQPS": 100_000,
  "matching.persistenceMaxQPS": 100_000,
  "matching.numTaskqueueReadPartitions": 1,
  "matching.numTaskqueueWritePartitions": 1,
};

/** Rejects where Go is missing or does not build it. */
export async function temporalPeer(shape: Pick<Peer, "stepsARun" | "runsOpen">): Promise<Peer> {
  await build();
  return {
    product: "temporal",
    version: versionOf(SERVER),
    ...shape,
    how: `3 activities, ${SHARDS} shards`,
    databases: Object.keys(STORES),
    async start(database, spawned) {
      await makeStores(database);
      const { server, address } = await startServer(database, spawned);
      const driver = await Promise.race([
        startTalker(join(BUILT, "temporal"), [address], spawned),
        once(server, "exit").then(([code]) => {
          throw new Error(`its server ended by itself (${code})`);
        }),
      ]);
      return { work: driver, load: driver, servers: [server] };
    },
  };
}

/** Minutes the first time; then Go sees that nothing has changed. */
async function build(): Promise<void> {
  mkdirSync(BUILT, { recursive: true });
  const packages = [`${SERVER}/cmd/server`, `${SERVER}/cmd/tools/sql`, "."];
  const env = { ...process.env, GOFLAGS: "-buildvcs=false" };
  try {
    await run("go", ["build", "-p", "1", "-o", `${BUILT}/`, ...packages], {
      cwd: FOLDER,
      env,
      maxBuffer: OUTPUT_MAX,
    });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new Error("there is no Go on this machine");
    throw error;
  }
}

function versionOf(module: string): string {
  const lines = readFileSync(join(FOLDER, "go.mod"), "utf8").split(/\s*\n\s*/);
  return lines.find((line) => line.includes(`${module} v`))?.match(/ v(\S+)/)?.[1] ?? "";
}

async function makeStores({ connectionString }: Database): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  for (const name of Object.keys(STORES)) await client.query(`create database ${name}`);
  await client.end();
  const { hostname, port, username, password } = new URL(connectionString);
  const at = ["--plugin", PLUGIN, "--ep", hostname, "-p", port, "-u", username, "--pw", password];
  const tool = (name: string, ...args: string[]) =>
    run(join(BUILT, "sql"), [...at, "--db", name, ...args], { maxBuffer: OUTPUT_MAX });
  for (const [name, schema] of Object.entries(STORES)) {
    await tool(name, "setup-schema", "-v", "0.0");
    await tool(name, "update-schema", "--schema-name", schema);
  }
}

/** With the `host:port` of its front end, which may not answer yet. */
async function startServer(database: Database, spawned: ChildProcess[]) {
  const settings = join(BUILT, "dynamic.yaml");
  const lines = Object.entries(DYNAMIC).map(([name, value]) => `${name}:\n  - value: ${value}\n`);
  writeFileSync(settings, lines.join(""));
  const { hostname, port, username, password } = new URL(database.connectionString);
  const names = ["FRONTEND", "HISTORY", "MATCHING", "WORKER"].flatMap((service) => [
    `${service}_GRPC_PORT`,
    `${service}_MEMBERSHIP_PORT`,
  ]);
  const ports = await freePorts([...names, "FRONTEND_HTTP_PORT"]);
  const env = {
    ...process.env,
    ...ports,
    DB: PLUGIN,
    POSTGRES_SEEDS: hostname,
    DB_PORT: port,
    POSTGRES_USER: username,
    POSTGRES_PWD: password,
    NUM_HISTORY_SHARDS: String(SHARDS),
    SQL_MAX_CONNS: String(CONNECTIONS),
    SQL_MAX_IDLE_CONNS: String(CONNECTIONS),
    TEMPORAL_BROADCAST_ADDRESS: "127.0.0.1",
    BIND_ON_IP: "127.0.0.1",
    LOG_LEVEL: "error",
    DYNAMIC_CONFIG_FILE_PATH: settings,
  };
  const server = spawn(join(BUILT, "server"), ["--allow-no-auth", "start"], {
    env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  spawned.push(server);
  return { server, address: `127.0.0.1:${ports.FRONTEND_GRPC_PORT}` };
}
