// How long a run of three tasks takes that do nothing: one at a time, and at shares of what the
// machine can do, by callers that do not wait for each other.
import { setTimeout as wait } from "node:timers/promises";
import { idleShare } from "../machine.ts";
import { type Measured, type Spread, spreadOf, type Wish } from "../profile.ts";
import type { RunTimes } from "../shared-clock.ts";
import { type BenchWorld, openWorld, startWorker, type Worker } from "../world.ts";
import { BATCHES, STEPS, saturated } from "./chain.ts";

const SHARES = { at_10_percent: 0.1, at_50_percent: 0.5, at_80_percent: 0.8 };
const LONG = { warmS: 5, measureS: 30, alone: 500 };
const SHORT = { warmS: 1, measureS: 4, alone: 60 };
/** Asks the scheduling process to start one run. */
const ONE = -1;
const POLL_MS = 1;

export interface Workers {
  readonly load: Worker;
  /** Of the runs that have ended so far. */
  readonly seen: RunTimes[];
  kill(): Promise<void>;
}

export interface Row {
  readonly schedule_to_task_ms: Spread;
  readonly step_to_step_ms: Spread;
  readonly run_ms: Spread;
  readonly runs: number;
  readonly machine_idle_percent: number;
}

export async function latency({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld();
  try {
    const most = (await saturated(world, form, BATCHES)).steps_per_s / STEPS;
    log(`as many as it can do: ${Math.round(most)} runs a second`);
    const workers = await startWorkers(world);
    const figures: Record<string, Row> = { one_at_a_time: await alone(workers, form.alone) };
    for (const [name, share] of Object.entries(SHARES)) {
      log(name);
      figures[name] = await atRate(workers, form, Math.round(most * share));
    }
    await workers.kill();
    const rows = Object.entries(figures).map(([name, row]) => ({ load: name, ...flat(row) }));
    return {
      settings: { ...BATCHES, ...form, saturated_runs_per_s: most },
      columns: Object.keys(rows[0] ?? {}),
      rows,
      figures,
    };
  } finally {
    await world.stop();
  }
}

/** The agent of the runs and the client that starts them, each a process of its own. */
export async function startWorkers({ address }: Pick<BenchWorld, "address">): Promise<Workers> {
  const seen: RunTimes[] = [];
  const agent = await startWorker("latency-agent.ts", [address, String(BATCHES.many)]);
  agent.onMessage((times) => {
    if (Array.isArray(times)) seen.push(...times);
  });
  const load = await startWorker("latency-load.ts", [address]);
  const kill = async () => void (await Promise.all([load.kill(), agent.kill()]));
  return { load, seen, kill };
}

/** One run after the other. */
export async function alone({ load, seen }: Workers, runs: number): Promise<Row> {
  const idle = idleShare();
  for (let run = 0; run < runs; run++) {
    const before = seen.length;
    load.send(ONE);
    while (seen.length === before) await wait(POLL_MS);
  }
  return rowOf(seen.splice(0), idle());
}

async function atRate({ load, seen }: Workers, form: typeof LONG, runsPerS: number): Promise<Row> {
  load.send(runsPerS);
  await wait(form.warmS * 1_000);
  seen.splice(0);
  const idle = idleShare();
  await wait(form.measureS * 1_000);
  const row = rowOf(seen.splice(0), idle());
  load.send(0);
  await wait(form.warmS * 1_000);
  return row;
}

export function rowOf(times: readonly RunTimes[], idle: number): Row {
  return {
    schedule_to_task_ms: spreadOf(times.map(({ toTaskMs }) => toTaskMs)),
    step_to_step_ms: spreadOf(times.flatMap(({ hops }) => hops)),
    run_ms: spreadOf(times.map(({ runMs }) => runMs)),
    runs: times.length,
    machine_idle_percent: 100 * idle,
  };
}

export function flat({ runs, machine_idle_percent, ...spreads }: Row): Record<string, number> {
  const cells = Object.entries(spreads).flatMap(([name, { p50, p99, max }]) => {
    const of = name.replace(/_ms$/, "");
    return [
      [`${of}_p50_ms`, p50],
      [`${of}_p99_ms`, p99],
      [`${of}_max_ms`, max],
    ];
  });
  return { ...Object.fromEntries(cells), runs, machine_idle_percent };
}
