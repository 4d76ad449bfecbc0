// Other products that keep work in PostgreSQL, on this machine and on the same work as far as each
// can do it, beside `chain` in the same run. They are no part of the install: bench/peers.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { measurePeer, type Peer, startTalker } from "../peer.ts";
import type { Measured, Wish } from "../profile.ts";
import { restatePeer } from "../restate.ts";
import { temporalPeer } from "../temporal.ts";
import { openWorld } from "../world.ts";
import { BATCHES, ROOMY, STEPS, saturated } from "./chain.ts";
import { alone, startWorkers } from "./latency.ts";

const PEERS = join(import.meta.dirname, "../peers");
const LONG = { warmS: 10, measureS: 30, alone: 500 };
const SHORT = { warmS: 3, measureS: 5, alone: 60 };
const RUNS_OPEN = 2_000;
/** Of jobs that nothing follows: as many steps as in as many runs of three. */
const JOBS_OPEN = RUNS_OPEN * STEPS;

const COLUMNS = [
  "product",
  "version",
  "how",
  "steps_per_s",
  "drover_times",
  "cpu_us_per_step",
  "cpu_times",
  "system_cpu_us_per_step",
  "load_cpu_us_per_step",
  "db_cpu_us_per_step",
  "wal_bytes_per_step",
  "full_pages_per_step",
  "commits_per_step",
  "statements_per_step",
  "alone_p50_ms",
  "alone_p99_ms",
  "checked_steps",
] as const;

/** Fewer: each of its steps takes longer, and all that are under way are awaited at the end. */
const TEMPORAL_RUNS_OPEN = 500;
const RESTATE_RUNS_OPEN = 500;
/** Of a row that explains why it has no figures. */
const WHY_MAX = 160;

/** How a row does it. */
const BATCHED = /, (?:batches|local queue)$/;

type Row = Readonly<Record<string, number | string | null>>;

interface Compared {
  readonly steps_per_s: number;
  readonly cpu_us_per_step: number;
}

interface Cpu {
  readonly system_cpu_us_per_step: number;
  readonly load_cpu_us_per_step: number;
  readonly db_cpu_us_per_step: number;
}

