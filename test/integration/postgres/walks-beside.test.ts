/**
 * What housekeeping and webhooks have to leave alone is passed over, page by page: it neither makes
 * a statement longer nor hides what is behind it.
 */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { encodePage } from "../../../server/core/page/codec.ts";
import { emptyPage } from "../../../server/core/page/page.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { bind, type Values } from "../../../server/store/postgres/sql.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog } from "../../support/control-plane.ts";
import { PLANS, skipOnCitus } from "../../support/not-on-citus.ts";
import { headWith } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

const PAGE = 10;
const STAY = 45;

let database: TestDatabase;
let db: pg.Client;
let hand: Hand;
let store: Store;

beforeAll(async () => {
  database = await createTestDatabase();
  db = new pg.Client({ connectionString: database.connectionString });
  await db.connect();
  hand = await openHand(database.connectionString);
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
  await db.query(
    "insert into drover.definition (namespace_id, digest, body) values (1, '\\x01', '{}')",
  );
  // The last one has ended, two days ago.
  await db.query(
    `insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
       created_at)
     select ('01800000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, 0, 1, 'w', 1, 5, '{}', now()
     from generate_series(1, $1::integer + 1) as n`,
    [STAY],
  );
  const endedAt = Date.now() - 2 * 86_400_000;
  const ended = headWith({ endedAt }, { state: { kind: "COMPLETED", reason: "DONE" } });
  const texts = [headWith(), ended].map((head) => encodePage({ ...emptyPage(0), head }).text);
  await db.query(
    `insert into drover.run_page (run_id, no, partition, version, namespace_id, definition_id, run_state, ended_at,
       settled, state)
     select r.id, 0, 0, 1, 1, 1, case when e.ended then 4 else 0 end,
       case when e.ended then to_timestamp($2::float8 / 1000) end, false, case when e.ended then $4 else $3 end
     from drover.run as r
     cross join lateral (select right(r.id::text, 12)::integer > $1::integer as ended) as e`,
    [STAY, endedAt, ...texts],
  );
});
beforeEach(() =>
  db.query(
    `truncate drover.idempotency, drover.triggered, drover.outbox, drover.delivery, drover.hook,
       drover.circuit_end`,
  ),
);
afterAll(async () => {
  await store?.close();
  await hand?.close();
  await db?.end();
  await database?.drop();
});

const forgetAll = async () => {
  let calls = 1;
  while (await store.forgetOld(PAGE)) calls++;
  return calls;
};
const countOf = async (table: string) =>
  Number(
    (await db.query<{ count: string }>(`select count(*) from drover.${table}`)).rows[0]?.count,
  );
/** The rows of a page that a statement has read: those of a node of its plan. */
async function pageOf(name: string, given: Values, node = "CTE page"): Promise<number> {
  const { text, values } = bind(name, given);
  const plan = await db.query<{ "QUERY PLAN": string }>(
    `explain (analyze, timing off, costs off) ${text}`,
    values,
  );
  const lines = plan.rows.map((row) => row["QUERY PLAN"]);
  const at = lines.findIndex((line) => line.includes(node));
  const [, rows] = /actual rows=([0-9.]+)/.exec(lines.slice(at, at + 2).join()) ?? [];
  return Number(rows);
}

it("an expired key goes behind however many of runs that are open, which stay", async (context) => {
  skipOnCitus(context, PLANS);
  await db.query(
    `insert into drover.idempotency (namespace_id, key, run_id, digest, expires_at)
     select 1, 'k' || r.run_id, r.run_id, '\\x01',
       now() - interval '1 day' + (r.ended_at is not null)::integer * interval '1 hour'
     from drover.run_page as r`,
  );
  expect(
    await pageOf("forget_keys", { limit: PAGE, expires_at: "-infinity", namespace_id: 0, key: "" }),
  ).toBe(PAGE);
  expect(await forgetAll()).toBe(5);
  expect(await countOf("idempotency")).toBe(STAY);
});

