// How long nobody watches: a server that owns nearly all partitions is stopped, killed, frozen, or
// cut off from PostgreSQL, while timers come due all the time and tasks follow from them.
//
//   each round: the survivor of the last one, alone ─→ a new server joins ─→ the older one goes
import { loadavg } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";
import { createAgent, createClient } from "../../sdk/typescript/index.ts";
import { type BlackholeProxy, startBlackholeProxy } from "../../test/support/blackhole-proxy.ts";
import { type Measured, spreadOf, type Wish } from "../profile.ts";
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
}

const FAULTS: readonly Fault[] = [
  { name: "SIGTERM", goalS: 1, happens: ({ signal }) => signal("SIGTERM") },
  { name: "SIGKILL", goalS: 3, happens: ({ signal }) => signal("SIGKILL") },
  { name: "SIGSTOP", goalS: 5, happens: ({ signal }) => signal("SIGSTOP") },
  { name: "blackhole", goalS: 5, happens: ({ proxy }) => proxy.swallow() },
];
const LONG = { rounds: 20 };
const SHORT = { rounds: 3 };
/** Of a round: a run each, due one after the other from before the fault until after it. */
const RUNS = 200;
const DUE_WITHIN_MS = 8_000;
const SHARE = 8;
/** Of the owners, as the servers have it by default. */
const LOOK_EVERY_MS = 500;

interface World {
  readonly database: Client;
  start(): Promise<Server>;
}

interface Round {
  /** Until each of the partitions had a new owner, in seconds. */
  readonly ownedS: readonly number[];
  /** Until all that came due meanwhile had been done. */
  readonly movingS: number;
  /** Runs that did not end well, and tasks that ended more than once. */
  readonly lost: number;
  readonly doubled: number;
}

export async function takeover({ short, say }: Wish): Promise<Measured> {
  const { rounds } = short ? SHORT : LONG;
  const rows = [];
  for (const fault of FAULTS) rows.push(await measure(fault, rounds, say));
  return {
    settings: { rounds, runs_each: RUNS, due_within_ms: DUE_WITHIN_MS },
    columns: Object.keys(rows[0] ?? {}),
    rows,
  };
}

async function measure(fault: Fault, count: number, say: Wish["say"]) {
  const postgres = await openDatabase({ track_commit_timestamp: "on" });
  const database = new Client({ connectionString: postgres.connectionString });
  await database.connect();
  const servers: Server[] = [];
  const world: World = {
    database,
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
      const last = rounds.at(-1)?.ownedS ?? [];
      say(
        `${fault.name} ${rounds.length}: ${Math.max(...last).toFixed(2)} s, load ${loads.at(-1)}`,
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
  const [each, all, moving] = [
    spreadOf(partitions),
    spreadOf(rounds.map(({ ownedS }) => Math.max(...ownedS))),
    spreadOf(rounds.map(({ movingS }) => movingS)),
  ];
  const sum = (of: "lost" | "doubled") => rounds.reduce((total, round) => total + round[of], 0);
  return {
    rounds: rounds.length,
    partitions: partitions.length,
    ...{ partition_p50_s: each.p50, partition_p99_s: each.p99, partition_max_s: each.max },
    ...{ all_owned_p50_s: all.p50, all_owned_p99_s: all.p99, all_owned_max_s: all.max },
    ...{ all_moving_p50_s: moving.p50, all_moving_p99_s: moving.p99, all_moving_max_s: moving.max },
    ...{ lost: sum("lost"), doubled: sum("doubled") },
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
    ...{ address: newer.address, id: "bench", slots: 50 },
    handlers: { act: async () => null },
  });
  agent.start();
  const client = createClient({ address: newer.address });
  const runs = await Promise.all(
    Array.from({ length: RUNS }, async (_, run) => {
      const due = `${Math.round(((run + 1) / RUNS) * DUE_WITHIN_MS)}ms`;
      const steps = [
        { id: "wait", wait: due },
        { id: "act", needs: ["wait"], task: "act" },
      ];
      return (await client.schedule({ workflow: { workflow: "bench-takeover", steps } })).runId;
    }),
  );
  // A round would else meet the survivor's looks always at the same place between two of them.
  await wait(DUE_WITHIN_MS / 8 + Math.random() * LOOK_EVERY_MS);
  const { rows } = await database.query<{ partition: number; at: number }>(
    `select partition, (extract(epoch from clock_timestamp()) * 1000)::float8 as at
     from partition_lease where node = $1`,
    [former],
  );
  const at = rows[0]?.at ?? Number.NaN;
  fault.happens(older);
  await owns(world, "one", former);
  const owned = await ownedAt(database, new Set(rows.map(({ partition }) => partition)));
  const ended = await Promise.all(runs.map((run) => client.waitRun(run)));
  const fired = await timersFired(database, runs);
  const moving = fired.filter(({ due }) => due <= Math.max(...owned)).map(({ done }) => done);
  await client.close();
  await agent.stop();
  return {
    ownedS: owned.map((ms) => (ms - at) / 1_000),
    movingS: (Math.max(...moving) - at) / 1_000,
    lost: ended.filter(({ state }) => state !== "COMPLETED").length,
    doubled: (await attempts(database, runs)) - runs.length + (fired.length - runs.length),
  };
}

async function startServer(connectionString: string): Promise<Server> {
  const proxy = await startBlackholeProxy(connectionString);
  const { child, said } = await startProgram(SERVER_PROGRAM, [proxy.connectionString]);
  return { address: said, proxy, signal: (signal) => void child.kill(signal) };
}

/** Waits until one node owns all, not `former`, or two share; the node that owns most. */
async function owns({ database }: World, who: "one" | "two", former = ""): Promise<string> {
  for (;;) {
    const { rows } = await database.query<{ node: string; count: number }>(
      `select node, count(*)::integer as count from partition_lease where node is not null
       group by node order by count desc`,
    );
    const [most, other, ...more] = rows;
    const is =
      who === "one"
        ? most?.count === 256 && most.node !== former
        : other !== undefined && more.length === 0 && other.count >= SHARE;
    if (most && is) return most.node;
    await wait(100);
  }
}

/** When the take-over of each was committed, by the database's clock. */
async function ownedAt(database: Client, partitions: ReadonlySet<number>) {
  const { rows } = await database.query<{ partition: number; at: number }>(
    `select partition, (extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000)::float8 as at
     from partition_lease`,
  );
  return rows.flatMap(({ partition, at }) => (partitions.has(partition) ? at : []));
}

async function timersFired(database: Client, runs: readonly string[]) {
  const { rows } = await database.query<{ due: number; done: number }>(
    `select (extract(epoch from v.due_at) * 1000)::float8 as due,
       (extract(epoch from pg_xact_commit_timestamp(i.xmin)) * 1000)::float8 as done
     from intervention as i join intervention_view as v using (run_id, fence, n, acted_at)
     where v.rule = 'timer' and i.run_id = any ($1::uuid[])`,
    [runs],
  );
  return rows;
}

async function attempts(database: Client, runs: readonly string[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "select count(*)::integer as count from attempt where run_id = any ($1::uuid[])",
    [runs],
  );
  return rows[0]?.count ?? 0;
}
