/**
 * What finding silent sessions reads: leases of those that may be silent, and no others. A session
 * that holds nothing is read no more, and is watched again with its next lease.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { WHOLE_RANGE } from "../../../server/store/due.ts";
import { partitionsOf } from "../../../server/store/partition.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { bind, type Values } from "../../../server/store/postgres/sql.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog } from "../../support/control-plane.ts";
import { PLANS, skipOnCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const SESSIONS = 2_000;
const LEASES_EACH = 10;
const SILENT = 3;
const PARTITIONS = partitionsOf(0);
/** Two of the index and a row on a page of its own; and the owner of its partition, by an index. */
const PAGES_A_LEASE = 5;

let database: TestDatabase;
let db: pg.Client;
let pool: pg.Pool;
let store: Store;
let lane: number;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(database.connectionString, "hot", 1, quietLog);
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
  db = await connected();
  const { rows } = await db.query<{ id: number }>(
    "insert into drover.lane (namespace_id, queue, task) values (1, 'default', 't') returning id",
  );
  lane = rows[0]?.id ?? 0;
});
afterAll(async () => {
  await store?.close();
  await pool?.end();
  await db?.end();
  await database?.drop();
});
beforeEach(async () => {
  await db.query("truncate drover.agent_session, drover.lease");
});

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  return client;
}

/** Grants leases of these timeouts as claims do; granted a minute ago. */
async function grant(session: string, timeoutsMs: readonly number[], by = db): Promise<void> {
  const each = <Value>(of: (heartbeatMs: number) => Value) => timeoutsMs.map(of);
  await by.query(
    bind("insert_leases", {
      run_id: each(() => randomUUID()),
      step_no: each(() => 0),
      partition: each(() => 7),
      lane: each(() => lane),
      fence: each(() => 1),
      session: each(() => session),
      secret: each(() => "cd".repeat(16)),
      poll_seq: each(() => 1),
      granted_at: each(() => Date.now() - 60_000),
      heartbeat_ms: timeoutsMs,
      agent_id: each(() => "agent"),
      cancel: each(() => "none"),
    }),
  );
}

interface SessionRow {
  readonly heartbeat_ms: number | null;
  readonly idle: boolean;
  /** Of the row version. */
  readonly ctid: string;
}

async function rowOf(session: string): Promise<SessionRow | undefined> {
  const { rows } = await db.query<SessionRow>(
    `select heartbeat_ms, idle_at is not null as idle, ctid::text from drover.agent_session
     where session = decode($1, 'hex')`,
    [session],
  );
  return rows[0];
}

async function forget(except = {}): Promise<void> {
  while (await store.forgetOld(1_000, except));
}

/** Housekeeping, twice: a minute after the last heartbeat, and when no earlier grant is open. */
async function release(between: () => Promise<unknown> = async () => undefined): Promise<void> {
  await db.query("update drover.agent_session set started_at = now() - interval '2 minutes'");
  await forget();
  await between();
  await db.query(
    "update drover.agent_session set idle_at = now() - interval '11 seconds' where idle_at is not null",
  );
  await forget();
}

async function silentLeases(): Promise<number> {
  const silenceCountsSince = new Map([[7, 0]]);
  const { due } = await store.dueRows([7], 10, {
    ...WHOLE_RANGE,
    aheadMs: 1_000,
    silenceCountsSince,
  });
  return due.length;
}

interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
}

const withAll = (node: PlanNode): readonly PlanNode[] => [
  node,
  ...(node.Plans ?? []).flatMap(withAll),
];

/** Rows that a statement reads of a table, and the pages that it touches of all. */
async function readBy(name: string, given: Values, table: string) {
  const { text, values } = bind(name, given);
  const { rows } = await pool.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
    `explain (analyze, buffers, timing off, format json) ${text}`,
    values,
  );
  const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
  if (!plan) throw new Error("explain gave no plan");
  const each = withAll(plan)
    .filter((node) => node["Relation Name"] === table)
    .map((node) => {
      const perLoop = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0);
      return perLoop * node["Actual Loops"];
    });
  return {
    rows: Math.round(each.reduce((sum, one) => sum + one, 0)),
    pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
  };
}

const SCANS = [
  {
    name: "silent_leases",
    values: { partition: PARTITIONS, since: PARTITIONS.map(() => 0), limit: 500, ahead: 1_000 },
  },
  {
    name: "late_leases",
    values: { partitions: PARTITIONS, by: 1_000, rows_max: 10, since: null },
  },
] as const;

/** Sessions with their leases; those that are silent sent a heartbeat a minute ago, others now. */
async function fillSessions(): Promise<void> {
  await db.query(
    `insert into drover.agent_session (session, namespace_id, agent_id, agent_version, last_heartbeat_at,
       heartbeat_ms)
     select sha256(n::text::bytea), 1, 'agent', '1',
       now() - case when n < $2 then interval '1 minute' else interval '0' end, 30000
     from generate_series(0, $1::integer - 1) as n`,
    [SESSIONS, SILENT],
  );
  await db.query(
    `insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
       heartbeat_ms, cancel)
     select gen_random_uuid(), 0, n % 256, 1, 1, sha256((n % $1::integer)::text::bytea), sha256('x'), 1,
       now() - interval '1 hour', 30000, 'none'
     from generate_series(0, $1::integer * $2::integer - 1) as n`,
    [SESSIONS, LEASES_EACH],
  );
  await db.query("vacuum analyze drover.agent_session, drover.lease");
}

