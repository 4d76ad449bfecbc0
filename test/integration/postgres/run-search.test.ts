// The number of rows that lists of runs read: few, whatever the filter finds, among runs of which
// nearly all have succeeded.
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ANY_RUN, type RunFilter } from "../../../server/store/lists.ts";
import { runIds, searchedToId } from "../../../server/store/postgres/run-search.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const RUNS = 20_000;
const LIMIT = 20;
/**
 * Rows of tables and indexes: some for each run that is listed, or open, one a partition, and 2,000
 * to see whether anything that is asked for is rare.
 */
const READ_MAX = 5_000;
/** Of runs that are tested one by one; each is looked up in two tables at most. */
const PAGE_READ_MAX = 800;
const NEWEST_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const FAILED_EACH = 1_000;
const OPEN_EACH = 50;
const RARE_EACH = 4_000;
/** Of all runs; only open ones of them wait. */
const APPROVAL_EACH = 1_000;

/** One a minute; by its number it failed, is open, is of a rare workflow and label, or a child. */
const FILL = [
  `create temp table made as
   select n, to_timestamp(ms / 1000.0) as at,
     (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(n::text), 1, 3)
       || '8' || substr(md5(n::text), 4, 15))::uuid as id,
     n % ${FAILED_EACH} = 1 as failed, n % ${OPEN_EACH} = 2 as open, n % ${RARE_EACH} = 3 as rare
   from (
     select n, ${NEWEST_MS} - n::bigint * ${MINUTE_MS} as ms
     from generate_series(0, ${RUNS - 1}) as n
   ) as o`,
  `insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
     created_at, parent_id, key)
   select id, 1, ('x' || right(id::text, 2))::bit(8)::integer, 1,
     case when rare then 'rare' else 'usual' end, 1, 5,
     case when rare then '{"region":"eu","customer":"c"}' else '{"region":"eu"}' end::jsonb, at,
     case when n % 100 = 4 then '${"0".repeat(8)}-0000-7000-8000-${"0".repeat(12)}'::uuid end,
     case when rare then 'rare-' else 'key-' end || n
   from made`,
  `insert into drover.run_mark (namespace_id, mark, run_id)
   select 1, mark, id from made
   cross join lateral (
     values ('region=eu', true), ('customer=c', rare), ('5', failed), ('5 usual', failed),
       ('step hotel', failed or rare), ('error sold-out', failed)
   ) as m (mark, is_there)
   where is_there`,
  `insert into drover.run_page (run_id, no, partition, version, namespace_id, definition_id, run_state, waits,
     ended_at, settled, state)
   select id, 0, ('x' || right(id::text, 2))::bit(8)::integer, 1, 1, 1,
     case when open then 0 when failed then 5 else 4 end,
     case when open and n % ${APPROVAL_EACH} = 2 then 4 when open and n % 3 = 0 then 16 else 0 end,
     case when not open then at end, false, '{}'
   from made`,
  "insert into drover.lane (id, namespace_id, queue, task) values (1, 1, 'q', 't'), (2, 2, 'q', 't')",
  // Tasks of this namespace, and many more of another one.
  `insert into drover.ready (run_id, ready_at, step_no, lane, ordinal, partition, priority)
   select id, at, 0, 1, 0, 0, 5 from made where open and n % 3 = 1`,
  `insert into drover.ready (run_id, ready_at, step_no, lane, ordinal, partition, priority)
   select id, at, 1, 2, 0, 0, 5 from made where not open`,
  `insert into drover.lease (run_id, poll_seq, granted_at, step_no, lane, fence, heartbeat_ms, partition, session,
     secret, cancel)
   select id, 1, at, 2, 1, 1, 1000, 0, '', '', 'none' from made where open and n % 30 = 2`,
  // Steps of long runs.
  `insert into drover.run_page (run_id, no, partition, version, settled, state)
   select id, no, ('x' || right(id::text, 2))::bit(8)::integer, 1, false, '{}'
   from made cross join generate_series(1, 3) as no where n % 10 = 5`,
  "vacuum analyze",
];

