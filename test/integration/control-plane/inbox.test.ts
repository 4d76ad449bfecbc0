/** Runs that users start inside transactions of their own, by SQL, with a role of their own. */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { DroverError } from "../../../server/errors.ts";
import { createInbox } from "../../../server/integrations/inbox.ts";
import type { ScheduleRequest } from "../../../server/scheduler/scheduler.ts";
import { quietLog, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { chain, newTask, openQuietPlane } from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;
/** The superuser: Drover's own role may make no roles. */
let root: pg.Client;
/** A session of a user who may do nothing but schedule. */
let user: pg.Client;
const role = `app_${process.pid}`;
const other = `other_${process.pid}`;

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.adminConnectionString });
  await client.connect();
  // On Citus, what the superuser makes and grants is of this node alone.
  await client.query("set citus.enable_ddl_propagation = off");
  return client;
}

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString);
  const schema = { kind: "json", json: '{"type":"object"}' } as const;
  const definition = { ...chain(newTask(), 1), workflow: "trip", inputSchema: schema };
  await plane.scheduler.registerWorkflow(plane.namespace, definition, false);
  root = await connect();
  for (const name of [role, other]) await root.query(`create role ${name}`);
  await root.query(`grant usage on schema drover to ${role}`);
  await root.query(`grant execute on function drover.schedule to ${role}`);
  user = await connect();
  await user.query(`set session authorization ${role}`);
});
beforeEach(async () => {
  await user.query("rollback");
  await root.query("rollback");
  await root.query("reset role");
  await hand.query("delete from drover.inbox");
});
afterAll(async () => {
  await user?.end();
  for (const name of [role, other]) {
    await root?.query(`drop owned by ${name}`);
    await root?.query(`drop role ${name}`);
  }
  await root?.end();
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

function scan(
  schedule: (request: ScheduleRequest) => Promise<{ runId: string; created: boolean }> = plane
    .scheduler.schedule,
  isOwner = true,
) {
  const { store } = plane;
  const inbox = createInbox({
    rows: store.inbox,
    store,
    schedule,
    log: quietLog,
    isOwner: () => isOwner,
  });
  return inbox.takeOnce();
}

const waiting = async () =>
  (await hand.query("select from drover.inbox where refused_at is null")).length;
const runBy = (key: string) => plane.store.reads.findRun(plane.namespace.id, { key });
const untaken = () =>
  hand.query("update drover.inbox set taken_until = now() - interval '1 second'");

it("a run starts when the user's transaction has committed, and not before", async () => {
  await user.query("begin");
  const { rows } = await user.query<{ key: string }>(
    `select drover.schedule('default', 'trip', '{"to":"Rome"}', labels => '{"of":"sql"}') as key`,
  );
  await scan();
  const key = rows[0]?.key ?? "";
  expect(await runBy(key)).toBeNull();
  await user.query("commit");
  await scan();
  expect(await runBy(key)).toMatchObject({
    workflow: "trip",
    version: 1,
    input: { kind: "json", json: '{"to": "Rome"}' },
    labels: { of: "sql" },
  });
  expect(await waiting()).toBe(0);
});

it("the scan for due rows returns a row, and not one that is locked or was refused", async () => {
  const outside = async () => (await plane.store.dueRows([0], 10)).outside;
  expect(await outside()).toEqual([]);
  await user.query("select drover.schedule('default', 'nothing', '{}', 'once')");
  expect(await outside()).toEqual(["inbox"]);
  await plane.store.inbox.take(10);
  expect(await outside()).toEqual([]);
  await untaken();
  expect(await outside()).toEqual(["inbox"]);
  await scan();
  expect(await outside()).toEqual([]);
});

it("a transaction that is rolled back starts nothing", async () => {
  await user.query("begin");
  await user.query("select drover.schedule('default', 'trip', '{}', 'rolled-back')");
  await user.query("rollback");
  await scan();
  expect(await runBy("rolled-back")).toBeNull();
});

it("the role that may schedule may do nothing else", async () => {
  await expect(user.query("select * from drover.inbox")).rejects.toThrow(/permission denied/);
  await expect(user.query("select * from drover.inbox_refused")).rejects.toThrow(/permission/);
  await expect(user.query("select * from drover.run")).rejects.toThrow(/permission denied/);
  await root.query(`set role ${other}`);
  const asks = root.query("select drover.schedule('default', 'trip')");
  await expect(asks).rejects.toThrow(/permission denied/);
  await root.query("reset role");
});

it("a path of the caller's own leads the function to no other table", async () => {
  await root.query(`grant temporary on database ${root.database ?? ""} to ${role}`);
  await user.query("create temp table inbox (namespace text)");
  await user.query("set search_path = pg_temp, public");
  await user.query("select drover.schedule('default', 'trip', '{}', 'pinned')");
  await user.query("reset search_path");
  await user.query("drop table pg_temp.inbox");
  await scan();
  expect(await runBy("pinned")).not.toBeNull();
});

it("one key is one run, also after a crash between the run and its row", async () => {
  await user.query("select drover.schedule('default', 'trip', '{}', 'once')");
  await user.query("select drover.schedule('default', 'trip', '{}', 'once')");
  const { store } = plane;
  const forgetful = { ...store.inbox, settle: () => Promise.reject(new Error("crash")) };
  const { schedule } = plane.scheduler;
  const crashing = createInbox({
    rows: forgetful,
    store,
    schedule,
    isOwner: () => true,
    log: quietLog,
  });
  await expect(crashing.takeOnce()).rejects.toThrow("crash");
  const first = await runBy("once");
  expect(await waiting()).toBe(2);
  await scan();
  expect(await waiting()).toBe(2);
  await untaken();
  await scan();
  expect(await waiting()).toBe(0);
  expect(await runBy("once")).toEqual(first);
  expect(await hand.query("select from drover.run where key = 'once'")).toHaveLength(1);
});

it("a row stays where the store has lost its run again, and begins it anew", async () => {
  await user.query("select drover.schedule('default', 'trip', '{}', 'lost')");
  const { schedule } = plane.scheduler;
  const losing = createInbox({
    rows: plane.store.inbox,
    store: plane.store,
    isOwner: () => true,
    log: quietLog,
    schedule: async (request) => ({ ...(await schedule(request)), runId: crypto.randomUUID() }),
  });
  await losing.takeOnce();
  expect(await waiting()).toBe(1);
  await untaken();
  await scan();
  expect(await waiting()).toBe(0);
  expect(await hand.query("select from drover.run where key = 'lost'")).toHaveLength(1);
});

it("what cannot be scheduled is stored with the reason, and holds up nothing", async () => {
  await user.query("select drover.schedule('default', 'nothing', '{}', 'a')");
  await user.query("select drover.schedule('nowhere', 'trip', '{}', 'b')");
  await user.query("select drover.schedule('default', 'trip', '[]', 'c')");
  await user.query("select drover.schedule('default', 'trip', '{}', 'd')");
  await scan();
  await scan();
  const refused = await hand.query<{ key: string; reason: string; message: string }>(
    "select key, reason, message from drover.inbox_refused order by key",
  );
  expect(refused).toEqual([
    { key: "a", reason: "WORKFLOW_NOT_FOUND", message: expect.stringContaining('"nothing"') },
    { key: "b", reason: "NAMESPACE_NOT_FOUND", message: expect.stringContaining('"nowhere"') },
    { key: "c", reason: "INVALID_REQUEST", message: expect.stringContaining("schema") },
  ]);
  expect(await waiting()).toBe(0);
  expect(await runBy("d")).not.toBeNull();
});

it("a row waits while its outcome is unknown, and for the owner alone", async () => {
  await user.query("select drover.schedule('default', 'trip', '{}', 'later')");
  await scan(undefined, false);
  await scan(() => Promise.reject(new DroverError("STORE_UNAVAILABLE", "away")));
  expect(await waiting()).toBe(1);
  await untaken();
  await scan();
  expect(await waiting()).toBe(0);
});

it("rows that another server takes are skipped", async () => {
  for (const key of ["x", "y"])
    await user.query("select drover.schedule('default', 'trip', '{}', $1)", [key]);
  await hand.query("begin");
  await hand.query("select from drover.inbox where key = 'x' for update");
  const taken = await plane.store.inbox.take(10);
  expect(taken.map(({ key }) => key)).toEqual(["y"]);
  await hand.query("rollback");
});

it.each([
  ["an empty workflow", "select drover.schedule('default', '')", "workflow must be"],
  ["no namespace", "select drover.schedule(null, 'trip')", "namespace must be"],
  ["a version below 0", "select drover.schedule('default', 'trip', version => -1)", "version must"],
  ["an empty key", "select drover.schedule('default', 'trip', key => '')", "key must be"],
  [
    "a label that is no text",
    `select drover.schedule('default', 'trip', labels => '{"a":1}')`,
    /labels/,
  ],
  ["labels that are a list", "select drover.schedule('default', 'trip', labels => '[]')", "labels"],
  [
    "an input that is too large",
    "select drover.schedule('default', 'trip', to_jsonb(repeat('x', 300000)))",
    "larger than 256 KiB",
  ],
])("%s fails the user's statement at once", async (_what, text, expected) => {
  await expect(user.query(text)).rejects.toThrow(expected);
});
