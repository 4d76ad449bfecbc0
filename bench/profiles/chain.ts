// Runs of three tasks that do nothing, as many as the machine can do: one process schedules them,
// one performs them, the server and PostgreSQL have a process each; then what the same rows cost
// when SQL alone makes them, on the same PostgreSQL.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { migrate } from "../../server/store/postgres/migrate.ts";
import type { Measured, Wish } from "../profile.ts";
import {
  type BenchWorld,
  MIGRATIONS,
  openWorld,
  startWorker,
  type Used,
  type Worker,
} from "../world.ts";

export const STEPS = 3;
/** `open`: runs under way at a time; `many`: slots of the agent, or its calls. */
export interface Agents {
  readonly how: string;
  readonly many: number;
  readonly open: number;
}
/** Agents that have room for all that is open: what follows a step goes to them at once. */
export const BATCHES: Agents = { how: "batches", many: 2_000, open: 600 };
/** More is open than they have room for: each task waits in a queue before it is handed out. */
const BACKLOG: Agents = { how: "batches", many: 500, open: 2_000 };
const SINGLE: Agents = { how: "single", many: 64, open: 2_000 };
const LONG = { warmS: 10, measureS: 30, floorS: 15 };
const SHORT = { warmS: 3, measureS: 5, floorS: 4 };
const RELAY_MS = 20;
const FLOOR_SESSIONS = 2;
const FLOOR_BATCHES = 20;

type Form = typeof LONG;
/** Of PostgreSQL: no checkpoint within what is measured. */
export const ROOMY = {
  shared_buffers: "1GB",
  max_wal_size: "8GB",
  checkpoint_timeout: "30min",
};

export async function chain({ short, single, log }: Wish): Promise<Measured> {
  const agents = single ? SINGLE : BATCHES;
  const form = short ? SHORT : LONG;
  const world = await openWorld(ROOMY);
  try {
    log(`${agents.many} ${agents.how === "single" ? "calls at a time" : "slots"}`);
    const reached = await saturated(world, form, agents);
    const waiting = single ? [] : [await behindBacklog(world, form, log)];
    log("the floor: the same rows by SQL alone");
    const floor = await floorOf(world, form);
    const row = {
      handed_out: "at once",
      ...reached,
      ...floor,
      ratio_to_floor: reached.steps_per_s / floor.floor_steps_per_s,
    };
    return {
      settings: { steps: STEPS, ...agents, ...form, floor_sessions: FLOOR_SESSIONS },
      columns: Object.keys(row),
      rows: [row, ...waiting],
      figures: row,
    };
  } finally {
    await world.stop();
  }
}

/** The same work where each task waits for an agent first: with more rows than the floor has. */
async function behindBacklog(world: BenchWorld, form: Form, log: Wish["log"]) {
  log(`${BACKLOG.open} runs open, ${BACKLOG.many} slots`);
  const reached = await saturated(world, form, BACKLOG);
  const floor = { floor_steps_per_s: null, floor_db_cpu_us_per_step: null };
  return {
    handed_out: "from a backlog",
    ...reached,
    ...floor,
    floor_wal_bytes_per_step: null,
    ratio_to_floor: null,
  };
}

export type Reached = ReturnType<typeof perStep>;

export async function saturated(
  world: Pick<BenchWorld, "used" | "address">,
  form: Pick<Form, "warmS" | "measureS">,
  agents: Agents,
  addresses?: readonly string[],
): Promise<Reached> {
  const measure = async (sample: () => Promise<Seen>): Promise<Reached> => {
    await wait(form.warmS * 1_000);
    const before = await sample();
    await wait(form.measureS * 1_000);
    return perStep(before, await sample());
  };
  return await saturate(world, agents, measure, addresses);
}

/** What has been done and used since the start. */
export interface Seen extends Used {
  readonly done: number;
  /** Milliseconds. */
  readonly at: number;
  readonly agentCpuS: number;
  readonly loadCpuS: number;
}

/** As much work as the machine can do, for as long as it is measured. With several servers each has
 * its own agent, and its share of the runs.
 */