let database: TestDatabase;
let db: Kysely<unknown>;
beforeAll(async () => {
  database = await createTestDatabase();
  // One connection, which keeps its temporary table.
  const pool = new pg.Pool({ connectionString: database.connectionString, max: 1 });
  // Its end does not wait for the connection's, which the database's may come before.
  pool.on("error", () => undefined);
  db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  for (const statement of FILL) await sql.raw(statement).execute(db);
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

function rowsRead(node: PlanNode): number {
  const isRead = node["Relation Name"] !== undefined || node["Index Name"] !== undefined;
  const rows = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), 0);
  return (isRead ? rows * node["Actual Loops"] : 0) + below;
}

interface Explained {
  readonly "QUERY PLAN": readonly { readonly Plan: PlanNode }[];
}

const OF = { schema: "drover", namespaceId: 1, lanes: [1] };
const middle = NEWEST_MS - (RUNS / 2) * MINUTE_MS;
const anHour = { createdAfter: middle, createdBefore: middle + 60 * MINUTE_MS };

const FILTERS: readonly Partial<RunFilter>[] = [
  {},
  { states: ["COMPLETED"] },
  { states: ["RUNNING"] },
  { states: ["PAUSED"] },
  { states: ["FAILED"] },
  { states: ["CANCELLED"] },
  { states: ["FAILED", "RUNNING"] },
  { substates: ["approval"] },
  { substates: ["timer"] },
  { substates: ["callback"] },
  { substates: ["approval", "timer"] },
  { substates: ["agent"] },
  { substates: ["working"] },
  { substates: ["working", "approval"] },
  { substates: ["timer"], workflow: "usual" },
  { substates: ["agent"], labels: { region: "eu" } },
  { substates: ["approval"], ...anHour },
  { workflow: "usual" },
  { workflow: "rare" },
  { workflow: "unheard-of" },
  { labels: { region: "eu" } },
  { labels: { customer: "c" } },
  { labels: { region: "eu", customer: "c" } },
  { labels: { customer: "d" } },
  { createdAfter: NEWEST_MS - 10 * MINUTE_MS },
  { createdAfter: middle },
  { createdBefore: middle },
  anHour,
  { parent: `${"0".repeat(8)}-0000-7000-8000-${"0".repeat(12)}` },
  { workflow: "usual", states: ["FAILED"] },
  { workflow: "rare", states: ["FAILED"] },
  { workflow: "usual", states: ["RUNNING"] },
  { workflow: "usual", ...anHour },
  { labels: { region: "eu" }, states: ["RUNNING"] },
  { labels: { customer: "c" }, states: ["COMPLETED"] },
  { labels: { region: "eu" }, ...anHour },
  { labels: { customer: "c" }, ...anHour },
  { states: ["FAILED"], ...anHour },
  { failure: { step: "hotel", code: null } },
  { failure: { step: null, code: "sold-out" } },
  { failure: { step: "car", code: null } },
  { failure: { step: "hotel", code: null }, states: ["FAILED"] },
  { failure: { step: "hotel", code: null }, states: ["RUNNING"] },
  { failure: { step: null, code: "sold-out" }, states: ["FAILED"], workflow: "usual" },
  { key: { kind: "is", key: "key-7" } },
  { key: { kind: "prefix", prefix: "rare-" } },
  { key: { kind: "prefix", prefix: "key-1" } },
  { key: { kind: "prefix", prefix: "none-" } },
  { key: { kind: "prefix", prefix: "key-" }, states: ["RUNNING"] },
  { key: { kind: "prefix", prefix: "key-" }, states: ["FAILED"] },
  { key: { kind: "prefix", prefix: "rare-" }, labels: { customer: "c" }, states: ["COMPLETED"] },
  { endedAfter: middle },
  { endedBefore: middle },
  { endedBefore: 0 },
  { endedAfter: middle, endedBefore: middle + 60 * MINUTE_MS, states: ["FAILED"] },
  { endedAfter: NEWEST_MS, labels: { region: "eu" } },
];

