// Servers as real processes fire a schedule while its owner is killed, twice: every occurrence
// begins exactly one run, and none is left out.
import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type ServerProcess, spawnDroverServer } from "../../support/drover-server.ts";
import { callJson } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

/** Oftener than a caller may ask for, so that occurrences come within a take-over. */
const EVERY_MS = 200;

let database: TestDatabase;
let db: pg.Client;
/** By the node that each is. */
let servers: Map<string, ServerProcess>;

beforeEach(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  servers = new Map();
});
afterEach(async () => {
  for (const { child } of servers.values()) child.kill("SIGKILL");
  await db.end();
  await database.drop();
});

async function start(): Promise<ServerProcess> {
  const before = await nodes();
  const server = await spawnDroverServer(database.connectionString);
  const node = await until("a server joins", async () => {
    return (await nodes()).find((one) => !before.includes(one)) ?? null;
  });
  servers.set(node, server);
  return server;
}

async function call(server: ServerProcess, method: string, body: unknown): Promise<void> {
  const { status, body: answer } = await callJson(
    server.address,
    `SchedulerService/${method}`,
    body,
  );
  expect({ status, answer }).toMatchObject({ status: 200 });
}

async function makeSchedule(server: ServerProcess): Promise<void> {
  const definition = { workflow: "tick", steps: [{ id: "a", task: { name: "a" } }] };
  await call(server, "RegisterWorkflow", { definition });
  const spec = {
    workflow: "tick",
    interval: { every: "10s" },
    overlap: "OVERLAP_POLICY_ALLOW_ALL",
  };
  await call(server, "CreateSchedule", { name: "tick", spec, paused: true });
  await db.query("update drover.schedule set spec = replace(spec, '\"everyMs\":10000', $1)", [
    `"everyMs":${EVERY_MS}`,
  ]);
  await call(server, "ResumeSchedule", { name: "tick" });
}

async function occurrences(): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    "select count(*)::integer as count from drover.occurrence",
  );
  return rows[0]?.count ?? 0;
}

async function untilMore(what: string, more: number): Promise<void> {
  const before = await occurrences();
  await until(what, async () => ((await occurrences()) >= before + more ? true : null), 30_000);
}

async function nodes(): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>("select id::text from drover.node");
  return rows.map(({ id }) => id);
}

/** The node that owns the partition of the schedule. */
async function owner(): Promise<string | null> {
  const { rows } = await db.query<{ node: string | null }>(
    `select p.node::text from drover.partition_lease as p join drover.schedule as s on s.partition = p.partition`,
  );
  return rows[0]?.node ?? null;
}

it("every occurrence begins one run through SIGKILL of its owner, and none is left out", async () => {
  const first = await start();
  await makeSchedule(first);
  await untilMore("the first server fires", 5);
  for (let kills = 0; kills < 2; kills++) {
    await start();
    const former = (await owner()) ?? "";
    await servers.get(former)?.signal("SIGKILL");
    await until("another server owns it", async () => {
      const next = await owner();
      return next !== null && next !== former ? true : null;
    });
    await untilMore("the next server fires", 10);
  }
  const { rows } = await db.query<{ nominal_time: number; run_id: string; outcome: number }>(
    "select nominal_time::float8 as nominal_time, run_id, outcome from drover.occurrence order by nominal_time",
  );
  const from = rows[0]?.nominal_time ?? 0;
  expect(rows.map((row) => row.nominal_time)).toEqual(
    rows.map((_, index) => from + index * EVERY_MS),
  );
  expect(rows.every(({ outcome }) => outcome === 0)).toBe(true);
  expect(new Set(rows.map(({ run_id: id }) => id)).size).toBe(rows.length);
  const { rows: orphans } = await db.query(
    "select r.id from drover.run as r where not exists (select from drover.occurrence as f where f.run_id = r.id)",
  );
  expect(orphans).toEqual([]);
}, 60_000);
