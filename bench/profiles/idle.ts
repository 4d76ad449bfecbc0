// What ten thousand polls cost that wait for work, and how soon they are awake: all of them, and
// one.
import { setTimeout as wait } from "node:timers/promises";
import { type Client, createClient } from "../../sdk/typescript/index.ts";
import { type Measured, spreadOf, type Wish } from "../profile.ts";
import { scheduleRuns } from "../schedule-runs.ts";
import { nowMs } from "../shared-clock.ts";
import { type BenchWorld, openWorld, startWorker } from "../world.ts";

const LONG = { polls: 10_000, measureS: 30, ones: 100 };
const SHORT = { polls: 500, measureS: 5, ones: 10 };
const PROCESSES = 2;
/** The longest that a poll may ask for: none ends while it is measured. */
const PARKED_WAIT_S = 60;
/** What the SDKs ask for. */
const RENEWED_WAIT_S = 30;
/** Of a core, over a second: nothing arrives any more. */
const QUIET_SHARE = 0.15;
/** A server that is starved uses little of a core, too, but answers late. */
const QUIET_ANSWER_MS = 100;
/** In a row. */
const QUIET_SECONDS = 2;
const QUIET_WITHIN_S = 60;
const BACK_WITHIN_S = 120;
/** Polls that end all the time are never quiet: by then each has started. */
const SPREAD_MS = 5_000;
const POLL_MS = 5;
const STATEMENTS_LISTED = 12;
const IDLE = { workflow: "idle" };

type Form = typeof LONG;

interface Target {
  readonly world: BenchWorld;
  readonly client: Client;
}

/** What an agent process reports. */
interface Reported {
  readonly awake: readonly number[];
  readonly failed: number;
}

interface Sleepers {
  /** By the clock that all share; in the order in which they were reported. */
  readonly awake: number[];
  /** Calls that had to be repeated so far. */
  failed(): number;
  /** Report, and wait for the next. */
  goOn(): void;
  kill(): Promise<void>;
}

