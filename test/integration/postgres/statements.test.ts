/**
 * Every statement of server/store/postgres/sql, on a session of the hot pool: it can be prepared,
 * it is used, and its plan is the one that its comment promises, on an empty database and on a
 * filled one.
 *
 * A generic plan is made once for each connection, perhaps while a table was empty; so the plan
 * that is checked is the generic one, under the settings of the pool.
 */
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { createPool } from "../../../server/store/postgres/pool.ts";
import { loadStatements } from "../../../server/store/postgres/sql.ts";
import { quietLog } from "../../support/control-plane.ts";
import { beforeAllButCitus, PLANS } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { fill, fillMap } from "./fill.ts";

const FOLDER = new URL("../../../server/store/postgres/", import.meta.url);
const statements = [...loadStatements().values()];
/**
 * Tables that grow with runs: a scan of all of their rows is a bug, whatever else a statement does.
 */
const HOT = [
  "run",
  "run_page",
  "ready",
  "lease",
  "payload",
  "attempt_log",
  "handler_log",
  "escalation",
  "signal",
  "decision",
  "step_override",
  "step_reused",
  "rerun",
  "run_mark",
  "message",
  "permit",
  "outbox",
  "delivery",
  "schedule",
  "occurrence",
  "intervention",
  "audit_entry",
];
/** What every step, or every run, passes. */
const EVERY_STEP = [
  "reserve_keys",
  "insert_runs",
  "end_runs",
  "lock_runs_skip",
  "load_pages",
  "insert_pages",
  "update_pages",
  "end_leases",
  "delete_leases",
  "insert_leases",
  "delete_ready",
  "insert_ready",
  "lock_ready",
  "task_facts",
  "write_payloads",
  "insert_logged_attempts",
  "payloads",
  "last_heartbeats",
  "store_heartbeats",
  "leases_of_heartbeats",
  "lock_pages_skip",
];
/** Tables with rows for steps and items of a map; an item has a page of its own. */
const PLACED = [
  "run_page",
  "ready",
  "lease",
  "payload",
  "attempt_log",
  "step_override",
  "step_reused",
];
const WAKES = ["run_page_wake", "escalation_wake", "message_wake", "schedule_wake"];

let database: TestDatabase;
let pool: pg.Pool;
let indexes: ReadonlyMap<string, string>;
/** Of the index of a range of runs, the index of the whole table. */
let wholes: ReadonlyMap<string, string>;

