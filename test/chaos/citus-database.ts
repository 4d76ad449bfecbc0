// The database on a Citus cluster of this machine: the worker that owns the schema is what faults
// hit, and it has no standby. For the time of a run that worker is started with settings and a
// library of the run; no other work may use the cluster. The database stays until the next run.
import { readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, escapeLiteral } from "pg";
import { accountFor } from "../../dev-postgres/account.ts";
import type { Cluster } from "../../dev-postgres/cluster.ts";
import { bringUp, endPostmaster, findPostmaster } from "../../dev-postgres/postmaster.ts";
import { systemClock, systemRandom } from "../../server/clock.ts";
import { makeCitusTemplate } from "../support/citus.ts";
import { until } from "../support/until.ts";
import { type Database, MIGRATIONS } from "./database.ts";
import { type Preload, preloadedWith } from "./preloaded.ts";

/** Of the servers: it may change rows. Only a superuser gets the last connections. */
const ROLE = "drover_chaos";
const SETTINGS = { fsync: "on", max_connections: "120", log_checkpoints: "off" };
const SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT", kill: "SIGKILL" } as const;
const END_MS_MAX = 60_000;

export async function openCitusDatabase(
  coordinatorUrl: string,
  folder: string,
  preload: Preload,
): Promise<Database> {
  const { connectionString: adminUrl } = await makeCitusTemplate(coordinatorUrl, MIGRATIONS, 1);
  await makeRole(adminUrl);
  const admin = <T>(work: (client: Client) => Promise<T>): Promise<T> => onServer(adminUrl, work);
  const worker = await clusterOf(admin, folder, new URL(adminUrl).port);
  const preloaded =
    preload.kind === "ready" ? preloadedWith(preload.library, join(folder, "worker.orders")) : null;
  let clockMs = 0;
  const order: Database["order"] = (orders) => {
    if (!preloaded) throw new Error("nothing is preloaded into the worker");
    preloaded.order({ ...orders, clockMs });
  };
  const pid = (): number | null => {
    const found = findPostmaster(worker.data);
    return found.kind === "live" ? found.pid : null;
  };
  const options = {
    settings: SETTINGS,
    env: preloaded?.env ?? {},
    clock: systemClock,
    random: systemRandom,
  };
  const start = async (): Promise<void> => {
    await bringUp(worker, options);
    // One that recovers from a crash of its own runs, and refuses everyone.
    await admin((client) => client.query("select 1"));
  };
  const stop: Database["stop"] = async (how) => {
    const hasEnded = await endPostmaster(worker.data, SIGNALS[how], END_MS_MAX, systemClock);
    if (!hasEnded) throw new Error(`the worker in ${worker.data} has not ended`);
  };
  await stop("fast");
  await start();
  return Object.freeze({
    address: () => new URL(adminUrl).host,
    connectionString(address = new URL(adminUrl).host) {
      const url = new URL(adminUrl);
      url.username = ROLE;
      url.host = address;
      return url.href;
    },
    admin,
    stop,
    start,
    async startWithoutWaiting() {
      void start().catch(() => undefined);
      await until("the worker begins to start", pid);
    },
    order,
    jumpClock(byMs: number) {
      clockMs += byMs;
      order({});
    },
    pid,
    standby: null,
    async stopAll() {
      await stop("fast");
      await bringUp(worker, { ...options, settings: {}, env: {} });
    },
  });
}

/** The data directory and the program of the server that answers. */
async function clusterOf(admin: Database["admin"], folder: string, port: string): Promise<Cluster> {
  const { rows } = await admin((client) =>
    client.query<{ data: string }>("select current_setting('data_directory') as data"),
  );
  const data = rows[0]?.data ?? "";
  const found = findPostmaster(data);
  if (found.kind !== "live" || found.port !== Number(port))
    throw new Error(
      `The worker that owns the schema has its data in ${data}, and no PostgreSQL of this machine ` +
        `on port ${port} works there: DROVER_CITUS must name a cluster of this machine, and this ` +
        "account must be able to restart it.",
    );
  const portFile = join(folder, "worker.port");
  writeFileSync(portFile, port);
  return {
    account: accountFor([data]),
    binaries: {
      version: "",
      initdb: "",
      postgres: readlinkSync(`/proc/${found.pid}/exe`),
      env: { LC_ALL: "C", PATH: "/usr/bin:/bin" },
    },
    data,
    password: "",
    portFile,
    ownerFile: join(folder, "worker.owner"),
    logFile: join(folder, "worker.log"),
  };
}

/** On that node alone, where the views are too. It may be there from an earlier run. */
function makeRole(url: string): Promise<unknown> {
  return onServer(url, async (client) => {
    await client.query("set citus.enable_ddl_propagation = off");
    const found = await client.query("select from pg_roles where rolname = $1", [ROLE]);
    if (found.rowCount === 0) await client.query(`create role ${ROLE} login`);
    const { password } = client;
    if (password) await client.query(`alter role ${ROLE} password ${escapeLiteral(password)}`);
    await client.query(`grant usage on schema drover to ${ROLE}`);
    for (const kind of ["tables", "sequences", "functions"])
      await client.query(`grant all on all ${kind} in schema drover to ${ROLE}`);
  });
}

async function onServer<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
