/** A shard whose node does not answer: what waits, and what goes on in the others. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock, systemRandom } from "../../../server/clock.ts";
import { createControlPlane } from "../../../server/control-plane.ts";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import { createPlaceOfSchedule } from "../../../server/scheduler/cron/schedule-control.ts";
import { createPlaceOfKey } from "../../../server/scheduler/run-id.ts";
import { shardOf } from "../../../server/store/partition.ts";
import { DATABASE_SCHEMA, shardSchema } from "../../../server/store/postgres/database-schema.ts";
import { isRetryable } from "../../../server/store/postgres/failure.ts";
import { migrate } from "../../../server/store/postgres/migrate.ts";
import { MIGRATIONS } from "../../../server/store/postgres/migrations-folder.ts";
import { createPostgresShards } from "../../../server/store/postgres/postgres-store.ts";
import { wholeStore } from "../../../server/store/whole-store.ts";
import { type BlackholeProxy, startBlackholeProxy } from "../../support/blackhole-proxy.ts";
import { quietLog, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { chain, newAgent, request, schedule, success } from "../control-plane/fixture.ts";

let database: TestDatabase;
let proxy: BlackholeProxy;
let plane: TestPlane;

/** Poll queries that have begun in each shard. */
const polls = [0, 0];
/** How many begin in the first shard while one is under way in the second. */
const pollsBeside: number[] = [];

const placeOfKey = createPlaceOfKey();

beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
  await migrate(database.connectionString, { folder: MIGRATIONS, shards: 2 });
  proxy = await startBlackholeProxy(database.connectionString);
  plane = await openPlane();
});
afterAll(async () => {
  await plane?.close();
  await proxy?.stop();
  await database?.drop();
});

/** Of two shards; the proxy is in front of the second one. */
async function openPlane(): Promise<TestPlane> {
  const opened = createPostgresShards(
    [database, proxy].map(({ connectionString }, shard) => {
      return { connectionString, log: quietLog, schema: shardSchema(DATABASE_SCHEMA, shard) };
    }),
  );
  const shards = opened.map((store, shard) => ({
    ...store,
    async pollQuery(asked: Parameters<typeof store.pollQuery>[0]) {
      const before = polls[0] ?? 0;
      polls[shard] = (polls[shard] ?? 0) + 1;
      try {
        return await store.pollQuery(asked);
      } finally {
        if (shard === 1) pollsBeside.push((polls[0] ?? 0) - before);
      }
    },
  }));
  const store = wholeStore(shards, createPlaceOfSchedule(placeOfKey));
  const made = createControlPlane({
    store,
    shards,
    inbox: store.inbox,
    clock: systemClock,
    random: systemRandom,
    log: quietLog,
    address: "test",
    isRetryable,
  });
  const namespace = await store.namespace("default");
  if (!namespace) throw new Error("the database has no namespace default");
  return {
    ...made,
    ...made.shards.home,
    store: { ...shards.home, ready: store.ready },
    namespace,
    async close() {
      await made.stop();
      await store.close();
    },
  };
}

let keys = 0;
/** A key whose runs are in this shard. */
function keyIn(shard: number): string {
  for (;;) {
    const key = `key-${keys++}`;
    if (shardOf(placeOfKey(plane.namespace.id, key), 2) === shard) return key;
  }
}

const agent = () => newAgent(plane);

async function begin(task: string, shard: number): Promise<string> {
  const { runId } = await schedule(plane, chain(task, 2), { key: keyIn(shard) });
  return runId;
}

it("renews no lease of its tasks and those of all others, and goes on when it is back", async () => {
  const one = agent();
  await begin("hold", 0);
  await begin("hold", 1);
  const held: HandedTask[] = [];
  while (held.length < 2) held.push(await one.take("hold"));
  held.sort((a, b) => shardOfTask(a) - shardOfTask(b));
  expect(held.map(shardOfTask)).toEqual([0, 1]);
  expect(await one.heartbeat(held)).toEqual(["carry-on", "carry-on"]);

  proxy.swallow();
  expect(await one.heartbeat(held)).toEqual(["carry-on", "unanswered"]);
  await plane.store.ready();
  const [here] = held;
  if (!here) throw new Error("no task of the first shard");
  expect(await one.report(here, success)).toBe("accepted");
  const next = await one.take("hold");
  expect(shardOfTask(next)).toBe(0);
  expect(next.runId).toBe(here.runId);
  const another = await begin("other", 0);
  expect((await one.take("other")).runId).toBe(another);

  const batch = [0, 1, 0].map((shard) => request(plane, chain("third", 1), { key: keyIn(shard) }));
  expect(await plane.scheduler.scheduleBatch(batch)).toMatchObject([
    { kind: "scheduled", created: true },
    { kind: "refused", error: { reason: "STORE_UNAVAILABLE" } },
    { kind: "scheduled", created: true },
  ]);

  proxy.open();
  const again = await plane.scheduler.scheduleBatch(batch);
  expect(again.map(({ kind }) => kind)).toEqual(["scheduled", "scheduled", "scheduled"]);
  const [, there] = held;
  if (!there) throw new Error("no task of the second shard");
  await until("its shard renews the lease", async () =>
    (await one.heartbeat([there]))[0] === "carry-on" ? true : null,
  );
  expect(await one.report(there, success)).toBe("accepted");
  expect((await one.take("hold")).runId).toBe(there.runId);
});

it("delays no poll of another shard", async () => {
  proxy.swallow();
  plane.pollTick.start();
  await until("a query of the second shard gives up", () => pollsBeside.length > 0 || null, 30_000);
  await plane.pollTick.stop();
  proxy.open();
  expect(pollsBeside[0]).toBeGreaterThanOrEqual(2);
});

it("lets a server start, which serves the others, and it when it is back", async () => {
  proxy.swallow();
  const server = await openPlane();
  try {
    await server.start();
    const task = { key: keyIn(0) };
    const { runId } = await schedule(server, chain("late", 1), task);
    const one = newAgent(server);
    const taken = await one.take("late");
    expect(taken.runId).toBe(runId);
    expect(await one.report(taken, success)).toBe("accepted");

    proxy.open();
    const there = await schedule(server, chain("later", 1), { key: keyIn(1) });
    expect((await one.take("later")).runId).toBe(there.runId);
  } finally {
    proxy.open();
    await server.close();
  }
});

function shardOfTask({ runId }: HandedTask): number {
  return shardOf(Number.parseInt(runId.slice(-2), 16), 2);
}
