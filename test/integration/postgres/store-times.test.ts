/** How long it counts that an agent polled a lane, or sent a heartbeat, is set by the server. */
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { newUuid, ownPartition, schedule } from "../../contract/fixture.ts";
import { quietLog } from "../../support/control-plane.ts";
import { workflow } from "../../support/core-world.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

let database: TestDatabase;
let store: Store;
let hand: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  const { connectionString } = database;
  const times = { polledMs: 20_000, ownerLostMs: 1_000 };
  store = createPostgresStore({ connectionString, log: quietLog, times });
  hand = new pg.Client({ connectionString });
  await hand.connect();
});
afterAll(async () => {
  await hand?.end();
  await store?.close();
  await database?.drop();
});

test("a lane counts as polled for the time that is set", async () => {
  const partition = ownPartition();
  const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
  await store.markPolled(newUuid(), run.lanes);
  const read = async () => ({
    due: (await store.dueRows([partition], 10)).due.map(({ polled }) => polled),
    orphans: (await store.operators.attention(run.namespaceId)).orphans.length,
  });
  expect(await read()).toEqual({ due: [true], orphans: 0 });
  await hand.query("update drover.lane_poller set seen_at = now() - interval '20 s'");
  expect(await read()).toEqual({ due: [false], orphans: 1 });
  expect((await store.reads.runLiveness(run.ref.runId)).polledMs).toBe(20_000);
});

test("the session of a silent node ends after the time that is set, and its partitions have no owner", async () => {
  const node = newUuid();
  const partition = ownPartition();
  const session = await store.partitions.join({ node, address: "here" });
  const lost = new Promise<void>((resolve) => session.onLost(() => resolve()));
  await session.tryLock([partition]);
  await session.takeOver([partition]);
  await schedule(store, workflow({ a: {} }), { partition });
  expect((await store.overdue([partition], 5_000)).unowned).toEqual([]);
  await lost;
  await hand.query("update drover.node set last_seen_at = now() - interval '1 s' where id = $1", [
    node,
  ]);
  expect((await store.overdue([partition], 5_000)).unowned).toMatchObject([{ partitions: 1 }]);
  await session.leave();
});
