// What early detection costs: agents hold tasks with heartbeats for a while, then all of them are
// killed at once, and every lease must be found. Few agents at several heartbeats, and ten thousand
// leases that get a heartbeat every 5 s.
import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "../../sdk/typescript/index.ts";
import { type Measured, spreadOf, type Wish } from "../profile.ts";
import { scheduleRuns } from "../schedule-runs.ts";
import { type BenchWorld, openWorld, startProgram, type Used } from "../world.ts";

interface Load {
  readonly heartbeatS: number;
  readonly sessions: number;
  readonly tasksEach: number;
}

const FEW = { sessions: 200, tasksEach: 5 };
/** Agents send heartbeats at a third of it: every 5 s. */
const MANY_HEARTBEAT_S = 15;
const MANY: readonly Load[] = [
  { heartbeatS: MANY_HEARTBEAT_S, sessions: 2_000, tasksEach: 5 },
  { heartbeatS: MANY_HEARTBEAT_S, sessions: 1_000, tasksEach: 10 },
  { heartbeatS: MANY_HEARTBEAT_S, sessions: 100, tasksEach: 100 },
];
const LONG = { heartbeats: [2, 5, 30, 60], many: MANY, measureS: 30 };
const SHORT = { heartbeats: [2], many: MANY.slice(1, 2), measureS: 10 };

export async function heartbeats({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const rows = [];
  for (const load of [
    ...form.heartbeats.map((heartbeatS) => ({ heartbeatS, ...FEW })),
    ...form.many,
  ]) {
    const { heartbeatS, sessions, tasksEach } = load;
    log(`heartbeat of ${heartbeatS} s: ${sessions} agents with ${tasksEach} tasks each`);
    rows.push(await measure(load, form.measureS));
  }
  return {
    settings: { measured_s: form.measureS },
    columns: Object.keys(rows[0] ?? {}),
    rows,
    figures: { ten_thousand_leases_every_5_s: rows.slice(form.heartbeats.length) },
  };
}

async function measure(load: Load, measureS: number) {
  const { heartbeatS, sessions, tasksEach } = load;
  const world = await openWorld();
  try {
    await begin(world, load);
    const args = [world.address, ...[sessions, tasksEach, heartbeatS * 1_000].map(String)];
    const agents = await startProgram("holders.ts", args);
    // The first heartbeat of every agent and the work that it causes is not measured.
    await wait((heartbeatS * 1_000) / 3);
    const before = await world.used();
    await wait(measureS * 1_000);
    const after = await world.used();
    const [killedAt] = await column(world, "select extract(epoch from clock_timestamp()) * 1000");
    agents.child.kill("SIGKILL");
    const found = await allFound(world, sessions * tasksEach);
    const afterKill = spreadOf(found.map(({ actedAt }) => actedAt - (killedAt ?? 0)));
    const late = spreadOf(found.map(({ actedAt, dueAt }) => actedAt - dueAt));
    return {
      heartbeat_s: heartbeatS,
      sessions,
      leases: sessions * tasksEach,
      ...costs(before, after, { sessions, measureS }),
      found_after_kill_p50_s: afterKill.p50 / 1_000,
      found_after_kill_max_s: afterKill.max / 1_000,
      acted_after_due_p50_ms: late.p50,
      acted_after_due_p99_ms: late.p99,
      acted_after_due_max_ms: late.max,
      samples: found.length,
    };
  } finally {
    await world.stop();
  }
}

/** As shares of one core; of this load, and for a thousand agents. */
function costs(
  before: Used,
  after: Used,
  { sessions, measureS: seconds }: { sessions: number; measureS: number },
) {
  const each = (sessions / 1_000) * seconds;
  const serverS = after.serverCpuS - before.serverCpuS;
  const databaseS = after.databaseCpuS - before.databaseCpuS;
  return {
    server_core_percent: (100 * serverS) / seconds,
    database_core_percent: (100 * databaseS) / seconds,
    core_percent: (100 * (serverS + databaseS)) / seconds,
    server_core_percent_per_1000: (100 * serverS) / each,
    database_core_percent_per_1000: (100 * databaseS) / each,
    wal_kib_s_per_1000: (after.walBytes - before.walBytes) / 1_024 / each,
    commits_s: (after.commits - before.commits) / seconds,
  };
}

async function begin(world: BenchWorld, { heartbeatS, sessions, tasksEach }: Load): Promise<void> {
  const client = createClient({ address: world.address });
  const timeouts = { heartbeat: `${heartbeatS}s`, attempt: "1h" };
  const workflow = { workflow: "held", steps: [{ id: "hold", task: "hold", timeouts }] };
  await scheduleRuns(client, { workflow }, sessions * tasksEach);
  client.close();
}

/** Once every lease has been found: when each was due, and when a supervisor acted, in ms. */
async function allFound(world: BenchWorld, wanted: number) {
  for (;;) {
    const { rows } = await world.database.query<{ dueAt: number; actedAt: number }>(
      `select (extract(epoch from due_at) * 1000)::float8 as "dueAt",
         (extract(epoch from acted_at) * 1000)::float8 as "actedAt"
       from drover.intervention_view where rule = 'lease'`,
    );
    if (rows.length >= wanted) return rows;
    await wait(500);
  }
}

async function column(world: BenchWorld, sql: string): Promise<readonly number[]> {
  const { rows } = await world.database.query<Record<string, unknown>>(sql);
  return rows.map((row) => Number(Object.values(row)[0]));
}