it("a key that is reserved anew while its old reservation is forgotten stays", async () => {
  const key = "once a month";
  const of = (digit: number) => `01800000-0000-7000-8000-${String(digit).padStart(12, "0")}`;
  await db.query(
    `insert into drover.idempotency (namespace_id, key, run_id, digest, expires_at)
     values (1, $1, $2, '\\x01', now() - interval '1 day')`,
    [key, of(STAY + 1)],
  );
  await db.query("begin");
  const named = { namespace_id: [1], key: [key] };
  await db.query(bind("free_keys", named));
  await db.query(
    bind("reserve_keys", {
      ...named,
      run_id: [of(1)],
      digest: ["02"],
      keep: [60_000],
    }),
  );
  const forgotten = store.forgetOld(PAGE);
  await hand.untilWaiting("delete from drover.idempotency as i");
  await db.query("commit");
  await forgotten;
  const { rows } = await db.query("select run_id from drover.idempotency where key = $1", [key]);
  expect(rows).toEqual([{ run_id: of(1) }]);
});

it("what is behind a run is forgotten beside runs that have not ended", async () => {
  await db.query(
    "insert into drover.triggered (run_id, trigger, of_run, depth) select id, 't', id, 1 from drover.run",
  );
  const first = "00000000-0000-0000-0000-000000000000";
  expect(await pageOf("forget_triggered", { limit: PAGE, retention: 0, after: first })).toBe(PAGE);
  expect(await forgetAll()).toBe(5);
  expect(await countOf("triggered")).toBe(STAY);
});

it("what circuits were evaluated by goes in batches", async () => {
  await db.query(
    `insert into drover.circuit_end (lane, agent_id, at, good, bad, runs, last_at)
     select 1, 'a' || n, now() - interval '1 hour', 1, 0, '{}', now() from generate_series(1, 35) as n`,
  );
  await store.forgetOld(PAGE);
  expect(await countOf("circuit_end")).toBe(25);
  await forgetAll();
  expect(await countOf("circuit_end")).toBe(0);
});

it("a flood of one cause that has to wait hides no other cause behind it", async (context) => {
  skipOnCitus(context, PLANS);
  await db.query(
    `insert into drover.hook (namespace_id, name, url, events, secret, secret_digest)
     values (1, 'h', 'http://there', '{0,3}', 'x', 'y')`,
  );
  const reports = (cause: string, count: number) =>
    db.query(
      `insert into drover.outbox (partition, namespace_id, kind, run_id, n, hook, cause)
       select 0, 1, 3, (select id from drover.run order by id desc limit 1), 0, 'h', $1
       from generate_series(1, $2::integer)`,
      [cause, count],
    );
  await reports("flood", 1);
  await store.outbox.due([0], 10);
  // More than a scan takes of a partition.
  await reports("flood", 21_000);
  await reports("other", 1);
  expect(
    await pageOf("fold_outbox", {
      partitions: [0],
      limit: 100,
      apart: 60_000,
      partition: 0,
      id: 0,
    }),
  ).toBe(100);
  const causes = async () => (await store.outbox.due([0], 10)).length;
  await causes();
  expect(await causes()).toBe(2);
  expect(await countOf("outbox")).toBe(21_000);
});

it("due deliveries of a partition are scanned up to a bound", async () => {
  await db.query(
    `insert into drover.delivery (partition, namespace_id, kind, run_id, n, hook, cause, count, state, next_try_at)
     select 0, 1, 3, (select id from drover.run order by id desc limit 1), 0, 'h', 'cause-' || n, 1, 0, now()
     from generate_series(1, 300) as n`,
  );
  await db.query("set enable_seqscan = off; set enable_bitmapscan = off");
  expect(
    await pageOf(
      "due_deliveries",
      { partitions: [0], of_hook_max: 5, of_partition_max: 100 },
      "delivery_due",
    ),
  ).toBe(100);
  expect(await store.outbox.due([0], 5)).toHaveLength(5);
});