export async function peers({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const missing = install(log);
  log("Drover, as `chain` measures it");
  const ours = await drover(form);
  const rows: Row[] = [ours];
  const all = missing === null ? npmPeers() : [notRun("the peers from npm", missing)];
  for (const peer of [...all, restate(), await temporal(log)]) {
    log(`${peer.product} ${peer.version}: ${peer.how}`);
    rows.push("start" in peer ? await rowOf(peer, form, ours) : peer);
  }
  return {
    settings: { steps: STEPS, runs_open: RUNS_OPEN, jobs_open: JOBS_OPEN, ...form, ...ROOMY },
    columns: COLUMNS,
    rows,
    figures: { by_batches: byBatches(rows) },
  };
}

/** Of each product that hands out jobs in batches: Drover's rate by the best of its own. */
function byBatches(rows: readonly Row[]): Readonly<Record<string, number>> {
  const least: Record<string, number> = {};
  for (const { product, how, drover_times } of rows) {
    if (typeof product !== "string" || typeof drover_times !== "number") continue;
    if (!BATCHED.test(String(how))) continue;
    least[product] = Math.min(least[product] ?? Number.POSITIVE_INFINITY, drover_times);
  }
  return least;
}

async function drover(form: typeof LONG) {
  const world = await openWorld(ROOMY);
  try {
    const { server_cpu_us_per_step, agent_cpu_us_per_step, ...figures } = await saturated(
      world,
      form,
      BATCHES,
    );
    const system_cpu_us_per_step = server_cpu_us_per_step + agent_cpu_us_per_step;
    const all = withTotal({ ...figures, system_cpu_us_per_step });
    const workers = await startWorkers(world);
    const { p50, p99 } = (await alone(workers, form.alone)).run_ms;
    await workers.kill();
    return {
      product: "drover",
      version: "",
      how: "3 steps",
      ...all,
      drover_times: 1,
      cpu_times: 1,
      alone_p50_ms: p50,
      alone_p99_ms: p99,
    };
  } finally {
    await world.stop();
  }
}

async function rowOf(peer: Peer, form: typeof LONG, ours: Compared): Promise<Row> {
  const { product, version, how } = peer;
  try {
    const figures = withTotal(await measurePeer(peer, form, ROOMY));
    return {
      product,
      version,
      how,
      ...figures,
      drover_times: ours.steps_per_s / figures.steps_per_s,
      cpu_times: figures.cpu_us_per_step / ours.cpu_us_per_step,
    };
  } catch (error) {
    return notRun(product, `${how}: ${messageOf(error)}`, version);
  }
}

/** With the CPU of all that took part. */
function withTotal<Figures extends Cpu>(figures: Figures) {
  const { system_cpu_us_per_step, load_cpu_us_per_step, db_cpu_us_per_step } = figures;
  const total = system_cpu_us_per_step + load_cpu_us_per_step + db_cpu_us_per_step;
  return { ...figures, cpu_us_per_step: total };
}

function notRun(product: string, why: string, version = "") {
  const line = why.replaceAll(/\s+/g, " ");
  const shortened = line.length > WHY_MAX ? `${line.slice(0, WHY_MAX)}…` : line;
  return { product, version, how: `not run: ${shortened}` };
}

function restate() {
  try {
    return restatePeer({ stepsARun: STEPS, runsOpen: RESTATE_RUNS_OPEN });
  } catch (error) {
    return notRun("restate", messageOf(error));
  }
}

/** Minutes, the first time. */
async function temporal(log: (line: string) => void) {
  log("Temporal's server, built by Go in bench/peers/temporal");
  try {
    return await temporalPeer({ stepsARun: STEPS, runsOpen: TEMPORAL_RUNS_OPEN });
  } catch (error) {
    return notRun("temporal", messageOf(error));
  }
}

/** null, or why they are not there. */
function install(log: (line: string) => void): string | null {
  if (existsSync(join(PEERS, "node_modules"))) return null;
  log("npm ci in bench/peers, which has a lock file of its own");
  const options = { cwd: PEERS, encoding: "utf8" } as const;
  const { status, stderr, error } = spawnSync("npm", ["ci", "--ignore-scripts"], options);
  return status === 0 ? null : `npm ci in bench/peers: ${error?.message ?? stderr.trim()}`;
}

function npmPeers(): readonly Peer[] {
  const chain = { stepsARun: STEPS, runsOpen: RUNS_OPEN };
  const jobs = { stepsARun: 1, runsOpen: JOBS_OPEN };
  const one = (
    name: string,
    program: string,
    how: string,
    { args, ...shape }: typeof chain & { args: readonly string[] },
  ): Peer => ({
    product: name,
    version: versionOf(name),
    how,
    ...shape,
    databases: ["drover"],
    ...(args[0] === "direct" ? { alone: true } : {}),
    async start({ connectionString }, spawned) {
      const start = (role: string) => {
        const given = ["--no-deprecation", join(PEERS, program), role, connectionString, ...args];
        return startTalker(process.execPath, given, spawned);
      };
      const work = await start("work");
      return { work, load: args[0] === "direct" ? work : await start("load"), servers: [] };
    },
  });
  const graphile = "graphile-worker";
  const dbos = "@dbos-inc/dbos-sdk";
  return [
    one(graphile, "graphile-worker.ts", "3 jobs, each adds the next, one by one", {
      ...chain,
      args: ["plain", "chain"],
    }),
    one(graphile, "graphile-worker.ts", "3 jobs, each adds the next, local queue", {
      ...chain,
      args: ["batches", "chain"],
    }),
    one(graphile, "graphile-worker.ts", "jobs alone, one by one", {
      ...jobs,
      args: ["plain", "alone"],
    }),
    one(graphile, "graphile-worker.ts", "jobs alone, local queue", {
      ...jobs,
      args: ["batches", "alone"],
    }),
    one("pg-boss", "pg-boss.ts", "3 jobs, each adds the next, batches", {
      ...chain,
      args: ["batches", "chain"],
    }),
    one("pg-boss", "pg-boss.ts", "jobs alone, batches", {
      ...jobs,
      args: ["batches", "alone"],
    }),
    one(dbos, "dbos.ts", "3 steps, begun where they run", { ...chain, args: ["direct"] }),
    one(dbos, "dbos.ts", "3 steps, by a queue", { ...chain, args: ["queue"] }),
  ];
}

function versionOf(name: string): string {
  const path = join(PEERS, "node_modules", name, "package.json");
  const read: unknown = JSON.parse(readFileSync(path, "utf8"));
  return typeof read === "object" && read !== null && "version" in read ? String(read.version) : "";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
