// How long partitions are without a supervisor: a server that owns nearly all partitions is
// stopped, killed, frozen, or cut off from PostgreSQL, while agents hold thousands of leases,
// timers come due all the time and tasks follow from them. Some of the agents die with the server,
// and what they held must be found; the others send heartbeats to the server that is left, and must
// lose nothing.
//
//   each round: the survivor of the last one, alone ─→ a new server joins ─→ the older one goes,
//   and comes back, if it can, when all is over: what it still sends must count for nothing
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { loadavg } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { createAgent, createClient, type Client as Drover } from "../../sdk/typescript/index.ts";
import { type BlackholeProxy, startBlackholeProxy } from "../../test/support/blackhole-proxy.ts";
import { type Measured, spreadOf, type Wish } from "../profile.ts";
import { scheduleRuns } from "../schedule-runs.ts";
import { openDatabase, SERVER_PROGRAM, startProgram } from "../world.ts";

interface Server {
  readonly address: string;
  readonly proxy: BlackholeProxy;
  readonly signal: (signal: NodeJS.Signals) => void;
}

interface Fault {
  readonly name: string;
  /** What docs/SUPERVISORS.md promises, in seconds. */
  readonly goalS: number;
  readonly happens: (to: Server) => void;
  /** It wakes, or is let through again. */
  readonly passes?: (of: Server) => void;
}

const FAULTS: readonly Fault[] = [
  { name: "SIGTERM", goalS: 1, happens: ({ signal }) => signal("SIGTERM") },
  { name: "SIGKILL", goalS: 3, happens: ({ signal }) => signal("SIGKILL") },
  {
    name: "SIGSTOP",
    goalS: 5,
    happens: ({ signal }) => signal("SIGSTOP"),
    passes: ({ signal }) => signal("SIGCONT"),
  },
  {
    name: "blackhole",
    goalS: 5,
    happens: ({ proxy }) => proxy.swallow(),
    passes: ({ proxy }) => proxy.open(),
  },
];
const LONG = { rounds: 5, leases: 10_000 };
const SHORT = { rounds: 2, leases: 1_000 };
const TASKS_EACH = 10;
const HEARTBEAT_MS = 5_000;
/** Of the agents, that die with the server. */
const DYING = 0.2;
/** Of a round: a run each, due one after the other from before the fault until after it. */
const RUNS = 200;
const DUE_WITHIN_MS = 8_000;
const SHARE = 8;
/** Of the owners, as the servers have it by default. */
const SCAN_EVERY_MS = 500;

interface World {
  readonly database: Client;
  /** Held at the time of the fault. */
  readonly leases: number;
  start(): Promise<Server>;
}

interface Round {
  /** Until each of the partitions had a new owner, in seconds. */
  readonly ownedS: readonly number[];
  /** Until all that came due meanwhile had been done. */
  readonly movingS: number;
  /** Until each lease of the agents that died was found. */
  readonly foundS: readonly number[];
  /** Leases that were taken away from agents that lived. */
  readonly wronged: number;
  /** Runs that did not end well, and tasks that ended more than once. */
  readonly lost: number;
  readonly doubled: number;
}

