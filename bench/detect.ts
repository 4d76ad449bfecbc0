// How late is Drover? The time from when a timer is due to the commit of what follows from it, by
// the database's own clock: of timers, and of agents that fell silent.
//
//   npm run bench:detect                                 idle, and small loads: half a minute
//   npm run bench:detect -- --leases 100000 --runs 1000000 --samples 300     the goal: minutes
//
// Prints a table and, with --json FILE, the figures. The embedded PostgreSQL is durable; the server
// runs in this process, so its share of the cores is in the figures.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { createEmbeddedPostgres } from "../dev-postgres/postgres.ts";
import { createClient } from "../sdk/typescript/client.ts";
import { startServer, startSupervisor } from "../server/main.ts";
import { copyRun, settle } from "./bulk-rows.ts";
import { type Lateness, latenessOf, printLateness } from "./lateness.ts";

const { values } = parseArgs({
  options: {
    samples: { type: "string", default: "100" },
    leases: { type: "string", default: "2000" },
    runs: { type: "string", default: "10000" },
    central: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const samples = Number(values.samples);
const HEARTBEAT_MS = 30_000;
const LEASES_OF_SESSION = 100;
const RUNS_OF_GOAL = 1_000_000;
/** Samples of a second. */
const RATE = 20;

interface World {
  readonly address: string;
  readonly db: pg.Client;
  /** For heartbeats that are sent all the time: `db` is busy for long. */
  readonly heartbeatDb: pg.Client;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "drover-bench-"));
  // PostgreSQL may have to run under another account, which must be able to pass.
  chmodSync(folder, 0o711);
  const postgres = createEmbeddedPostgres({
    dataDir: join(folder, "data"),
    log: () => undefined,
    settings: { track_commit_timestamp: "on", max_wal_size: "4GB", log_checkpoints: "off" },
  });
  const closers: (() => Promise<unknown>)[] = [() => postgres.stop()];
  try {
    const { connectionString, adminConnectionString } = await postgres.start();
    const database = { kind: "url", url: connectionString } as const;
    const supervisor = values.central ? "none" : "embedded";
    // Agents fall silent here one after the other, which would open the circuit of their task.
    const circuits = { minOutcomes: 1_000_000 };
    const server = await startServer({ address: "127.0.0.1:0", database, supervisor, circuits });
    closers.push(() => server.stop());
    if (values.central) {
      const watcher = await startSupervisor({ database, circuits });
      closers.push(() => watcher.stop());
    }
    const [db, heartbeatDb] = await Promise.all([
      connect(connectionString),
      connect(connectionString),
    ]);
    closers.push(() => Promise.all([db.end(), heartbeatDb.end()]));
    const admin = await connect(adminConnectionString);
    await admin.query("grant pg_checkpoint to drover");
    await admin.end();
    const figures = await measureAll({ address: server.address, db, heartbeatDb });
    printLateness(figures);
    if (values.json !== undefined) {
      const short = Number(values.runs) < RUNS_OF_GOAL;
      const facts = { short, cores: cpus().length, supervisor, postgres: await versionOf(db) };
      const what = { ...facts, figures };
      writeFileSync(values.json, `${JSON.stringify(what, null, 2)}\n`);
    }
  } finally {
    for (const close of closers.reverse()) await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

async function measureAll(world: World): Promise<readonly Lateness[]> {
  const { db } = world;
  const idle = [...(await timers(world, "idle")), ...(await silences(world, "idle"))];
  const heartbeats = sendHeartbeats(world.heartbeatDb);
  const leases = Number(values.leases);
  const many = `${leases.toLocaleString("en")} leases`;
  await copyRun(db, {
    of: await leasedRun(world),
    count: leases,
    leaseWithinMs: HEARTBEAT_MS,
    leasesOfSession: LEASES_OF_SESSION,
  });
  await db.query(
    "update drover.agent_session set last_heartbeat_at = now() where agent_id = 'copied'",
  );
  await settle(db);
  const leased = [...(await timers(world, many)), ...(await silences(world, many))];
  const runs = Number(values.runs);
  const more = `${many}, ${runs.toLocaleString("en")} runs`;
  await copyRun(db, {
    of: await waitingRun(world),
    count: runs,
    leaseWithinMs: HEARTBEAT_MS,
    leasesOfSession: LEASES_OF_SESSION,
  });
  await settle(db);
  const full = [...(await timers(world, more)), ...(await silences(world, more))];
  heartbeats.stop();
  return [...idle, ...leased, ...full];
}

/** Runs that wait for a time, the times spread evenly over some seconds. */
async function timers({ address, db }: World, load: string): Promise<readonly Lateness[]> {
  const client = createClient({ address });
  const spreadMs = (samples / RATE) * 1_000;
  const runs = await Promise.all(
    Array.from({ length: samples }, (_, no) => {
      const wait = `${Math.round(500 + (no / samples) * spreadMs)}ms`;
      const workflow = { workflow: "bench-timer", steps: [{ id: "w", wait }] };
      return client.schedule({ workflow, input: {} });
    }),
  );
  for (const { runId } of runs) await client.waitRun(runId);
  await client.close();
  process.stderr.write(`timers, ${load}: done\n`);
  return latenessOf(db, { what: "timer", load, rule: "timer", runs: runs.map((run) => run.runId) });
}

/** Tasks of agents that are silent after they got them; `once`: they are not handed out again. */
async function silences({ address, db }: World, load: string): Promise<readonly Lateness[]> {
  const client = createClient({ address });
  const task = `silent-${load.replaceAll(/[^a-z0-9]/g, "-")}`;
  const timeouts = { heartbeat: "2s" };
  const steps = [{ id: "a", task, timeouts, effects: "once" as const }];
  const runs = await Promise.all(
    Array.from({ length: samples }, () =>
      client.schedule({ workflow: { workflow: "bench-silence", steps }, input: {} }),
    ),
  );
  for (let taken = 0; taken < samples; ) {
    taken += await poll(address, task, Math.min(samples - taken, 2));
    await new Promise((resolve) => setTimeout(resolve, 2_000 / RATE));
  }
  const ids = runs.map((run) => run.runId);
  for (;;) {
    const found = await latenessOf(db, { what: "silence", load, rule: "lease", runs: ids });
    if ((found[0]?.samples ?? 0) >= samples) {
      await client.close();
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function leasedRun({ address }: World): Promise<string> {
  const client = createClient({ address });
  const timeouts = { heartbeat: `${HEARTBEAT_MS}ms`, attempt: "24h" };
  const steps = [{ id: "a", task: "copied", timeouts }];
  const { runId } = await client.schedule({
    workflow: { workflow: "bench-leased", steps },
    input: {},
  });
  await poll(address, "copied", 1);
  await client.close();
  return runId;
}

async function waitingRun({ address }: World): Promise<string> {
  const client = createClient({ address });
  const workflow = { workflow: "bench-waiting", steps: [{ id: "w", wait: "48h" }] };
  const { runId } = await client.schedule({ workflow, input: {} });
  await client.close();
  return runId;
}

let polls = 0;

/** One poll of a session of its own, which sends nothing more. */
async function poll(address: string, task: string, maxTasks: number): Promise<number> {
  const session = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
  const response = await fetch(`http://${address}/drover.v1.AgentService/PollTask`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      agent: { id: `bench-${++polls}`, session },
      pollSeq: 1,
      maxTasks,
      wait: "5s",
      tasks: [task],
    }),
  });
  const answer: unknown = await response.json();
  const tasks: unknown =
    typeof answer === "object" && answer !== null ? Reflect.get(answer, "tasks") : [];
  return Array.isArray(tasks) ? tasks.length : 0;
}

/** Heartbeats of the sessions of copied leases, all at once; their content is not measured here. */
function sendHeartbeats(db: pg.Client): { stop(): void } {
  const timer = setInterval(() => {
    void db.query(
      "update drover.agent_session set last_heartbeat_at = now() where agent_id in ('copied', 'bench-1')",
    );
  }, HEARTBEAT_MS / 3);
  return { stop: () => clearInterval(timer) };
}

async function versionOf(db: pg.Client): Promise<string> {
  const { rows } = await db.query<{ server_version: string }>("show server_version");
  return rows[0]?.server_version ?? "";
}

await main();