beforeAllButCitus(PLANS, async () => {
  database = await createTestDatabase();
  pool = createPool(database.connectionString, "hot", 2, quietLog);
  await retainUnanalysed(pool);
  const { rows } = await pool.query<{ index: string; table: string; whole: string | null }>(
    `select c.relname as index, t.relname as table,
       (select p.relname from pg_inherits as h join pg_class as p on p.oid = h.inhparent
        where h.inhrelid = c.oid) as whole
     from pg_index as i
     join pg_class as c on c.oid = i.indexrelid
     join pg_class as t on t.oid = i.indrelid
     where c.relnamespace = 'drover'::regnamespace`,
  );
  indexes = new Map(rows.map(({ index, table }) => [index, table]));
  wholes = new Map(rows.flatMap(({ index, whole }) => (whole ? [[index, whole]] : [])));
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/**
 * Autovacuum would analyse the tables of a test that takes a minute, one after the other: plans are
 * to be those without statistics until a test has asked for them.
 */
async function retainUnanalysed(on: pg.Pool): Promise<void> {
  for (const table of await tablesOf(on))
    await on.query(`alter table ${table} set (autovacuum_enabled = off)`);
}

async function tablesOf(on: pg.Pool): Promise<readonly string[]> {
  const { rows } = await on.query<{ table: string }>(
    `select c.oid::regclass::text as table from pg_class as c
     where c.relkind = 'r' and c.relnamespace = 'drover'::regnamespace`,
  );
  return rows.map(({ table }) => table);
}

/** The comment of each statement, which the loader leaves out. */
function commentOf(name: string): string {
  for (const file of readdirSync(new URL("sql/", FOLDER))) {
    const text = readFileSync(new URL(`sql/${file}`, FOLDER), "utf8");
    const found = new RegExp(`^-- name: ${name}\n((?:-- .*\n)*)`, "m").exec(text);
    if (found) return (found[1] ?? "").replaceAll("\n", " ").replaceAll("-- ", "");
  }
  return "";
}

/** What the comment after `Plan:` promises: index names, or tables by their key. */
function promised(name: string): readonly string[] {
  const [, plan] = /Plan: (.*?)\.(?: |$)/.exec(commentOf(name)) ?? [];
  if (plan === undefined) return [];
  if (plan.includes("the wake index of each table")) return WAKES;
  const [tables = "", byKey] = plan.split(/ by (?:the run's )?key/);
  const named = tables.split(/[^a-z_]+/);
  return plan.split(/[^a-z_]+/).flatMap((word) => {
    if (indexes.has(word)) return word;
    if (byKey === undefined || !named.includes(word)) return [];
    return [`${word}_default_pkey`, `${word}_pkey`].find((index) => indexes.has(index)) ?? [];
  });
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Join Filter"?: string;
  readonly "Parent Relationship"?: string;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

async function genericPlan(text: string, on = pool): Promise<readonly PlanNode[]> {
  const { rows } = await on.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
    `explain (generic_plan, format json) ${text}`,
  );
  const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
  if (!plan) throw new Error("explain gave no plan");
  return nodesOf(plan);
}

function baseOf(table: string | undefined): string {
  return (table ?? "").replace(/_default$/, "");
}

/** Hot tables that a plan reads from end to end, by a scan of the table or of a whole index. */
function readsWhole(nodes: readonly PlanNode[]): readonly string[] {
  return nodes.flatMap((node) => {
    const table = baseOf(node["Relation Name"] ?? indexes.get(node["Index Name"] ?? ""));
    if (!HOT.includes(table)) return [];
    if (node["Node Type"] === "Seq Scan") return [`all of ${table}`];
    const scansIndex = /^(Index|Bitmap Index|Index Only)/.test(node["Node Type"]);
    return scansIndex && !node["Index Cond"] ? [`all of ${node["Index Name"]}`] : [];
  });
}

/**
 * Scans all steps of a run, which a map has ten thousand of, by a statement whose plan is by key
 * and not by the run's.
 */
function readsWholeRuns(name: string, nodes: readonly PlanNode[]): readonly string[] {
  const comment = commentOf(name);
  if (!/Plan: [^.]* by key/.test(comment)) return [];
  const whole = nodes.flatMap(({ "Index Name": index = "", "Index Cond": cond = "" }) => {
    const withoutIndex = PLACED.includes(baseOf(indexes.get(index))) && index.endsWith("_pkey");
    return withoutIndex && !/\b(?:step_)?no\b/.test(cond) ? [`${index}: ${cond}`] : [];
  });
  return whole.slice(/ once by the run's key/.test(comment) ? 1 : 0);
}

describe("the statements", () => {
  it("have names that no file repeats, and there are some", () => {
    expect(statements.length).toBeGreaterThan(40);
    expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(EVERY_STEP));
  });

  it("are all used, and no other name is asked for", () => {
    const code = readdirSync(FOLDER)
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(new URL(file, FOLDER), "utf8"))
      .join("\n");
    const names = new Set(statements.map(({ name }) => name));
    for (const name of names) expect(code, `nothing uses ${name}`).toContain(`"${name}"`);
    const asked = [
      ...code.matchAll(/(?<!client\.)\b(?:query|onPool)(?:<[^;]*?>)?\(\s*"(\w+)"/g),
      ...code.matchAll(/\bwrite(?:Rows|Each)\(\s*query,\s*"(\w+)"/g),
    ];
    expect(asked.length).toBeGreaterThan(40);
    for (const [, name] of asked) expect([...names]).toContain(name);
  });

  it("notify no server, and no trigger does: transactions that do commit one at a time", async () => {
    expect(statements.filter(({ text }) => /\b(?:pg_)?notify\b/i.test(text))).toEqual([]);
    const { rows } = await pool.query(
      `select tgname from pg_trigger where not tgisinternal
       union all select rulename from pg_rules where schemaname = 'drover'`,
    );
    expect(rows).toEqual([]);
  });

  it("set in the pool's session what a hot session must have", async () => {
    const settings = ["enable_seqscan", "plan_cache_mode", "statement_timeout", "jit"];
    const { rows } = await pool.query<{ name: string; setting: string }>(
      "select name, setting from pg_settings where name = any ($1) order by name",
      [[...settings, "idle_in_transaction_session_timeout"]],
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      enable_seqscan: "off",
      idle_in_transaction_session_timeout: "2000",
      jit: "off",
      plan_cache_mode: "force_generic_plan",
      statement_timeout: "2000",
    });
  });
});

describe("each statement", () => {
  it.for(statements)("$name is prepared, with every parameter typed", async ({ name, text }) => {
    const client = await pool.connect();
    try {
      await client.query(`prepare "test_${name}" as ${text}`);
      const { rows } = await client.query<{ types: string[] }>(
        "select parameter_types::text[] as types from pg_prepared_statements where name = $1",
        [`test_${name}`],
      );
      const used = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
      expect(rows[0]?.types).toHaveLength(Math.max(0, ...used));
      expect(rows[0]?.types).not.toContain("unknown");
    } finally {
      client.release();
    }
  });
});

/**
 * Joins that compare each row of a call with each other: with a batch of hundreds they cost more
 * than all the rest. What a call brings is walked once, and tables are probed by it.
 */
function comparesAll(nodes: readonly PlanNode[]): readonly string[] {
  return nodes.flatMap((node) => {
    const [, inner] = node.Plans ?? [];
    const { "Node Type": type, "Join Filter": filter } = node;
    if (type !== "Nested Loop" || filter === undefined || !inner) return [];
    const ofCall = nodesOf(inner).every((below) => below["Relation Name"] === undefined);
    return ofCall ? [filter] : [];
  });
}

const planned = (when: string, which = statements) => {
  it.for(which)(`$name keeps its plan ${when}`, async ({ name, text }) => {
    const nodes = await genericPlan(text);
    expect(readsWhole(nodes)).toEqual([]);
    const used = nodes.flatMap(({ "Index Name": index = "" }) => [index, wholes.get(index)]);
    for (const index of promised(name)) expect(used).toContain(index);
    expect(readsWholeRuns(name, nodes)).toEqual([]);
    if (EVERY_STEP.includes(name)) expect(comparesAll(nodes)).toEqual([]);
  });
};

describe("on an empty database", () => {
  planned("there");

  it("most statements promise a plan", () => {
    expect(statements.filter(({ name }) => promised(name).length > 0).length).toBeGreaterThan(20);
  });
});

describe("on a database that has just started, with a map of ten thousand items", () => {
  beforeAllButCitus(PLANS, async () => {
    await fillMap(database.connectionString, 10_000);
  });

  planned("there");
});

describe("on a database of thousands of runs, analysed", () => {
  beforeAllButCitus(PLANS, async () => {
    await fill(database.connectionString, 4_000);
  });

  it.for([
    { what: "all", index: "escalation_default_namespace_id_run_id_n_idx", where: "" },
    {
      what: "those that are open",
      index: "escalation_default_namespace_id_run_id_n_idx1",
      where: "and e.closed_at is null",
    },
  ])("escalations are listed by their index: $what", async ({ index, where }) => {
    const nodes = await genericPlan(
      `select e.*, r.workflow from drover.escalation as e join drover.run as r on r.id = e.run_id
       where e.namespace_id = $1::integer ${where} order by e.run_id desc, e.n limit $2::integer`,
    );
    expect(nodes.map((node) => node["Index Name"])).toContain(index);
    expect(nodes.map((node) => node["Node Type"])).not.toContain("Sort");
  });

  it("the storage of all namespaces is estimated from one sample of each table", async () => {
    const { text = "" } = statements.find(({ name }) => name === "count_storage") ?? {};
    const nodes = await genericPlan(text);
    const sampled = (of: readonly PlanNode[]) =>
      of.filter((node) => node["Node Type"] === "Sample Scan").length;
    expect(sampled(nodes)).toBeGreaterThanOrEqual(5);
    const perRow = nodes.filter((node) => node["Parent Relationship"] === "SubPlan");
    expect(sampled(perRow.flatMap(nodesOf))).toBe(0);
  });

  it("open escalations are counted by the index that holds them alone", async () => {
    const { text = "" } = statements.find(({ name }) => name === "count_open_escalations") ?? {};
    const nodes = await genericPlan(text);
    const used = nodes.map((node) => node["Index Name"]);
    expect(used).toContain("escalation_default_namespace_id_run_id_n_idx1");
  });

  it("interventions are listed newest first by the index of each rule, within the time asked for", async () => {
    const { text = "" } = statements.find(({ name }) => name === "list_interventions") ?? {};
    const nodes = await genericPlan(text);
    const found = nodes.find(
      (node) => node["Index Name"] === "intervention_default_namespace_id_rule_acted_at_idx",
    );
    for (const column of ["namespace_id", "rule", "acted_at"])
      expect(found?.["Index Cond"]).toContain(column);
  });

  planned("there");
});

describe("on the same database with little at work, as the planner knows it (grown_tables)", () => {
  beforeAllButCitus(PLANS, async () => {
    const hand = new pg.Client({ connectionString: database.connectionString });
    await hand.connect();
    try {
      for (const table of ["lease", "ready"])
        await hand.query(
          `delete from drover.${table} where (run_id, step_no) not in
             (select run_id, step_no from drover.${table} limit 400)`,
        );
      await hand.query("vacuum analyze");
    } finally {
      await hand.end();
    }
  });

  planned(
    "there",
    statements.filter(({ name }) => EVERY_STEP.includes(name)),
  );
});

/**
 * A vacuum that finds no rows records that there are none. A plan made then is in use until the
 * table is analysed again, seconds after it begins to fill.
 */
describe("on a database whose tables were empty when they were vacuumed", () => {
  let emptied: TestDatabase;
  let sessions: pg.Pool;

  beforeAllButCitus(PLANS, async () => {
    emptied = await createTestDatabase();
    sessions = createPool(emptied.connectionString, "hot", 1, quietLog);
    await retainUnanalysed(sessions);
    for (const table of await tablesOf(sessions)) await sessions.query(`vacuum analyze ${table}`);
  });
  afterAll(async () => {
    await sessions?.end();
    await emptied?.drop();
  });

  /** Joins that read all rows of one side again for each row of the other. */
  function rereads(nodes: readonly PlanNode[]): readonly string[] {
    return nodes.flatMap(({ "Node Type": type, "Join Filter": filter }) =>
      type === "Nested Loop" && filter !== undefined ? [filter] : [],
    );
  }

  // These take up thousands of rows in a call: a thousand took more than the two seconds they have.
  it.for(
    statements.filter(({ name }) =>
      [
        "fold_outbox",
        "forget_deliveries",
        "forget_lane_pollers",
        "forget_attempt_counts",
        "forget_circuit_ends",
        "forget_refused",
        "take_inbox",
      ].includes(name),
    ),
  )("$name finds its rows once, and changes each by its place", async ({ text }) => {
    expect(rereads(await genericPlan(text, sessions))).toEqual([]);
  });
});