export async function idle({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld();
  const client = createClient({ address: world.address });
  const target = { world, client };
  try {
    await client.registerWorkflow({
      workflow: "idle",
      steps: [{ id: "a", task: "nothing", timeouts: { heartbeat: "10m", attempt: "1h" } }],
    });
    log("nobody");
    const none = await measureIdle(world, { who: "none", polls: 0 }, form);
    log(`${form.polls} polls`);
    const parked = await park(target, form.polls, PARKED_WAIT_S);
    const calls_repeated = parked.failed();
    const still = await measureIdle(world, { who: "parked", polls: form.polls }, form);
    await parked.kill();
    log("waking them");
    const woken = await wake(target, form);
    log(`${form.polls} polls that end after ${RENEWED_WAIT_S} s, one after the other`);
    const renewing = await park(target, form.polls, RENEWED_WAIT_S, "spread");
    const renewed = await measureIdle(world, { who: "renewed", polls: form.polls }, form);
    await renewing.kill();
    log("killing the server below them");
    const returned = await comeBack(target, form);
    const loads = [none, still, renewed];
    const rows = loads.map(({ statements: _, ...row }) => ({
      ...row,
      ...(row.who === "parked"
        ? { parking_calls_repeated: calls_repeated, ...woken, ...returned }
        : {}),
    }));
    return {
      settings: { processes: PROCESSES, ...form },
      columns: Object.keys(rows[1] ?? {}),
      rows,
      figures: { none, parked: { ...still, calls_repeated }, renewed, ...woken, ...returned },
    };
  } finally {
    client.close();
    await world.stop();
  }
}

async function park(
  target: Target,
  polls: number,
  waitS: number,
  how = "together",
): Promise<Sleepers> {
  const args = [target.world.address, String(polls / PROCESSES), String(waitS), how];
  const workers = await Promise.all(
    Array.from({ length: PROCESSES }, () => startWorker("idle-agent.ts", args)),
  );
  const awake: number[] = [];
  let failed = 0;
  for (const worker of workers)
    worker.onMessage((report) => {
      if (!isReported(report)) return;
      awake.push(...report.awake);
      failed += report.failed;
    });
  await (how === "spread" ? wait(SPREAD_MS) : quiet(target));
  return {
    awake,
    failed: () => failed,
    goOn() {
      for (const worker of workers) worker.send(1);
    },
    async kill() {
      await Promise.all(workers.map((worker) => worker.kill()));
      await quiet(target);
    },
  };
}

function isReported(message: unknown): message is Reported {
  return typeof message === "object" && message !== null && "awake" in message;
}

/** The server has done what came to it. */
async function quiet({ world, client }: Target): Promise<void> {
  const startedAt = performance.now();
  for (let before = await world.used(), seconds = 0; seconds < QUIET_SECONDS; ) {
    if (performance.now() - startedAt > QUIET_WITHIN_S * 1_000)
      throw new Error(
        `the server is still busy after ${QUIET_WITHIN_S} s: measure on a machine that is free`,
      );
    await wait(1_000);
    const now = await world.used();
    const askedAt = performance.now();
    await client.namespaces.get();
    const prompt = performance.now() - askedAt < QUIET_ANSWER_MS;
    const still = now.serverCpuS - before.serverCpuS < QUIET_SHARE;
    seconds = prompt && still ? seconds + 1 : 0;
    before = now;
  }
}

async function measureIdle(
  world: BenchWorld,
  { who, polls }: { who: string; polls: number },
  { measureS }: Form,
) {
  const sample = async () => ({ ...(await world.used()), calls: await world.statements() });
  const before = await sample();
  await wait(measureS * 1_000);
  const after = await sample();
  const statements = [...after.calls]
    .map(([query, calls]) => ({
      query,
      per_s: (calls - (before.calls.get(query) ?? 0)) / measureS,
    }))
    .filter(({ per_s }) => per_s > 0)
    .sort((a, b) => b.per_s - a.per_s);
  return {
    who,
    polls,
    queries_per_s: (after.statements - before.statements) / measureS,
    commits_per_s: (after.commits - before.commits) / measureS,
    server_core_percent: (100 * (after.serverCpuS - before.serverCpuS)) / measureS,
    database_core_percent: (100 * (after.databaseCpuS - before.databaseCpuS)) / measureS,
    wal_kib_per_s: (after.walBytes - before.walBytes) / 1_024 / measureS,
    server_rss_mib: after.serverRssMiB,
    statements: statements.slice(0, STATEMENTS_LISTED),
  };
}

async function wake(target: Target, { polls, ones }: Form) {
  const { client } = target;
  const sleepers = await park(target, polls, PARKED_WAIT_S);
  await client.queues.pause("default");
  await scheduleRuns(client, IDLE, polls);
  await quiet(target);
  const resumedAtMs = nowMs();
  await client.queues.resume("default");
  const resumed = (await awakened(sleepers, polls)).map((at) => at - resumedAtMs);
  await again(target, sleepers);
  const scheduledAtMs = nowMs();
  await scheduleRuns(client, IDLE, polls);
  const scheduledMs = nowMs() - scheduledAtMs;
  const scheduled = (await awakened(sleepers, polls)).map((at) => at - scheduledAtMs);
  await again(target, sleepers);
  const alone: number[] = [];
  for (let no = 0; no < ones; no++) {
    const atMs = nowMs();
    await client.schedule(IDLE);
    alone.push(...(await awakened(sleepers, 1)).map((at) => at - atMs));
    sleepers.goOn();
    // Until it polls again, and at another time between two scans of the server each time.
    await wait(50 + Math.random() * 100);
  }
  const waking_calls_repeated = sleepers.failed();
  await sleepers.kill();
  const ofResumed = spreadOf(resumed);
  const ofOne = spreadOf(alone);
  return {
    wake_all_p50_s: ofResumed.p50 / 1_000,
    wake_all_last_s: ofResumed.max / 1_000,
    schedule_all_s: scheduledMs / 1_000,
    schedule_and_wake_all_s: spreadOf(scheduled).max / 1_000,
    wake_one_p50_ms: ofOne.p50,
    wake_one_p99_ms: ofOne.p99,
    wake_one_max_ms: ofOne.max,
    waking_calls_repeated,
  };
}

/** All agents lose their server at once, and come back to the next one. */
async function comeBack(target: Target, { polls }: Form) {
  const { world } = target;
  const agents = await park(target, polls, PARKED_WAIT_S);
  const killedAtMs = nowMs();
  await world.replaceServer();
  const listensMs = nowMs() - killedAtMs;
  const backBy = async (share: number): Promise<number> => {
    while ((await world.pollsParked()) < share * polls) {
      if (nowMs() - killedAtMs > BACK_WITHIN_S * 1_000)
        throw new Error(`not all agents are back after ${BACK_WITHIN_S} s`);
      await wait(50);
    }
    return (nowMs() - killedAtMs) / 1_000;
  };
  const half = await backBy(0.5);
  const all = await backBy(1);
  const { serverRssMiB } = await world.used();
  await agents.kill();
  return {
    server_listens_s: listensMs / 1_000,
    back_half_s: half,
    back_all_s: all,
    back_server_rss_mib: serverRssMiB,
  };
}

async function awakened({ awake }: Sleepers, count: number): Promise<readonly number[]> {
  while (awake.length < count) await wait(POLL_MS);
  return awake.splice(0);
}

async function again(target: Target, sleepers: Sleepers): Promise<void> {
  sleepers.goOn();
  await quiet(target);
}
