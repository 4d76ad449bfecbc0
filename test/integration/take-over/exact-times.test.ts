/**
 * Timers fire when they are due, not at the next scan: by the owner of the partition, whichever
 * server set them. The scans of these servers are 10 s apart, so a wait for one is seen.
 */
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { callJson, textAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const SCAN_EVERY_MS = 10_000;
const RUNS = 40;

let database: TestDatabase;
let hand: Client;
let servers: readonly TestServer[];

beforeEach(async () => {
  database = await createTestDatabase();
  const scans = { scanEveryMs: SCAN_EVERY_MS, gapMs: 2 * SCAN_EVERY_MS };
  const settings = { ...scans, ownerMoves: 256 };
  const start = () => startDroverServer(database.connectionString, { settings });
  servers = [await start(), await start()];
  hand = new Client({ connectionString: database.connectionString });
  await hand.connect();
});
afterEach(async () => {
  await hand.end();
  for (const server of servers) await server.stop();
  await database.drop();
});

/** How many partitions the node that owns the fewest of them has; null while one owns all. */
async function leastOwned(): Promise<number | null> {
  const { rows } = await hand.query<{ count: number }>(
    `select count(*)::integer as count from drover.partition_lease where node is not null
     group by node order by count`,
  );
  return rows.length === 2 ? (rows[0]?.count ?? null) : null;
}

/** Runs that wait for a second, started at one server: who ended each wait, and how late. */
async function timers(): Promise<readonly { late: number; node: string }[]> {
  const [here] = servers;
  const definition = { workflow: "timed", steps: [{ id: "a", wait: { for: "1s" } }] };
  const runIds = await Promise.all(
    Array.from({ length: RUNS }, async () => {
      const asked = { definition };
      const { body } = await callJson(here?.address ?? "", "SchedulerService/Schedule", asked);
      return textAt(body, "runId");
    }),
  );
  return until(
    "every timer",
    async () => {
      const { rows } = await hand.query<{ late: number; node: string }>(
        `select (extract(epoch from acted_at - due_at) * 1000)::float8 as late, node
         from drover.intervention_view where rule = 'timer' and run_id = any ($1::uuid[])`,
        [runIds],
      );
      return rows.length === RUNS ? rows : null;
    },
    60_000,
  );
}

test("a timer of a second is met by its owner long before the next scan", async () => {
  await until("two owners", async () => ((await leastOwned()) ?? 0) >= 64, 60_000);
  // Should the first ones come just before a scan, the second ones come just after it.
  for (const acted of [await timers(), await timers()]) {
    expect(new Set(acted.map(({ node }) => node)).size).toBe(2);
    expect(acted.filter(({ late }) => late >= SCAN_EVERY_MS / 4)).toEqual([]);
  }
}, 150_000);
