// Runs of three tasks that do nothing, as many as the machine can do: one process schedules them,
// one performs them, the server and PostgreSQL have a process each; then what the same rows cost
// when SQL alone makes them, on the same PostgreSQL.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { migrate } from "../../server/store/postgres/migrate.ts";
import type { Measured, Wish } from "../profile.ts";
import { type BenchWorld, MIGRATIONS, openWorld, startWorker, type Worker } from "../world.ts";

export const STEPS = 3;
/** Under way at a time: more than the agent holds, so that it never waits for work. */
const RUNS_OPEN = 2_000;
export const BATCHES = { how: "batches", many: 500 };
const SINGLE = { how: "single", many: 64 };
const LONG = { warmS: 10, measureS: 30, floorS: 15 };
const SHORT = { warmS: 3, measureS: 5, floorS: 4 };
const RELAY_MS = 20;
const FLOOR_SESSIONS = 2;
const FLOOR_BATCHES = 20;

/** Beside the usual. */
export const DATABASE = {
  ...{ shared_buffers: "1GB", max_wal_size: "8GB", checkpoint_timeout: "30min" },
};

type Form = typeof LONG;

export async function chain({ short, single, say }: Wish): Promise<Measured> {
  const agents = single ? SINGLE : BATCHES;
  const form = short ? SHORT : LONG;
  const world = await openWorld(DATABASE);
  try {
    say(`${agents.many} ${agents.how === "single" ? "calls at a time" : "slots"}`);
    const reached = await saturated(world, form, agents);
    say("the floor: the same rows by SQL alone");
    const floor = await floorOf(world, form);
    const row = {
      ...reached,
      ...floor,
      ratio_to_floor: reached.steps_per_s / floor.floor_steps_per_s,
    };
    return {
      settings: {
        steps: STEPS,
        runs_open: RUNS_OPEN,
        ...agents,
        ...form,
        floor_sessions: FLOOR_SESSIONS,
      },
      columns: Object.keys(row),
      rows: [row],
      figures: row,
    };
  } finally {
    await world.stop();
  }
}

export async function saturated(
  world: BenchWorld,
  form: Pick<Form, "warmS" | "measureS">,
  { how, many }: typeof BATCHES,
) {
  const load = await startWorker("chain-load.ts", [world.address, String(STEPS)]);
  const agent = await startWorker("chain-agent.ts", [world.address, how, String(many)]);
  let done = 0;
  agent.onMessage((count) => {
    done = Number(count);
  });
  const relay = setInterval(() => load.send(RUNS_OPEN + Math.floor(done / STEPS)), RELAY_MS);
  try {
    await wait(form.warmS * 1_000);
    const look = async () => ({
      ...(await world.used()),
      ...{ done, at: performance.now(), agentCpuS: agent.cpuS(), loadCpuS: load.cpuS() },
    });
    const before = await look();
    await wait(form.measureS * 1_000);
    const after = await look();
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
  } finally {
    clearInterval(relay);
    await stop(load, agent);
  }
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
  const [before, startedAt] = [await world.used(), performance.now()];
  const steps = await run(floorS);
  const [after, endedAt] = [await world.used(), performance.now()];
  await Promise.all(sessions.map((session) => session.end()));
  return {
    floor_steps_per_s: steps / ((endedAt - startedAt) / 1_000),
    floor_db_cpu_us_per_step: ((after.databaseCpuS - before.databaseCpuS) / steps) * 1_000_000,
    floor_wal_bytes_per_step: (after.walBytes - before.walBytes) / steps,
  };
}
