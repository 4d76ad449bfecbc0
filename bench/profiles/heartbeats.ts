// What early detection costs: agents hold tasks with beats for a while, then all of them are killed
// at once, and every lease must be found.
import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "../../sdk/typescript/index.ts";
import { type Measured, spreadOf, type Wish } from "../profile.ts";
import { type BenchWorld, openWorld, startProgram, type Used } from "../world.ts";

const SESSIONS = 200;
const TASKS_EACH = 5;
const LONG = { heartbeats: [2, 5, 30, 60], measureS: 30 };
const SHORT = { heartbeats: [2, 5], measureS: 6 };

export async function heartbeats({ short, say }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const rows = [];
  for (const heartbeatS of form.heartbeats) {
    say(`heartbeat of ${heartbeatS} s: ${SESSIONS} agents with ${TASKS_EACH} tasks each`);
    rows.push(await measure(heartbeatS, form.measureS));
  }
  return {
    settings: { sessions: SESSIONS, tasks_each: TASKS_EACH, measured_s: form.measureS },
    columns: Object.keys(rows[0] ?? {}),
    rows,
  };
}

async function measure(heartbeatS: number, measureS: number) {
  const world = await openWorld();
  try {
    await scheduleRuns(world, heartbeatS);
    const args = [world.address, String(SESSIONS), String(TASKS_EACH), String(heartbeatS * 1_000)];
    const agents = await startProgram("holders.ts", args);
    // The first beat of every agent and what it set in motion is not measured.
    await wait((heartbeatS * 1_000) / 3);
    const before = await world.used();
    await wait(measureS * 1_000);
    const after = await world.used();
    const [killedAt] = await column(world, "select extract(epoch from clock_timestamp()) * 1000");
    agents.child.kill("SIGKILL");
    const found = await allFound(world);
    const afterKill = spreadOf(found.map(({ actedAt }) => actedAt - (killedAt ?? 0)));
    const late = spreadOf(found.map(({ actedAt, dueAt }) => actedAt - dueAt));
    return {
      heartbeat_s: heartbeatS,
      ...costs(before, after, measureS),
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

/** For a thousand agents, and as a share of one core. */
function costs(before: Used, after: Used, seconds: number) {
  const each = (SESSIONS / 1_000) * seconds;
  return {
    server_core_percent_per_1000: (100 * (after.serverCpuS - before.serverCpuS)) / each,
    database_core_percent_per_1000: (100 * (after.databaseCpuS - before.databaseCpuS)) / each,
    wal_kib_s_per_1000: (after.walBytes - before.walBytes) / 1_024 / each,
    commits_s: (after.commits - before.commits) / seconds,
  };
}

async function scheduleRuns(world: BenchWorld, heartbeatS: number): Promise<void> {
  const client = createClient({ address: world.address });
  const timeouts = { heartbeat: `${heartbeatS}s`, attempt: "1h" };
  const workflow = { workflow: "held", steps: [{ id: "hold", task: "hold", timeouts }] };
  for (let agent = 0; agent < SESSIONS; agent++)
    await client.scheduleBatch(Array.from({ length: TASKS_EACH }, () => ({ workflow })));
  client.close();
}

/** Once every lease has been found: when each was due, and when somebody acted, in ms. */
async function allFound(world: BenchWorld) {
  const wanted = SESSIONS * TASKS_EACH;
  for (;;) {
    const { rows } = await world.database.query<{ dueAt: number; actedAt: number }>(
      `select (extract(epoch from due_at) * 1000)::float8 as "dueAt",
         (extract(epoch from acted_at) * 1000)::float8 as "actedAt"
       from intervention_view where rule = 'lease'`,
    );
    if (rows.length >= wanted) return rows;
    await wait(500);
  }
}

async function column(world: BenchWorld, sql: string): Promise<readonly number[]> {
  const { rows } = await world.database.query<Record<string, unknown>>(sql);
  return rows.map((row) => Number(Object.values(row)[0]));
}