export async function saturate<Result>(
  world: Pick<BenchWorld, "used" | "address">,
  { how, many, open }: Agents,
  measure: (sample: () => Promise<Seen>) => Promise<Result>,
  addresses: readonly string[] = [world.address],
): Promise<Result> {
  const pairs = await Promise.all(
    addresses.map(async (address) => {
      const load = await startWorker("chain-load.ts", [address, String(STEPS)]);
      const agent = await startWorker("chain-agent.ts", [address, how, String(many)]);
      const pair = { load, agent, done: 0 };
      agent.onMessage((count) => {
        pair.done = Number(count);
      });
      return pair;
    }),
  );
  const relay = setInterval(() => {
    for (const { load, done } of pairs)
      load.send(Math.ceil(open / pairs.length) + Math.floor(done / STEPS));
  }, RELAY_MS);
  const sum = (of: (pair: (typeof pairs)[number]) => number) =>
    pairs.reduce((all, pair) => all + of(pair), 0);
  try {
    return await measure(async () => ({
      ...(await world.used()),
      done: sum(({ done }) => done),
      at: performance.now(),
      agentCpuS: sum(({ agent }) => agent.cpuS()),
      loadCpuS: sum(({ load }) => load.cpuS()),
    }));
  } finally {
    clearInterval(relay);
    await stop(...pairs.flatMap(({ load, agent }) => [load, agent]));
  }
}

export function perStep(before: Seen, after: Seen) {
  const steps = after.done - before.done;
  const each = (of: "serverCpuS" | "databaseCpuS" | "agentCpuS" | "loadCpuS") =>
    ((after[of] - before[of]) / steps) * 1_000_000;
  return {
    steps_per_s: steps / ((after.at - before.at) / 1_000),
    server_cpu_us_per_step: each("serverCpuS"),
    db_cpu_us_per_step: each("databaseCpuS"),
    agent_cpu_us_per_step: each("agentCpuS"),
    load_cpu_us_per_step: each("loadCpuS"),
    wal_bytes_per_step: (after.walBytes - before.walBytes) / steps,
    full_pages_per_step: (after.walFullPages - before.walFullPages) / steps,
    commits_per_step: (after.commits - before.commits) / steps,
    statements_per_step: (after.statements - before.statements) / steps,
    server_rss_mib: after.serverRssMiB,
  };
}

async function stop(...workers: Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.kill()));
}

/** In a database of its own, with the same tables, on two sessions. */
async function floorOf(world: BenchWorld, { floorS }: Form) {
  const connectionString = await world.newDatabase("floor");
  await migrate(connectionString, { folder: MIGRATIONS });
  const sessions = await Promise.all(
    Array.from({ length: FLOOR_SESSIONS }, async () => {
      const client = new Client({ connectionString });
      await client.connect();
      // As the server's sessions have it.
      await client.query("set enable_seqscan = off; set plan_cache_mode = force_generic_plan");
      return client;
    }),
  );
  const [first] = sessions;
  await first?.query(readFileSync(join(import.meta.dirname, "../floor.sql"), "utf8"));
  const run = async (seconds: number) => {
    const until = performance.now() + seconds * 1_000;
    let batches = 0;
    await Promise.all(
      sessions.map(async (session) => {
        while (performance.now() < until) {
          await session.query("call floor_of_chain($1)", [FLOOR_BATCHES]);
          batches += FLOOR_BATCHES;
        }
      }),
    );
    return batches * 100 * STEPS;
  };
  await run(Math.max(1, floorS / 4));
  await first?.query("analyze");
  const before = await world.used();
  const startedAt = performance.now();
  const steps = await run(floorS);
  const after = await world.used();
  const endedAt = performance.now();
  await Promise.all(sessions.map((session) => session.end()));
  return {
    floor_steps_per_s: steps / ((endedAt - startedAt) / 1_000),
    floor_db_cpu_us_per_step: ((after.databaseCpuS - before.databaseCpuS) / steps) * 1_000_000,
    floor_wal_bytes_per_step: (after.walBytes - before.walBytes) / steps,
  };
}
