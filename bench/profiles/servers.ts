// What a second server costs: the work of `chain` by one server, then by two on one database, each
// with an agent of its own and half of the runs; and how much they wait for each other's locks.
import { once } from "node:events";
import { cpuSeconds } from "../machine.ts";
import type { Measured, Wish } from "../profile.ts";
import { type BenchWorld, openWorld, SERVER_PROGRAM, startProgram } from "../world.ts";
import { BATCHES, type Reached, ROOMY, saturated } from "./chain.ts";

const LONG = { warmS: 10, measureS: 30 };
const SHORT = { warmS: 3, measureS: 5 };
const POLL_MS = 20;

export async function servers({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld(ROOMY);
  try {
    log("one server");
    const one = await waits(world, () => saturated(world, form, BATCHES));
    const second = await startProgram(SERVER_PROGRAM, [world.connectionString]);
    log("two servers");
    const both = {
      address: world.address,
      async used() {
        const used = await world.used();
        return { ...used, serverCpuS: used.serverCpuS + cpuSeconds(second.child.pid ?? 0) };
      },
    };
    const two = await waits(world, () =>
      saturated(both, form, BATCHES, [world.address, second.firstLine]),
    );
    second.child.kill("SIGTERM");
    await once(second.child, "exit");
    const rows = [
      { servers: 1, ...one },
      { servers: 2, ...two },
    ];
    const figures = {
      one,
      two,
      steps_ratio: two.steps_per_s / one.steps_per_s,
      cpu_per_step_ratio: cpuOf(two) / cpuOf(one),
    };
    return {
      settings: { ...BATCHES, ...form },
      columns: Object.keys(rows[0] ?? {}),
      rows,
      figures,
    };
  } finally {
    await world.stop();
  }
}

/** Of servers and database: what the machine does not have to share with agents. */
function cpuOf({ server_cpu_us_per_step, db_cpu_us_per_step }: Reached): number {
  return server_cpu_us_per_step + db_cpu_us_per_step;
}

/** With the sessions that were found waiting for a lock of another one, as an average. */
async function waits(
  world: BenchWorld,
  measure: () => Promise<Reached>,
): Promise<Reached & { readonly waiting_for_locks: number }> {
  let samples = 0;
  let waiting = 0;
  let sampling = false;
  const timer = setInterval(async () => {
    if (sampling) return;
    sampling = true;
    const { rows } = await world.database.query<{ n: number }>(
      `select count(*)::float8 as n from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    samples++;
    waiting += rows[0]?.n ?? 0;
    sampling = false;
  }, POLL_MS);
  try {
    const reached = await measure();
    return { ...reached, waiting_for_locks: waiting / Math.max(1, samples) };
  } finally {
    clearInterval(timer);
  }
}
