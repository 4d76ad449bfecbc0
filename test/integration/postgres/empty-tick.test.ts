/**
 * A tick of the supervisor that finds nothing due touches as many rows and pages with twenty
 * thousand runs parked as with one thousand: a probe of each index of due times, for each
 * partition. The same holds of the poll tick of a server whose agents wait: two probes for each
 * lane.
 *
 * Counted by the database itself, of the very statements, on a session of the hot pool.
 */
import pg from "pg";
import { expect, test } from "vitest";
import { partitionsOf } from "../../../server/store/partition.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { bind } from "../../../server/store/postgres/sql.ts";
import { quietLog } from "../../support/control-plane.ts";
import { PLANS, skipOnCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase } from "../../support/postgres.ts";
import { fill } from "./fill.ts";

/** What has due times. Of each two probes a partition: what is due, and what comes next. */
const TABLES = ["run_page", "escalation", "message", "schedule"];
const PARTITIONS = partitionsOf(0);
const ALL = `'{${PARTITIONS.join(",")}}'`;
/** Tables of what else waits for the owner of a partition. */
const OUTSIDE = 4;
/** The root of an index, its leaf, and the row; 1.9 of 2,350 parked rows, and 2.0 of 47,000. */
const PAGES_A_PROBE = 3;

/** That an agent polls, and in which nothing is ready. */
const LANES = Array.from({ length: 50 }, (_, index) => 1_000_000 + index);
/** Of each the first row from an index on: whether there is one, and the one of its mark. */
const LANE_PROBES = 2;

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
}

interface Touched {
  readonly rows: number;
  readonly pages: number;
}

interface Ticked {
  readonly parked: number;
  readonly due: Touched;
  readonly pollQuery: Touched;
}

const withAll = (node: PlanNode): readonly PlanNode[] => [
  node,
  ...(node.Plans ?? []).flatMap(withAll),
];

/** Nothing is due before tomorrow; how many rows that are. */
async function park(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  let parked = 0;
  for (const table of TABLES) {
    const { rowCount } = await client.query(
      `update drover.${table} set wake_at = now() + interval '1 day' * (1 + random())
       where wake_at is not null`,
    );
    parked += rowCount ?? 0;
  }
  await client.query("vacuum analyze");
  await client.end();
  return parked;
}

/** `given`: each parameter as SQL. */
async function touchedBy(
  pool: pg.Pool,
  name: string,
  given: Readonly<Record<string, string>>,
): Promise<Touched> {
  const { text, values } = bind(name, given);
  await pool.query(`prepare "tick_${name}" as ${text}`);
  const run = `explain (analyze, buffers, timing off, format json) execute "tick_${name}"(${values.join(", ")})`;
  // The first one plans, and reads what is to be known for that.
  await pool.query(run);
  const { rows } = await pool.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(run);
  await pool.query(`deallocate "tick_${name}"`);
  const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
  if (!plan) throw new Error("explain gave no plan");
  const scans = withAll(plan).filter((node) => node["Relation Name"] !== undefined);
  const each = scans.map(
    (node) =>
      node["Actual Loops"] *
      (node["Actual Rows"] +
        (node["Rows Removed by Filter"] ?? 0) +
        (node["Rows Removed by Index Recheck"] ?? 0)),
  );
  return {
    rows: each.reduce((sum, one) => sum + one, 0),
    pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
  };
}

/** What the statements touch with so many runs parked, none of which is due. */
async function tickOver(runs: number): Promise<Ticked> {
  const database = await createTestDatabase();
  const pool = createPool(database.connectionString, "hot", 1, quietLog);
  try {
    await fill(database.connectionString, runs);
    const parked = await park(database.connectionString);
    const of = (value: number | string) => `'{${LANES.map(() => value).join(",")}}'`;
    const lanes = `'{${LANES.join(",")}}'`;
    return {
      parked,
      pollQuery: await touchedBy(pool, "poll_query", {
        lane: lanes,
        priority: of(0),
        first: of("0"),
        last: of(32_767),
        partition: "'{}'",
        run_id: "'{}'",
        mark_lane: lanes,
        mark_priority: of(1),
        mark: of("0"),
        circuits: "null",
        silent_max: "1000",
        silent_within: "60000",
      }),
      due: await touchedBy(pool, "due_rows", {
        partitions: ALL,
        limit: "500",
        of_partition_max: "64",
        since: "null",
        ahead: "1000",
        kind: "'{}'",
        id: "'{}'",
        place: "'{}'",
      }),
    };
  } finally {
    await pool.end();
    await database.drop();
  }
}

test("a tick with nothing due touches a bounded number of rows and pages, however many are parked", async (context) => {
  skipOnCitus(context, PLANS);
  const probes = PARTITIONS.length * TABLES.length;
  for (const runs of [1_000, 20_000]) {
    const { parked, due, pollQuery } = await tickOver(runs);
    const seen = JSON.stringify({ runs, parked, due, pollQuery });
    expect(parked, seen).toBeGreaterThan(runs);
    // What is not due is not even read; of what waits outside, whether there is any.
    expect(due.rows, seen).toBeLessThanOrEqual(OUTSIDE);
    expect(due.pages, seen).toBeLessThanOrEqual(2 * probes * PAGES_A_PROBE);
    expect(pollQuery.rows, seen).toBe(0);
    expect(pollQuery.pages, seen).toBeLessThanOrEqual(LANES.length * LANE_PROBES * PAGES_A_PROBE);
  }
}, 120_000);

test("a tick does not walk what a held snapshot retains of rows that have gone", async (context) => {
  skipOnCitus(context, PLANS);
  const database = await createTestDatabase();
  const pool = createPool(database.connectionString, "hot", 1, quietLog);
  const [holder, hand] = [0, 1].map(() => new pg.Client(database.connectionString));
  if (!holder || !hand) throw new Error("there are two clients");
  try {
    for (const client of [holder, hand]) await client.connect();
    await fill(database.connectionString, 8_000);
    await hand.query("vacuum analyze");
    await holder.query("begin isolation level repeatable read");
    await holder.query("select from drover.run limit 1");
    // Pages that were due an hour ago: all of them are gone.
    await hand.query(
      "update drover.run_page set wake_at = now() - interval '1 hour' where wake_at is not null",
    );
    for (const table of TABLES) await hand.query(`delete from drover.${table}`);
    const tick = (since: string, aheadMs: string) =>
      touchedBy(pool, "due_rows", {
        partitions: ALL,
        limit: "500",
        of_partition_max: "64",
        since,
        ahead: aheadMs,
        kind: "'{}'",
        id: "'{}'",
        place: "'{}'",
      });
    const whole = await tick("null", "null");
    const ranged = await tick(String(Date.now() - 10_000), "1000");
    const seen = JSON.stringify({ whole, ranged });
    const most = 2 * PARTITIONS.length * TABLES.length * PAGES_A_PROBE;
    expect(ranged.pages, seen).toBeLessThanOrEqual(most);
    expect(whole.pages, seen).toBeGreaterThan(most);
  } finally {
    for (const client of [holder, hand]) await client.end();
    await pool.end();
    await database.drop();
  }
}, 60_000);