export async function recovery({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const rows = [];
  for (const fault of FAULTS) rows.push(await measure(fault, form, log));
  return {
    settings: {
      ...form,
      tasks_each: TASKS_EACH,
      heartbeat_ms: HEARTBEAT_MS,
      dying_share: DYING,
      runs_each: RUNS,
      due_within_ms: DUE_WITHIN_MS,
    },
    columns: Object.keys(rows[0] ?? {}),
    rows,
    figures: Object.fromEntries(rows.map((row) => [row.fault, row])),
  };
}

async function measure(fault: Fault, { rounds: count, leases }: typeof LONG, log: Wish["log"]) {
  const postgres = await openDatabase({ track_commit_timestamp: "on" });
  const database = new Client({ connectionString: postgres.connectionString });
  await database.connect();
  const servers: Server[] = [];
  const world: World = {
    database,
    leases,
    async start() {
      const server = await startServer(postgres.connectionString);
      servers.push(server);
      return server;
    },
  };
  try {
    const rounds: Round[] = [];
    const loads: number[] = [];
    let older = await world.start();
    while (rounds.length < count) {
      await owns(world, "one");
      const newer = await world.start();
      rounds.push(await round(world, { fault, older, newer }));
      loads.push(loadavg()[0] ?? 0);
      const { ownedS = [], foundS = [] } = rounds.at(-1) ?? {};
      const longest = (of: readonly number[]) => `${Math.max(...of).toFixed(2)} s`;
      log(
        `${fault.name} ${rounds.length}: owned after ${longest(ownedS)}, found after ${longest(foundS)}, load ${loads.at(-1)}`,
      );
      older.signal("SIGKILL");
      await older.proxy.stop();
      older = newer;
    }
    return { fault: fault.name, goal_s: fault.goalS, ...figures(rounds), ...loadOf(loads) };
  } finally {
    for (const { signal } of servers) signal("SIGKILL");
    for (const { proxy } of servers) await proxy.stop();
    await database.end();
    await postgres.stop();
  }
}

function figures(rounds: readonly Round[]) {
  const partitions = rounds.flatMap(({ ownedS }) => ownedS);
  const each = spreadOf(partitions);
  const all = spreadOf(rounds.map(({ ownedS }) => Math.max(...ownedS)));
  const moving = spreadOf(rounds.map(({ movingS }) => movingS));
  const found = spreadOf(rounds.flatMap(({ foundS }) => foundS));
  const sum = (of: "lost" | "doubled" | "wronged") =>
    rounds.reduce((total, round) => total + round[of], 0);
  return {
    rounds: rounds.length,
    partitions: partitions.length,
    partition_p50_s: each.p50,
    partition_p99_s: each.p99,
    partition_max_s: each.max,
    all_owned_p50_s: all.p50,
    all_owned_p99_s: all.p99,
    all_owned_max_s: all.max,
    all_moving_p50_s: moving.p50,
    all_moving_p99_s: moving.p99,
    all_moving_max_s: moving.max,
    dead_found_p50_s: found.p50,
    dead_found_p99_s: found.p99,
    dead_found_max_s: found.max,
    live_leases_lost: sum("wronged"),
    lost: sum("lost"),
    doubled: sum("doubled"),
  };
}

function loadOf(loads: readonly number[]) {
  const { p50, max } = spreadOf(loads);
  return { load_p50: p50, load_max: max };
}

async function round(
  world: World,
  { fault, older, newer }: { fault: Fault; older: Server; newer: Server },
): Promise<Round> {
  const { database } = world;
  const former = await owns(world, "two");
  const agent = createAgent({
    address: newer.address,
    id: "bench",
    slots: 50,
    handlers: { act: async () => null },
  });
  agent.start();
  const client = createClient({ address: newer.address });
  const held = `bench-held-${process.hrtime.bigint()}`;
  const { dying, living } = await hold(world, { client, held, older, newer });
  const runs = await Promise.all(
    Array.from({ length: RUNS }, async (_, run) => {
      const due = `${Math.round(((run + 1) / RUNS) * DUE_WITHIN_MS)}ms`;
      const steps = [
        { id: "wait", wait: due },
        { id: "act", needs: ["wait"], task: "act" },
      ];
      return (await client.schedule({ workflow: { workflow: "bench-recovery", steps } })).runId;
    }),
  );
  // Otherwise each round would meet the survivor at the same time between two of its scans.
  await wait(DUE_WITHIN_MS / 8 + Math.random() * SCAN_EVERY_MS);
  const { rows } = await database.query<{ partition: number; at: number }>(
    `select partition, (extract(epoch from clock_timestamp()) * 1000)::float8 as at
     from drover.partition_lease where node = $1`,
    [former],
  );
  const at = rows[0]?.at ?? Number.NaN;
  fault.happens(older);
  dying.kill("SIGKILL");
  await owns(world, "one", former);
  const owned = await ownedAt(database, new Set(rows.map(({ partition }) => partition)));
  const ended = await Promise.all(runs.map((run) => client.waitRun(run)));
  const found = await deadFound(world, { held, dying });
  if (fault.passes) {
    fault.passes(older);
    // It has joined again, so all that it had under way has been refused.
    await owns(world, "joined");
  }
  const wronged = (await leasesLost(world, { held, by: living })).length;
  const fired = await timersFired(database, runs);
  const moving = fired.filter(({ due }) => due <= Math.max(...owned)).map(({ done }) => done);
  await endAll(world, { client, held, living });
  client.close();
  await agent.stop();
  return {
    ownedS: owned.map((ms) => (ms - at) / 1_000),
    movingS: (Math.max(...moving) - at) / 1_000,
    foundS: found.map((ms) => (ms - at) / 1_000),
    wronged,
    lost: ended.filter(({ state }) => state !== "COMPLETED").length,
    doubled: (await attempts(database, runs)) - runs.length + (fired.length - runs.length),
  };
}

function dyingOf({ leases }: World): number {
  return leases * DYING;
}

/** Agents that hold all the leases: some use the server that fails, and die with it. */
async function hold(
  world: World,
  of: { client: Drover; held: string; older: Server; newer: Server },
): Promise<{ dying: ChildProcess; living: ChildProcess }> {
  const timeouts = { heartbeat: `${HEARTBEAT_MS}ms`, attempt: "1h" };
  const step = { id: "hold", task: "hold", queue: of.held, timeouts };
  await scheduleRuns(
    ...([of.client, { workflow: { workflow: of.held, steps: [step] } }, world.leases] as const),
  );
  const holders = async (address: string, leases: number) => {
    const args = [address, leases / TASKS_EACH, TASKS_EACH, HEARTBEAT_MS, of.held].map(String);
    return (await startProgram("holders.ts", args)).child;
  };
  const [dying, living] = await Promise.all([
    holders(of.older.address, dyingOf(world)),
    holders(of.newer.address, world.leases - dyingOf(world)),
  ]);
  return { dying, living };
}

/** Once all leases of the agents that died were found: when a supervisor acted on each. */
async function deadFound(
  world: World,
  { held, dying }: { held: string; dying: ChildProcess },
): Promise<readonly number[]> {
  for (;;) {
    const found = await leasesLost(world, { held, by: dying });
    if (found.length >= dyingOf(world)) return found;
    await wait(500);
  }
}

/** When it was committed, by the database's clock, that this process has lost a lease; of each. */
async function leasesLost(
  { database }: World,
  { held, by }: { held: string; by: ChildProcess },
): Promise<readonly number[]> {
  const { rows } = await database.query<{ at: number }>(
    `select (extract(epoch from pg_xact_commit_timestamp(i.xmin)) * 1000)::float8 as at
     from drover.run as r
     join drover.intervention as i on i.run_id = r.id
     join drover.intervention_view as v using (run_id, fence, n, acted_at)
     join drover.attempt_view as a on a.run_id = i.run_id and a.no = i.step_no and a.fence = i.fence
     where v.rule = 'lease' and r.workflow = $1 and a.agent_id like $2`,
    [held, `holder-${by.pid}-%`],
  );
  return rows.map(({ at }) => at);
}

/** The next round begins without leases, and without runs. */
async function endAll(
  { database }: World,
  { client, held, living }: { client: Drover; held: string; living: ChildProcess },
): Promise<void> {
  const gone = once(living, "exit");
  living.kill("SIGKILL");
  await gone;
  await isEmpty(database, "from drover.lease");
  for await (const { error } of client.bulk("cancel", { filter: { workflow: held } }))
    if (error) throw error;
  await isEmpty(database, "from drover.run_page where no = 0 and ended_at is null");
}

async function isEmpty(database: Client, rowsOf: string): Promise<void> {
  for (;;) {
    const { rows } = await database.query(`select ${rowsOf} limit 1`);
    if (rows.length === 0) return;
    await wait(200);
  }
}

async function startServer(connectionString: string): Promise<Server> {
  const proxy = await startBlackholeProxy(connectionString);
  const { child, firstLine } = await startProgram(SERVER_PROGRAM, [proxy.connectionString]);
  return { address: firstLine, proxy, signal: (signal) => void child.kill(signal) };
}

/**
 * Waits until one node owns all, not `former`, or two share, or a second one has joined; the node
 * that owns most.
 */
async function owns(
  { database }: World,
  who: "one" | "two" | "joined",
  former = "",
): Promise<string> {
  for (;;) {
    const { rows } = await database.query<{ node: string; count: number }>(
      `select node, count(*)::integer as count from drover.partition_lease where node is not null
       group by node order by count desc`,
    );
    const [most, other, ...more] = rows;
    const is =
      who === "one"
        ? most?.count === 256 && most.node !== former
        : other !== undefined && more.length === 0 && (who === "joined" || other.count >= SHARE);
    if (most && is) return most.node;
    await wait(100);
  }
}

/** When the take-over of each was committed, by the database's clock. */
async function ownedAt(database: Client, partitions: ReadonlySet<number>) {
  const { rows } = await database.query<{ partition: number; at: number }>(
    `select partition, (extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000)::float8 as at
     from drover.partition_lease`,
  );
  return rows.flatMap(({ partition, at }) => (partitions.has(partition) ? at : []));
}

async function timersFired(database: Client, runs: readonly string[]) {
  const { rows } = await database.query<{ due: number; done: number }>(
    `select (extract(epoch from v.due_at) * 1000)::float8 as due,
       (extract(epoch from pg_xact_commit_timestamp(i.xmin)) * 1000)::float8 as done
     from drover.intervention as i join drover.intervention_view as v using (run_id, fence, n, acted_at)
     where v.rule = 'timer' and i.run_id = any ($1::uuid[])`,
    [runs],
  );
  return rows;
}

async function attempts(database: Client, runs: readonly string[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "select count(*)::integer as count from drover.attempt_view where run_id = any ($1::uuid[])",
    [runs],
  );
  return rows[0]?.count ?? 0;
}
