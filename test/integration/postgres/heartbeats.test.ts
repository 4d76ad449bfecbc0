/**
 * The heartbeats of many agents in one statement, which may take 2 s: what is known of a report is
 * put together without comparing each with each.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { encodePage } from "../../../server/core/page/codec.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog } from "../../support/control-plane.ts";
import { headWith, leaseWith, stepWith, TERMS } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const SESSIONS = 500;
const TASKS = 10;

/** The page of a run whose step an agent has; its session and its secret are to be put into it. */
const LEASE = leaseWith({ agentId: "agent", wakeAt: Date.now() + 3_600_000 });
const STEP = stepWith(0, { forward: LEASE }, { terms: TERMS });
const PAGE = encodePage({ no: 0, head: headWith(), steps: new Map([[0, STEP]]) }).text;

const LEASES = `
with held as materialized (
  select gen_random_uuid() as run_id, lpad(to_hex(n % $1::integer), 32, '0') as session,
    md5(n::text) as secret, n
  from generate_series(0, $1::integer * $2::integer - 1) as n
),
pages as (
  insert into drover.run_page (run_id, no, partition, version, wake_at, namespace_id, definition_id, run_state,
    settled, state)
  select run_id, 0, 0, 1, now() + interval '1 h', 1, 1, 0, false,
    replace(replace($3, '${LEASE.secret}', secret), '${LEASE.session}', session)
  from held
)
insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
  heartbeat_ms, cancel)
select run_id, 0, 0, 1, 1, decode(session, 'hex'), decode(secret, 'hex'), n / $1::integer + 1, now(), 30000,
  'none'
from held
returning run_id, encode(session, 'hex') as session, encode(secret, 'hex') as secret`;

let database: TestDatabase;
let store: Store;
let rows: readonly { readonly run_id: string; readonly session: string; readonly secret: string }[];

beforeAll(async () => {
  database = await createTestDatabase();
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
  const hand = new pg.Client({ connectionString: database.connectionString });
  await hand.connect();
  ({ rows } = await hand.query(LEASES, [SESSIONS, TASKS, PAGE]));
  await hand.end();
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

test("5,000 tasks of 500 agents that list all they hold are carried on at once, but the one left out", async () => {
  const [dropped] = rows;
  const sessions = [...Map.groupBy(rows, ({ session }) => session)];
  const { answers, forgotten } = await store.heartbeat(
    sessions.map(([session, of]) => ({
      namespaceId: 1,
      session,
      agentId: "agent",
      agentVersion: "1",
      listsAllTo: TASKS,
      reports: of
        .filter((row) => row !== dropped)
        .map(({ run_id: runId, secret }) => {
          return { runId, step: 0, fence: 1, secret, progress: null, details: null };
        }),
    })),
  );
  const all = answers.flat();
  expect(all).toHaveLength(SESSIONS * TASKS - 1);
  expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(["carry-on"]));
  expect(forgotten).toMatchObject([{ runId: dropped?.run_id, secret: dropped?.secret }]);
});

test("a heartbeat that waited does not set back the last one that another server has stored meanwhile", async () => {
  const held = "aa".repeat(16);
  const session = "bb".repeat(16);
  const heartbeatOf = (...sessions: string[]) =>
    store.heartbeat(
      sessions.map((one) => ({
        namespaceId: 1,
        session: one,
        agentId: "agent",
        agentVersion: "1",
        reports: [],
      })),
    );
  const hand = new pg.Client({ connectionString: database.connectionString });
  await hand.connect();
  onTestFinished(() => hand.end());
  const lastHeartbeat = async (): Promise<number> => {
    const text = `select extract(epoch from last_heartbeat_at) as at from drover.agent_session
      where session = decode($1, 'hex')`;
    return Number((await hand.query<{ at: string }>(text, [session])).rows[0]?.at);
  };
  await heartbeatOf(held, session);
  await hand.query("begin");
  await hand.query(
    "select from drover.agent_session where session = decode($1, 'hex') for update",
    [held],
  );
  const late = heartbeatOf(held, session);
  await expect
    .poll(async () => {
      const waiting = "select from pg_stat_activity where wait_event_type = 'Lock'";
      return (await hand.query(waiting)).rowCount;
    })
    .toBe(1);
  await heartbeatOf(session);
  const before = await lastHeartbeat();
  await hand.query("commit");
  await late;
  expect(await lastHeartbeat()).toBeGreaterThanOrEqual(before);
});

test("a last heartbeat that lies ahead of the clock, which was set back, does not stay there", async () => {
  const session = "cc".repeat(16);
  const heartbeat = { namespaceId: 1, session, agentId: "agent", agentVersion: "1", reports: [] };
  const hand = new pg.Client({ connectionString: database.connectionString });
  await hand.connect();
  onTestFinished(() => hand.end());
  await store.heartbeat([heartbeat]);
  await hand.query("update drover.agent_session set last_heartbeat_at = now() + interval '1 hour'");
  await store.heartbeat([heartbeat]);
  const ahead =
    "select from drover.agent_session where session = $1 and last_heartbeat_at > clock_timestamp()";
  expect((await hand.query(ahead, [Buffer.from(session, "hex")])).rowCount).toBe(0);
});
