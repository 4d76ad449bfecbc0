/** Idempotency keys on several servers: one key is one run, whichever caller sends it, and when. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { TestPlane } from "../../support/control-plane.ts";
import type { TestDatabase } from "../../support/postgres.ts";
import { chain, gatedStore, newTask, openTwoServers, request, type TwoServers } from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

const gates = gatedStore();
let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];
let database: TestDatabase;
/** Calls whose definition was found: they wait at the batch. */
let resolved = 0;

beforeAll(async () => {
  ({ database, hand, here, there, close } = await openTwoServers((store) => ({
    ...gates.wrap(store),
    async internDefinition(...asked) {
      const id = await store.internDefinition(...asked);
      resolved += 1;
      return id;
    },
  })));
});
afterEach(async () => {
  await hand.query("rollback");
});
afterAll(() => close?.());

const one = "11".repeat(32);
const two = "22".repeat(32);
const task = newTask();

function call(plane: TestPlane, key: string, digest = one) {
  return plane.scheduler.schedule(request(plane, chain(task, 1), { key, digest }));
}

async function runsOf(key: string): Promise<number> {
  return (await hand.query("select from drover.run where key = $1", [key])).length;
}

async function settled(calls: readonly Promise<{ runId: string; created: boolean }>[]) {
  const answers = await Promise.allSettled(calls);
  const done = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const reasons = answers.flatMap((answer) =>
    answer.status === "rejected" ? [String(answer.reason.reason)] : [],
  );
  return { done, reasons };
}

describe("the same key", () => {
  it("from two servers at the same time is one run", async () => {
    const calls = Array.from({ length: 20 }, (_, at) => call(at % 2 === 0 ? here : there, "k-1"));
    const { done, reasons } = await settled(calls);
    expect(reasons).toEqual([]);
    expect(new Set(done.map(({ runId }) => runId)).size).toBe(1);
    expect(done.filter(({ created }) => created)).toHaveLength(1);
    expect(await runsOf("k-1")).toBe(1);
  });

  it("with another request is refused, and nothing of that request is stored", async () => {
    const calls = [call(here, "k-2", one), call(there, "k-2", two)];
    const { done, reasons } = await settled(calls);
    expect(reasons).toEqual(["KEY_REUSED"]);
    expect(done).toMatchObject([{ created: true }]);
    expect(await runsOf("k-2")).toBe(1);
  });

  it("twice in one batch is one run, and another request of that batch is refused", async () => {
    const gate = gates.stopNext("schedule");
    const first = call(here, "k-3");
    await gate.reached;
    const before = resolved;
    const batch = ["k-4", "k-4", "k-4", "k-5"].map((key) => call(here, key));
    const other = call(here, "k-4", two);
    await expect.poll(() => resolved - before, { interval: 5 }).toBe(5);
    gate.open();
    await first;
    const { done, reasons } = await settled([...batch, other]);
    expect(new Set(reasons)).toEqual(new Set(["KEY_REUSED"]));
    expect(done.filter(({ created }) => created)).toHaveLength(2);
    expect(new Set(done.map(({ runId }) => runId)).size).toBe(2);
    expect([await runsOf("k-4"), await runsOf("k-5")]).toEqual([1, 1]);
  });

  it("waits for another server that is reserving it, and takes what that one made", async () => {
    const gate = gates.stopNext("schedule");
    const first = call(here, "k-6");
    await gate.reached;
    const second = call(there, "k-6");
    await hand.untilWaiting("insert into drover.idempotency");
    gate.open();
    expect((await second).runId).toBe((await first).runId);
    expect((await second).created).toBe(false);
  });

  it("is free again when the transaction that reserved it is rolled back", async () => {
    await hand.query("begin");
    await hand.query(
      `insert into drover.idempotency (namespace_id, key, run_id, digest, expires_at)
       values ($1, 'k-7', gen_random_uuid(), '\\x00', now() + interval '1 day')`,
      [here.namespace.id],
    );
    const asked = call(here, "k-7");
    const asker = await openHand(database.connectionString);
    await asker.untilWaiting("insert into drover.idempotency");
    await asker.close();
    await hand.query("rollback");
    expect(await asked).toMatchObject({ created: true });
    expect(await runsOf("k-7")).toBe(1);
  });
});

describe("keys in two orders on two servers", () => {
  it("do not deadlock: each batch reserves in key order", async () => {
    const keys = Array.from({ length: 30 }, (_, at) => `order-${at}`);
    const calls = [
      ...keys.map((key) => call(here, key)),
      ...[...keys].reverse().map((key) => call(there, key)),
    ];
    const { done, reasons } = await settled(calls);
    expect(reasons).toEqual([]);
    expect(new Set(done.map(({ runId }) => runId)).size).toBe(keys.length);
    const deadlocks = await hand.query<{ deadlocks: number }>(
      "select deadlocks::int from pg_stat_database where datname = current_database()",
    );
    expect(deadlocks).toEqual([{ deadlocks: 0 }]);
  });
});

describe("a repeat is answered by its key alone", () => {
  const secret = { value: "a secret of sixteen", digest: "ab" };
  const hook = { name: "ops", url: "https://there.com", events: [], secret };
  const notified = (key: string) =>
    request(here, chain(task, 1), { key, digest: one, notify: { hook: "ops", url: null } });

  it("although the hook that it names is gone", async () => {
    const { outbox } = here.store;
    const namespaceId = here.namespace.id;
    await outbox.putHook({ namespaceId, ...hook });
    const first = await here.scheduler.schedule(notified("hook-1"));
    await outbox.deleteHook(namespaceId, "ops");
    const again = await settled([here.scheduler.schedule(notified("hook-1"))]);
    expect(again).toEqual({ done: [{ runId: first.runId, created: false }], reasons: [] });
    const refused = await here.scheduler.scheduleBatch([notified("hook-1"), notified("hook-2")]);
    expect(refused).toMatchObject([
      { kind: "scheduled", runId: first.runId, created: false },
      { kind: "refused", error: { reason: "HOOK_NOT_FOUND" } },
    ]);
    expect(await settled([here.scheduler.schedule(notified("hook-2"))])).toEqual({
      done: [],
      reasons: ["HOOK_NOT_FOUND"],
    });
    await outbox.putHook({ namespaceId, ...hook });
    expect(await here.scheduler.schedule(notified("hook-2"))).toMatchObject({ created: true });
  });

  it("although the version that is the default by now asks for another input", async () => {
    const plain = { ...chain(task, 1), workflow: "strict" };
    const json = '{"type":"object","required":["to"]}';
    const asked = (key: string) => {
      const target = { kind: "named", name: "strict", version: 0 } as const;
      return here.scheduler.schedule(request(here, plain, { key, digest: one, target }));
    };
    await here.scheduler.registerWorkflow(here.namespace, plain, false);
    const first = await asked("strict-1");
    const strict = { ...plain, inputSchema: { kind: "json", json } as const };
    await here.scheduler.registerWorkflow(here.namespace, strict, false);
    expect(await asked("strict-1")).toEqual({ runId: first.runId, created: false });
    await expect(asked("strict-2")).rejects.toMatchObject({ reason: "INVALID_REQUEST" });
    expect(await runsOf("strict-2")).toBe(0);
  });
});
