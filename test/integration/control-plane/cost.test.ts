/**
 * What a step costs the database: statements, commits and row versions of a plain chain, as upper
 * bounds. A change that makes them grow has to change them here.
 */
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { skipOnCitus } from "../../support/not-on-citus.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  type Agent,
  chain,
  digestOf,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
  stateOf,
  success,
  tokenOf,
} from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

const STEPS = 20;
const NO_TRIGGERS = "the test counts rows by triggers, which the tables of Citus do not have";

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;
let asked: string[];
/** Each begins with a statement that was sent to a connection on which no answer was missing. */
let exchanges: string[][];
/** Lanes that the last poll query asked for. */
let lanesAsked: number;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString);
});
beforeEach(() => {
  [asked, exchanges] = [[], []];
  const out = new WeakMap<pg.Client, number>();
  const query = pg.Client.prototype.query;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const [what] = args;
    asked.push(nameOf(what));
    if (isPollQuery(what)) lanesAsked = new Set(what.values[0]).size;
    const answer: unknown = Reflect.apply(query, this, args);
    // What the pool sends by itself is reported by a callback, and is sent alone. A connection that
    // the pool opens meanwhile is set up, whenever that is.
    if (!(answer instanceof Promise) || isSetUp(what)) return answer;
    const before = out.get(this) ?? 0;
    if (before === 0) exchanges.push([]);
    exchanges.at(-1)?.push(nameOf(what).split(";")[0] ?? "");
    out.set(this, before + 1);
    const answered = () => out.set(this, (out.get(this) ?? 0) - 1);
    void answer.then(answered, answered);
    return answer;
  });
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

/** The name of a prepared statement, or the text of another. */
function nameOf(what: unknown): string {
  return typeof what === "object" && what !== null && "name" in what
    ? String(what.name)
    : String(what);
}

