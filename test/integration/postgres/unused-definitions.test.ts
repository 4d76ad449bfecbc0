/**
 * Unused definitions are removed while calls find them: a definition that a call has found remains
 * until the call has started its run, and one that is being removed is created anew.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog } from "../../support/control-plane.ts";
import { workflow } from "../../support/core-world.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

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
});
afterAll(async () => {
  await store?.close();
  await hand?.close();
  await db?.end();
  await database?.drop();
});

const forget = (keptMs: number) =>
  store.namespaces.forgetDefinitions({ after: 0, limit: 100, keptMs });
const markedLongAgo = () =>
  db.query("update drover.definition set unused_since = now() - interval '2 days'");

it("one that is being removed while it is queried is made anew", async () => {
  const definition = workflow({ a: {} });
  const id = await store.internDefinition(1, definition);
  await markedLongAgo();
  await db.query("begin");
  await db.query("delete from drover.definition where id = $1", [id]);
  const found = store.internDefinition(1, definition);
  await hand.untilWaiting("update drover.definition set unused_since = null");
  await db.query("commit");
  expect(await found).not.toBe(id);
  expect(await store.definition(await found)).toEqual(definition);
});

it("one that is found while it is about to be removed stays", async () => {
  const definition = workflow({ b: {} });
  const id = await store.internDefinition(1, definition);
  await markedLongAgo();
  await db.query("begin");
  await db.query("update drover.definition set unused_since = null where id = $1", [id]);
  const removed = forget(86_400_000);
  await hand.untilWaiting("delete from drover.definition as d");
  await db.query("commit");
  await removed;
  expect(await store.definition(id)).toEqual(definition);
});

it("one that has been used again since it was marked stays, whatever its mark is", async () => {
  const id = await store.internDefinition(1, workflow({ c: {} }));
  await db.query(
    `insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
       created_at)
     values (gen_random_uuid(), 1, 0, $1, 'w', 0, 5, '{}', now())`,
    [id],
  );
  await markedLongAgo();
  await forget(86_400_000);
  const { rows } = await db.query("select unused_since from drover.definition where id = $1", [id]);
  expect(rows).toEqual([{ unused_since: null }]);
});
