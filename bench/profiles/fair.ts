// What a namespace that floods does to another one that trickles: both use the same queue and task,
// agents of their own, and one server.
import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "../../sdk/typescript/index.ts";
import { idleShare } from "../machine.ts";
import type { Measured, Wish } from "../profile.ts";
import type { RunTimes } from "../shared-clock.ts";
import { type BenchWorld, openWorld, startWorker } from "../world.ts";
import { BATCHES, ROOMY, STEPS } from "./chain.ts";
import { flat, type Row, rowOf } from "./latency.ts";

const RUNS_PER_S = 20;
/** Of the one that floods, all the time: forty times as many as its agent holds. */
const RUNS_OPEN = 20_000;
const LONG = { warmS: 10, measureS: 60 };
const SHORT = { warmS: 3, measureS: 10 };
const RELAY_MS = 20;
const POLL_MS = 200;

interface Trickle {
  /** The runs that have ended since it was last asked. */
  take(): readonly RunTimes[];
  stop(): Promise<void>;
}

interface Flood {
  /** Steps. */
  done(): number;
  stop(): Promise<void>;
}

export async function fair({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld(ROOMY);
  try {
    const client = createClient({ address: world.address });
    for (const name of ["trickle", "flood"]) await client.namespaces.create(name);
    client.close();
    const trickle = await startTrickle(world);
    log("the trickle alone");
    const quiet = await measure(trickle, form);
    log(`beside a backlog of ${RUNS_OPEN} runs`);
    const flood = await startFlood(world);
    const before = flood.done();
    const startedAt = performance.now();
    const beside = await measure(trickle, form);
    const flood_steps_per_s = (flood.done() - before) / ((performance.now() - startedAt) / 1_000);
    await Promise.all([trickle.stop(), flood.stop()]);
    const ratio = (of: "schedule_to_task_ms" | "step_to_step_ms" | "run_ms") =>
      beside[of].p99 / quiet[of].p99;
    const ratios = {
      flood_steps_per_s,
      schedule_to_task_p99_ratio: ratio("schedule_to_task_ms"),
      step_to_step_p99_ratio: ratio("step_to_step_ms"),
      run_p99_ratio: ratio("run_ms"),
    };
    const rows = [
      { load: "quiet", ...flat(quiet) },
      { load: "beside the flood", ...flat(beside), ...ratios },
    ];
    return {
      settings: { ...BATCHES, ...form, runs_per_s: RUNS_PER_S, flood_runs_open: RUNS_OPEN },
      columns: Object.keys(rows[1] ?? {}),
      rows,
      figures: { quiet, beside_the_flood: beside, ...ratios },
    };
  } finally {
    await world.stop();
  }
}

async function startTrickle({ address }: BenchWorld): Promise<Trickle> {
  let seen: RunTimes[] = [];
  const slots = String(BATCHES.many);
  const agent = await startWorker("latency-agent.ts", [address, slots, "trickle"]);
  agent.onMessage((times) => {
    if (Array.isArray(times)) seen.push(...times);
  });
  const load = await startWorker("latency-load.ts", [address, "trickle"]);
  load.send(RUNS_PER_S);
  return {
    take() {
      const taken = seen;
      seen = [];
      return taken;
    },
    async stop() {
      await Promise.all([load.kill(), agent.kill()]);
    },
  };
}

/** Its backlog is there before its agent comes. */
async function startFlood({ address, database }: BenchWorld): Promise<Flood> {
  const load = await startWorker("chain-load.ts", [address, String(STEPS), "flood"]);
  load.send(RUNS_OPEN);
  for (let open = 0; open < RUNS_OPEN; ) {
    await wait(POLL_MS);
    const { rows } = await database.query<{ open: number }>(
      `select count(*)::integer as open
       from drover.run_page as o join drover.namespace as n on n.id = o.namespace_id
       where n.name = 'flood' and o.no = 0 and o.ended_at is null`,
    );
    open = rows[0]?.open ?? 0;
  }
  const { how, many } = BATCHES;
  const agent = await startWorker("chain-agent.ts", [address, how, String(many), "flood"]);
  let done = 0;
  agent.onMessage((count) => {
    done = Number(count);
  });
  const relay = setInterval(() => load.send(RUNS_OPEN + Math.floor(done / STEPS)), RELAY_MS);
  return {
    done: () => done,
    async stop() {
      clearInterval(relay);
      await Promise.all([load.kill(), agent.kill()]);
    },
  };
}

/** After the warm-up. */
async function measure(trickle: Trickle, form: typeof LONG): Promise<Row> {
  await wait(form.warmS * 1_000);
  trickle.take();
  const idle = idleShare();
  await wait(form.measureS * 1_000);
  return rowOf(trickle.take(), idle());
}