it("a scan reads the leases of silent sessions alone, and each session once", async (context) => {
  skipOnCitus(context, PLANS);
  await fillSessions();
  const { rows } = await db.query<{ pages: number }>(
    `select (pg_relation_size('drover.agent_session') + pg_relation_size('drover.agent_session_watched'))
       / 8192 as pages`,
  );
  for (const { name, values } of SCANS) {
    expect(await readBy(name, values, "lease"), name).toMatchObject({ rows: SILENT * LEASES_EACH });
    const { rows: sessions, pages } = await readBy(name, values, "agent_session");
    expect(sessions, name).toBe(SESSIONS);
    const ofSilent = SILENT * LEASES_EACH * PAGES_A_LEASE;
    expect(pages, name).toBeLessThanOrEqual(Number(rows[0]?.pages) + ofSilent);
  }
});

it("a scan reads no session that holds nothing, once it has been found idle", async (context) => {
  skipOnCitus(context, PLANS);
  await fillSessions();
  await db.query("delete from drover.lease");
  await db.query(
    "update drover.agent_session set last_heartbeat_at = now() - interval '2 minutes'",
  );
  await release();
  await db.query("vacuum analyze drover.agent_session, drover.lease");
  for (const { name, values } of SCANS)
    expect((await readBy(name, values, "agent_session")).rows, name).toBe(0);
});

it("a session is watched by the shortest timeout that it was granted, and written only to lower it", async () => {
  const session = "aa".repeat(16);
  await grant(session, [30_000, 20_000]);
  const first = await rowOf(session);
  expect(first).toMatchObject({ heartbeat_ms: 20_000 });
  await grant(session, [20_000, 60_000]);
  expect(await rowOf(session)).toEqual(first);
  await grant(session, [5_000]);
  expect(await rowOf(session)).toMatchObject({ heartbeat_ms: 5_000 });
});

it("heartbeats change no index", async (context) => {
  skipOnCitus(context, "updates are counted at the shards of a table");
  const session = "ab".repeat(16);
  await grant(session, [30_000]);
  // A session of its own: it counts what it has changed itself.
  const writer = await connected();
  onTestFinished(() => writer.end());
  await writer.query("begin");
  for (let count = 0; count < 10; count++)
    await writer.query(
      bind("store_heartbeats", {
        session: [session],
        namespace_id: [1],
        agent_id: ["agent"],
        agent_version: ["1"],
      }),
    );
  const { rows } = await writer.query(
    `select pg_stat_get_xact_tuples_updated(c.oid)::integer as all,
       pg_stat_get_xact_tuples_hot_updated(c.oid)::integer as hot
     from pg_class as c where c.oid = 'drover.agent_session'::regclass`,
  );
  expect(rows).toEqual([{ all: 10, hot: 10 }]);
});

it("a session that was found idle is watched again with its next lease", async () => {
  const session = "ac".repeat(16);
  await grant(session, [2_000]);
  await db.query("delete from drover.lease");
  await release();
  expect(await rowOf(session)).toMatchObject({ heartbeat_ms: null, idle: true });
  await grant(session, [30_000]);
  expect(await rowOf(session)).toMatchObject({ heartbeat_ms: 30_000, idle: false });
  expect(await silentLeases()).toBe(1);
});

it("a lease that is granted while its session is found idle is found", async () => {
  const session = "ad".repeat(16);
  await grant(session, [2_000]);
  await db.query("delete from drover.lease");
  const granting = await connected();
  onTestFinished(() => granting.end());
  await granting.query("begin");
  await grant(session, [2_000], granting);
  await release(() => granting.query("commit"));
  expect(await rowOf(session)).toMatchObject({ heartbeat_ms: 2_000 });
  expect(await silentLeases()).toBe(1);
});

it("a lease that is granted while its session is forgotten is found", async () => {
  const session = "ae".repeat(16);
  await grant(session, [2_000]);
  await db.query("delete from drover.lease");
  await release();
  const granting = await connected();
  onTestFinished(() => granting.end());
  await granting.query("begin");
  await grant(session, [2_000], granting);
  await forget({ sessionMs: 0 });
  await granting.query("commit");
  expect(await silentLeases()).toBe(1);
});

it("a session that holds nothing is forgotten, whether it has ever sent a heartbeat or not", async () => {
  const mute = "af".repeat(16);
  const active = "ba".repeat(16);
  const heartbeat = {
    namespaceId: 1,
    session: active,
    agentId: "agent",
    agentVersion: "1",
    reports: [],
  };
  for (const session of [mute, active]) await grant(session, [2_000]);
  await store.heartbeat([heartbeat]);
  const backdate = "update drover.agent_session set last_heartbeat_at = now() - interval '1 hour'";
  await db.query(`${backdate} where last_heartbeat_at is not null`);
  await release();
  await forget({ sessionMs: 60_000 });
  expect([await rowOf(mute), await rowOf(active)]).toMatchObject([
    { idle: false },
    { idle: false },
  ]);
  await db.query("delete from drover.lease");
  await release();
  await forget({ sessionMs: 60_000 });
  expect([await rowOf(mute), await rowOf(active)]).toEqual([undefined, undefined]);
});