describe.each(["created-asc", "created-desc"] as const)("%s", (order) => {
  test.each(FILTERS.map((filter) => ({ filter, name: JSON.stringify(filter) })))(
    "$name is found by an index, on the first page and deep in the list",
    async ({ filter }) => {
      for (const after of [null, idAt(middle)]) {
        const search = {
          ...OF,
          filter: { ...ANY_RUN, ...filter },
          order,
          after,
        };
        const asked = { ...search, limit: LIMIT, readMax: PAGE_READ_MAX };
        for (const ids of [runIds(asked), searchedToId(asked)]) {
          if (!ids) continue;
          const plan = await planOf(ids);
          expect(rowsRead(plan), JSON.stringify(plan, null, 1)).toBeLessThan(READ_MAX);
        }
      }
    },
  );
});

// The planner knows nothing of what came since its last statistics: of a workflow and a label that
// are new it expects one run.
describe.each([
  { runs: 1_500, name: "few" },
  { runs: 5_000, name: "many" },
])("$runs open runs of what is new today", ({ runs, name }) => {
  beforeAll(async () => {
    const ids = `(lpad(to_hex(${NEWEST_MS + runs} + n), 12, '0') || '7abc8' || substr(md5(n::text), 4, 15))::uuid`;
    const partition = "('x' || right(id::text, 2))::bit(8)::integer";
    for (const into of [
      `run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
         created_at)
       select id, 1, ${partition}, 1, '${name}', 1, 5, '{"new":"${name}"}', now()`,
      `run_mark (namespace_id, mark, run_id) select 1, 'new=${name}', id`,
      `run_page (run_id, no, partition, version, namespace_id, definition_id, run_state, settled, state)
       select id, 0, ${partition}, 1, 1, 1, 0, false, '{}'`,
    ]) {
      const made = `select ${ids} as id from generate_series(1, ${runs}) as n`;
      await sql.raw(`insert into drover.${into} from (${made}) as made`).execute(db);
    }
  });

  test.each<Partial<RunFilter>>([{ workflow: name }, { labels: { new: name } }])(
    "are found, and read a few times each (%j)",
    async (asked) => {
      const filter: RunFilter = { ...ANY_RUN, ...asked, states: ["RUNNING", "PAUSED"] };
      const all = {
        ...OF,
        filter,
        order: "created-asc",
        after: null,
      } as const;
      const plan = await planOf(runIds({ ...all, limit: 2 * runs }));
      expect(plan["Actual Rows"]).toBe(runs);
      const openRuns = runs + RUNS / OPEN_EACH + 1_500;
      expect(rowsRead(plan), JSON.stringify(plan, null, 1)).toBeLessThan(4 * openRuns);
    },
  );

  // They come after the open runs that were there before: the first that are open are others.
  test.each(["created-asc", "created-desc"] as const)(
    "are found wherever they are among the open runs (%s)",
    async (order) => {
      const filter: RunFilter = { ...ANY_RUN, labels: { new: name }, states: ["RUNNING"] };
      const search = { ...OF, filter, order, after: null, limit: LIMIT };
      const { rows } = await runIds(search).execute(db);
      const ids = rows.map(({ id }) => id);
      const wanted = await sql<{ id: string }>`
        select run_id as id from drover.run_mark where mark = ${`new=${name}`}
        order by run_id ${sql.raw(order === "created-asc" ? "asc" : "desc")} limit ${LIMIT}`;
      expect(ids).toEqual((await wanted.execute(db)).rows.map(({ id }) => id));
    },
  );
});

async function planOf(ids: ReturnType<typeof runIds>): Promise<PlanNode> {
  const explain = sql<Explained>`explain (analyze, timing off, format json) ${ids}`;
  const plan = (await explain.execute(db)).rows[0]?.["QUERY PLAN"][0]?.Plan;
  if (!plan) throw new Error("explain gave no plan");
  return plan;
}

function idAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