function isSetUp(what: unknown): boolean {
  return typeof what === "string" && /^(?:set |select \(select concat_ws)/.test(what);
}

function isPollQuery(what: unknown): what is { readonly values: readonly [readonly number[]] } {
  return nameOf(what) === "poll_query";
}

/** Statements of one kind for each step, rounded up. */
function perStep(of: (name: string) => boolean): number {
  return asked.filter(of).length / STEPS;
}

const isCommit = (name: string) => name === "commit";

async function workThrough(agent: Agent, name: string, parked: boolean): Promise<void> {
  let next = agent.take(name);
  for (let step = 0; step < STEPS; step++) {
    const task = await next;
    const isLast = step === STEPS - 1;
    if (parked && !isLast) {
      next = agent.take(name);
      // The poll has queried, found nothing and waits.
      const seen = asked.length;
      await expect.poll(() => asked.slice(seen).includes("commit"), { interval: 1 }).toBe(true);
    }
    await agent.report(task, success);
    if (!parked && !isLast) next = agent.take(name);
  }
}

/** A report and the wish for the next task in one call, as a busy agent makes it. */
async function reportAndTake(
  { dispatcher, namespace }: TestPlane,
  { session }: Agent,
  task: HandedTask,
  { name, pollSeq }: { readonly name: string; readonly pollSeq: number },
): Promise<HandedTask | undefined> {
  const agent = { id: "busy", session, version: "1" };
  const results = [{ token: tokenOf(task), outcome: success, digest: digestOf(success) }];
  const queues = [{ name: "default", weight: 1 }];
  const next = { pollSeq, queues, tasks: [name], maxTasks: 1 };
  const stays = new AbortController().signal;
  const { tasks } = await dispatcher.complete({ namespace, agent, results, next }, stays);
  return tasks[0];
}

function taken(task: HandedTask | undefined): HandedTask {
  if (!task) throw new Error("the agent was handed no task");
  return task;
}

interface Versions {
  readonly made: number;
  /** How many changed a column that an index holds, and so must be entered in the indexes anew. */
  readonly entered: number;
}

/**
 * Each change of an indexed column is noted where it happens. PostgreSQL's own count of updates
 * that enter indexes includes those that only found no room in their heap page, and does not
 * distinguish the two.
 */
const NOTE_ENTRIES = `
  create table public.entry (of text not null);
  create function public.note_entry() returns trigger language plpgsql as $$
  begin
    if exists (select from unnest(tg_argv) as u (name) where to_jsonb(old) -> u.name <> to_jsonb(new) -> u.name)
    then
      insert into public.entry values (tg_table_name);
    end if;
    return null;
  end
  $$;
  do $$
  declare
    indexed record;
  begin
    for indexed in
      select d.refobjid::regclass as of, string_agg(distinct quote_literal(a.attname), ', ') as names
      from pg_depend as d
      join pg_index as i on i.indexrelid = d.objid and d.classid = 'pg_class'::regclass
      join pg_class as c on c.oid = d.refobjid and c.relkind = 'r' and c.relnamespace = 'drover'::regnamespace
      join pg_attribute as a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
      where d.refclassid = 'pg_class'::regclass
      group by d.refobjid
    loop
      execute format('create trigger note_entry after update on %s for each row execute function
        public.note_entry(%s)', indexed.of, indexed.names);
    end loop;
  end
  $$`;

/** Row versions by table that the work of a chain makes in a database of its own. */
async function versionsOf(
  work: (alone: TestPlane, name: string) => Promise<void>,
): Promise<ReadonlyMap<string, Versions>> {
  const own = await createTestDatabase();
  const counter = await openHand(own.connectionString);
  try {
    await counter.query(NOTE_ENTRIES);
    const alone = await openQuietPlane(own.connectionString);
    try {
      const name = newTask();
      await schedule(alone, chain(name, STEPS));
      await work(alone, name);
    } finally {
      await alone.close();
    }
    return await rowVersions(counter);
  } finally {
    await counter.close();
    await own.drop();
  }
}

/** Sessions report what they did when they end, so the plane must be closed. */
async function rowVersions(of: Hand): Promise<ReadonlyMap<string, Versions>> {
  const sessions = () =>
    of.query(
      `select from pg_stat_activity
       where datname = current_database() and application_name like 'drover-%'`,
    );
  await expect.poll(sessions).toEqual([]);
  const rows = await of.query<Versions & { table: string }>(
    `select relname as table, (n_tup_ins + n_tup_upd)::int as made,
       (select count(*) from public.entry as e where e.of = t.relname)::int as entered
     from pg_stat_user_tables as t`,
  );
  return new Map(rows.map(({ table, ...versions }) => [table, versions]));
}

describe("a step of a plain chain", () => {
  it("costs two commits and twelve statements when its agent polls after each report", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, STEPS));
    const agent = newAgent(plane);
    asked = [];
    await workThrough(agent, name, false);
    const counts = Object.entries(Object.groupBy(asked, (one) => one));
    const listed = counts.map(([one, all]) => `${one}: ${all?.length}`).join("\n");
    expect(perStep(isCommit), listed).toBeLessThanOrEqual(2.1);
    expect(
      perStep(() => true),
      listed,
    ).toBeLessThanOrEqual(12.5);
    expect(await stateOf(plane, run)).toBe("COMPLETED");
  });

  it("is handed to an agent that waits in the commit that made it ready", async () => {
    const name = newTask();
    await schedule(plane, chain(name, STEPS));
    const agent = newAgent(plane);
    asked = [];
    await workThrough(agent, name, true);
    const counts = Object.entries(Object.groupBy(asked, (one) => one));
    const listed = counts.map(([one, all]) => `${one}: ${all?.length}`).join("\n");
    // One for the report and its hand-over, one for the query of the poll before it parks.
    expect(perStep(isCommit), listed).toBeLessThanOrEqual(2.1);
    expect(
      perStep((one) => one === "end_leases"),
      listed,
    ).toBeLessThanOrEqual(1);
    expect(
      perStep(() => true),
      listed,
    ).toBeLessThanOrEqual(10.5);
  });

  it("is one exchange with the database, its hand-over among them, once its lane was seen empty", async () => {
    const name = newTask();
    await schedule(plane, chain(name, 3));
    const agent = newAgent(plane);
    const first = await agent.take(name);
    exchanges = [];
    const second = await reportAndTake(plane, agent, first, { name, pollSeq: 2 });
    // The poll has asked for one task and got one: there might have been more.
    expect(exchanges).toEqual([
      ["begin", "hold_known_runs", "end_leases", "lock_ready"],
      ["update_pages", "insert_leases", "commit"],
    ]);
    exchanges = [];
    await reportAndTake(plane, agent, taken(second), { name, pollSeq: 3 });
    expect(exchanges).toEqual([
      [
        "begin",
        "hold_known_runs",
        "end_leases",
        "assert_lanes_empty",
        "update_pages",
        "insert_leases",
        "commit",
      ],
    ]);
  });

  it("is three exchanges more where another server has changed its run meanwhile", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 3));
    const agent = newAgent(plane);
    const task = await agent.take(name);
    await hand.query("update drover.run_page set version = version + 1 where run_id = $1", [
      run.runId,
    ]);
    exchanges = [];
    expect(await reportAndTake(plane, agent, task, { name, pollSeq: 2 })).toBeDefined();
    expect(exchanges.slice(-3)).toEqual([
      ["begin", "lock_runs_skip"],
      ["end_leases", "lock_ready"],
      ["update_pages", "insert_leases", "commit"],
    ]);
    expect(exchanges.slice(0, -3).flat()).toEqual([
      "begin",
      "hold_known_runs",
      "end_leases",
      "lock_ready",
      "rollback",
    ]);
  });

  it("waits in its lane where that was paused since the lane was seen empty", async () => {
    const name = newTask();
    await schedule(plane, chain(name, 3));
    const agent = newAgent(plane);
    const first = await agent.take(name);
    const second = await reportAndTake(plane, agent, first, { name, pollSeq: 2 });
    const { namespace } = plane;
    await plane.store.queues.pause({ namespaceId: namespace.id, queue: "default" }, "a test");
    expect(await reportAndTake(plane, agent, taken(second), { name, pollSeq: 3 })).toBeUndefined();
    await plane.store.queues.resume({ namespaceId: namespace.id, queue: "default" });
    expect(await agent.take(name)).toMatchObject({ stepId: "s2" });
  });

  it("begins, with its run, in one transaction of three exchanges", async () => {
    const name = newTask();
    await schedule(plane, chain(name, 2));
    exchanges = [];
    await schedule(plane, chain(name, 2), { key: "begins" });
    // A connection that is new is asked for its settings before.
    expect(exchanges.slice(-3)).toEqual([
      ["begin"],
      ["reserve_keys"],
      ["insert_runs", "insert_pages", "insert_ready", "commit"],
    ]);
  });

  it("writes the page of its run once for each thing that happens, and a row of each task", async (context) => {
    skipOnCitus(context, NO_TRIGGERS);
    const versions = await versionsOf((alone, name) => workThrough(newAgent(alone), name, false));
    const made = (table: string) => versions.get(table)?.made;
    // Made once, and changed by each report and by each hand-out.
    expect(made("run_page_default")).toBe(1 + 2 * STEPS);
    expect(made("ready")).toBe(STEPS);
    expect(made("lease")).toBe(STEPS);
    expect(made("run_default")).toBe(1);
    // The outcome of an attempt is in the page.
    expect(made("attempt_log_default")).toBe(0);
    expect(made("payload_default")).toBe(0);
  });

  it("changes no column that an index holds, until its run ends", async (context) => {
    skipOnCitus(context, NO_TRIGGERS);
    const versions = await versionsOf((alone, name) => workThrough(newAgent(alone), name, false));
    const entered = [...versions].flatMap(([table, of]) =>
      of.entered > 0 ? [[table, of.entered]] : [],
    );
    // The page of a run that has ended has no wake-up.
    expect(entered).toEqual([["run_page_default", 1]]);
    expect(versions.get("run_page_default")?.made).toBe(1 + 2 * STEPS);
  });

  it("never is a ready row where an agent asks for the next task with its report", async (context) => {
    skipOnCitus(context, NO_TRIGGERS);
    const versions = await versionsOf(async (alone, name) => {
      const agent = newAgent(alone);
      let task: HandedTask | undefined = await agent.take(name);
      for (let pollSeq = 2; task; pollSeq++)
        task = await reportAndTake(alone, agent, task, { name, pollSeq });
    });
    // The first was ready before the agent asked.
    expect(versions.get("ready")?.made).toBe(1);
    expect(versions.get("lease")?.made).toBe(STEPS);
    // Made with the run; the first hand-out; and each report with the hand-out that follows it.
    expect(versions.get("run_page_default")?.made).toBe(2 + STEPS);
  });

  it("costs a batch of runs hardly more commits than one run", async () => {
    const name = newTask();
    const runs = 50;
    await Promise.all(Array.from({ length: runs }, () => schedule(plane, chain(name, 2))));
    const agent = newAgent(plane);
    const tasks = await agent.poll(name, { maxTasks: runs });
    expect(tasks).toHaveLength(runs);
    asked = [];
    await agent.complete(tasks, success);
    expect(asked.filter(isCommit).length).toBeLessThanOrEqual(4);
  });
});

describe("a process in which nothing happens", () => {
  it("asks one statement a poll tick for all its parked polls", async () => {
    const stop = new AbortController();
    const polls = Array.from({ length: 200 }, () =>
      newAgent(plane).poll(newTask(), { ends: { over: stop.signal } }),
    );
    const sendHeartbeat = async () => {
      asked = [];
      await plane.pollTick.runOnce();
      return { asked, lanes: lanesAsked };
    };
    await expect.poll(sendHeartbeat).toEqual({ asked: ["poll_query"], lanes: polls.length });
    stop.abort();
    await Promise.all(polls);
  });
});
