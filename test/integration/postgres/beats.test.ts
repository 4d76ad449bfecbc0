/**
 * The beats of many agents in one statement, which may take 2 s: what is known of a report is put
 * together without comparing each with each.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const SESSIONS = 500;
const TASKS = 10;

const LEASES = `
insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session, agent_id,
  poll_seq, granted_at, attempt_by, heartbeat_ms, cancel_ms, progress_at, wake_at)
select gen_random_uuid(), 0, 0, 1, 0, 1, 1, sha256(n::text::bytea),
  decode(lpad(to_hex(n % $1::integer), 32, '0'), 'hex'), 'agent', n / $1::integer + 1, now(),
  now() + interval '1 h', 30000, 10000, now(), now() + interval '1 h'
from generate_series(0, $1::integer * $2::integer - 1) as n
returning run_id, encode(session, 'hex') as session, encode(secret, 'hex') as secret`;

let database: TestDatabase;
let store: Store;
let rows: readonly { readonly run_id: string; readonly session: string; readonly secret: string }[];

beforeAll(async () => {
  database = await createTestDatabase();
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
  const hand = new pg.Client({ connectionString: database.connectionString });
  await hand.connect();
  ({ rows } = await hand.query(LEASES, [SESSIONS, TASKS]));
  await hand.end();
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

test("5,000 tasks of 500 agents that list all they hold are carried on at once, but the one left out", async () => {
  const [dropped] = rows;
  const sessions = [...Map.groupBy(rows, ({ session }) => session)];
  const { answers, forgotten } = await store.beat(
    sessions.map(([session, of]) => ({
      ...{ namespaceId: 1, session, agentId: "agent", agentVersion: "1", listsAllTo: TASKS },
      reports: of
        .filter((row) => row !== dropped)
        .map(({ run_id: runId, secret }) => {
          return { runId, step: 0, fence: 1, secret, progress: null, details: null };
        }),
    })),
  );
  const said = answers.flat();
  expect(said).toHaveLength(SESSIONS * TASKS - 1);
  expect(new Set(said.map(({ kind }) => kind))).toEqual(new Set(["carry-on"]));
  expect(forgotten).toMatchObject([{ runId: dropped?.run_id, secret: dropped?.secret }]);
});
