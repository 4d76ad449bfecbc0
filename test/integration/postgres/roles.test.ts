/**
 * The roles of the database: a server that may not change the schema works, a reader sees one
 * namespace alone even if a statement asks for another, and neither may do more.
 */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { pino } from "pino";
import { afterAll, expect, it } from "vitest";
import { ANY_RUN } from "../../../server/store/lists.ts";
import { DATABASE_SCHEMA } from "../../../server/store/postgres/database-schema.ts";
import { createLists } from "../../../server/store/postgres/lists.ts";
import { createNamespaceReads } from "../../../server/store/postgres/namespace-reads.ts";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { createRoles } from "../../../server/store/postgres/roles.ts";
import { queryOn } from "../../../server/store/postgres/transaction.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { callJson, jsonAgent, listAt, textAt } from "../../support/json-call.ts";
import { beforeAllButCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const LOGIN = `drover_test_${randomBytes(4).toString("hex")}`;
const PAGE = { filter: ANY_RUN, order: "created-desc", limit: 10, after: null } as const;
const TASK = "workflow: held\nsteps:\n  - id: a\n    task: a\n";

let database: TestDatabase;
let server: TestServer;
let pool: pg.Pool;
/** Ids of namespaces. */
let blue: number;
let red: number;

beforeAllButCitus("the roles of Drover are not made there", async () => {
  database = await createTestDatabase();
  await createRoles(database.adminConnectionString, DATABASE_SCHEMA);
  // It may be repeated.
  await createRoles(database.adminConnectionString, DATABASE_SCHEMA);
  await onAdmin(`create role ${LOGIN} login password 'secret' in role drover_server`);
  server = await startDroverServer(asServer());
  for (const name of ["blue", "red"]) {
    await call("OperatorService/CreateNamespace", { name });
    await call("SchedulerService/RegisterWorkflow", { namespace: name, text: TASK });
    for (const key of [`${name}-1`, `${name}-2`])
      await call("SchedulerService/Schedule", { namespace: name, workflow: { name: "held" }, key });
  }
  pool = createPool(asServer(), "reads", 2, pino({ level: "silent" }));
  const { rows } = await pool.query<{ id: number; name: string }>(
    "select id, name from drover.namespace",
  );
  const idOf = (name: string) => rows.find((row) => row.name === name)?.id ?? 0;
  [blue, red] = [idOf("blue"), idOf("red")];
});
afterAll(async () => {
  await pool?.end();
  await server?.stop();
  if (!database) return;
  await onAdmin(`drop owned by ${LOGIN}; drop role ${LOGIN}`);
  await database.drop();
});

function asServer(): string {
  const url = new URL(database.connectionString);
  url.username = LOGIN;
  url.password = "secret";
  return url.href;
}

async function onAdmin(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.adminConnectionString });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

async function call(method: string, body: object): Promise<unknown> {
  const answer = await callJson(server.address, method, body);
  if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Lists whose connections are of one namespace, whatever namespace a statement names. */
function listsOf(namespaceId: number) {
  const reads = createNamespaceReads(pool, DATABASE_SCHEMA);
  const wall = { connect: () => reads.connect(namespaceId) };
  return createLists(pool, DATABASE_SCHEMA, queryOn(pool, DATABASE_SCHEMA), wall);
}

/** In a transaction of the reader, for this namespace; null: for none. */
async function asReader(namespaceId: number | null, text: string) {
  const client = await pool.connect();
  try {
    await client.query("begin; set local role drover_reader");
    if (namespaceId !== null)
      await client.query(`set local drover_reader.namespace = '${namespaceId}'`);
    return await client.query(text);
  } finally {
    await client.query("rollback");
    client.release();
  }
}

const DENIED = { code: "42501" };

it("a server that may not change the schema starts, and runs a task to its end", async () => {
  const agent = { namespace: "blue", agent: jsonAgent("a1") };
  const asked = { ...agent, queues: [{ name: "default" }], pollSeq: "1", wait: "10s" };
  const [task] = listAt(await call("AgentService/PollTask", asked), "tasks");
  const results = [{ taskToken: textAt(task, "taskToken"), outcome: { success: {} } }];
  await call("AgentService/Complete", { ...agent, results });
  const run = { runId: textAt(task, "runId") };
  const waited = await call("SchedulerService/WaitRun", { namespace: "blue", run, wait: "10s" });
  expect(waited).toMatchObject({ ended: true, run: { state: "RUN_STATE_COMPLETED" } });
});

it.for([
  "create table drover.more (id integer)",
  "alter table drover.run add column more text",
  "drop table drover.run",
  "alter table drover.run disable row level security",
  "drop policy drover_own on drover.run",
  "create role more",
  "update drover.drover_migration set checksum = ''",
])("the role of the server may not: %s", async (text) => {
  await expect(pool.query(text)).rejects.toMatchObject(DENIED);
});

it.for([
  "insert into drover.workflow select * from drover.workflow",
  "update drover.run set key = ''",
  "delete from drover.run_page",
  "select * from drover.api_token",
  "select * from drover.hook",
  "select * from drover.run_default",
  "select * from drover.namespace",
])("the reader may not: %s", async (text) => {
  await expect(asReader(blue, text)).rejects.toMatchObject(DENIED);
});

it.for(["run", "run_page", "run_mark", "idempotency", "lane", "workflow", "ready", "lease"])(
  "the reader sees rows of its namespace alone, and none without one: %s",
  async (table) => {
    const text = `select t::text as line from drover.${table} as t order by 1`;
    const seen = async (of: number | null) =>
      (await asReader(of, text)).rows.map(({ line }) => String(line));
    expect(await seen(null)).toEqual([]);
    const { rows } = await pool.query(text);
    const both = [...(await seen(blue)), ...(await seen(red))].toSorted();
    // No lease of red is left, and no row is of any other namespace.
    expect(both).toEqual(rows.map(({ line }) => String(line)).toSorted());
    if (table !== "lease" && table !== "run_mark")
      expect((await seen(red)).length).toBeGreaterThan(0);
  },
);

it("a list that asks for another namespace than its caller's finds nothing", async () => {
  const keys = async (caller: number, asked: number) =>
    (await listsOf(caller).runs(asked, PAGE)).map(({ key }) => key);
  expect(await keys(red, red)).toEqual(["red-2", "red-1"]);
  expect(await keys(blue, red)).toEqual([]);
  const open = { ...ANY_RUN, states: ["RUNNING" as const] };
  for (const filter of [ANY_RUN, open, { ...ANY_RUN, substates: ["agent" as const] }]) {
    expect(await listsOf(blue).runs(red, { ...PAGE, filter })).toEqual([]);
    expect((await listsOf(blue).countRuns(red, filter, 10)).count).toBe(0);
    expect((await listsOf(red).countRuns(red, filter, 10)).count).toBe(2);
  }
  expect(await listsOf(blue).workflows(red, null, 10)).toEqual([]);
});

it("a connection is as before once its read has ended", async () => {
  await listsOf(blue).runs(blue, PAGE);
  const { rows } = await pool.query(
    "select current_user as who, current_setting('drover_reader.namespace', true) as of",
  );
  expect(rows).toEqual([{ who: LOGIN, of: "" }]);
});

it("where the roles were not made, the owner reads as ever", async () => {
  const plain = await createTestDatabase();
  const owner = createPool(plain.connectionString, "reads", 1, pino({ level: "silent" }));
  const query = queryOn(owner, DATABASE_SCHEMA);
  expect(await createLists(owner, DATABASE_SCHEMA, query).runs(1, PAGE)).toEqual([]);
  await owner.end();
  await plain.drop();
});
