/** The memory store obeys the contract; and tests that need a store with a virtual clock. */

import { expect, test } from "vitest";
import { createMemoryStore, type MemoryStore } from "../../server/store/memory/memory-store.ts";
import { workflow } from "../support/core-world.ts";
import { WHOLE_RUN } from "../support/rows-to-load.ts";
import {
  claim,
  claimOne,
  newUuid,
  type OpenedStore,
  ownPartition,
  pass,
  permanent,
  prepare,
  report,
  schedule,
} from "./fixture.ts";
import { describeStore } from "./store-contract.ts";

const START = 1_767_225_600_000;

async function openMemory(): Promise<OpenedStore<MemoryStore>> {
  let now = START;
  const store = createMemoryStore({ now: () => now });
  return {
    store,
    elapse: async (ms) => {
      now += ms;
    },
    close: () => store.close(),
  };
}

describeStore("memory store", openMemory, { randomRuns: 300 });

test("a lane is no longer polled a minute after its last poll", async () => {
  const { store, elapse } = await openMemory();
  const partition = ownPartition();
  const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
  await store.markPolled(newUuid(), run.lanes);
  await elapse(59_999);
  expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: true }]);
  await elapse(1);
  expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: false }]);
});

test("how long a lane counts as polled, and a silent session lives, is a setting of the server", async () => {
  let now = START;
  const times = { polledMs: 20_000, ownerLostMs: 1_000 };
  const store = createMemoryStore({ now: () => now, times });
  const partition = ownPartition();
  const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
  await store.markPolled(newUuid(), run.lanes);
  now += 19_999;
  expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: true }]);
  now += 1;
  expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: false }]);
  expect((await store.reads.runLiveness(run.ref.runId)).polledMs).toBe(20_000);
  const session = await store.partitions.join({ node: newUuid(), address: "here" });
  now += 1_000;
  await expect(session.poll()).rejects.toThrow("join under a new id");
});

test("a session lives on as long as it calls within three seconds", async () => {
  const { store, elapse } = await openMemory();
  const session = await store.partitions.join({ node: newUuid(), address: "here" });
  const lost: Error[] = [];
  session.onLost((cause) => lost.push(cause));
  await session.tryLock([1]);
  for (const ms of [2_999, 2_999]) {
    await elapse(ms);
    expect((await session.poll()).held).toEqual([1]);
  }
  await elapse(3_000);
  await expect(session.poll()).rejects.toThrow("join under a new id");
  expect(lost).toHaveLength(1);
});

test("a session is lost by the time that passes, and not by a jump of the database's clock", async () => {
  let now = START;
  let elapsedMs = 0;
  const store = createMemoryStore({ now: () => now, elapsedMs: () => elapsedMs });
  const join = () => store.partitions.join({ node: newUuid(), address: "here" });
  const session = await join();
  const other = await join();
  await session.tryLock([1]);
  for (const jumpMs of [3_600_000, -7_200_000]) {
    now += jumpMs;
    expect(await other.poll()).toMatchObject({
      held: [1],
      liveNodes: [{ node: session.node }, { node: other.node }],
    });
  }
  elapsedMs += 2_000;
  expect(await other.poll()).toMatchObject({ held: [1] });
  elapsedMs += 1_000;
  expect(await other.poll()).toMatchObject({ held: [], liveNodes: [{ node: other.node }] });
});

test("a batch that locks against the order is refused, though nothing could deadlock here", async () => {
  const { store } = await openMemory();
  const run = await schedule(store, workflow({ a: {} }));
  const wrong = store.transact({ name: "wrong" }, async (tx) => {
    await prepare(tx, run, [{ kind: "run-timer" }]);
    await tx.lockRuns([run.ref], true);
  });
  await expect(wrong).rejects.toThrow('batch "wrong" locks runs after steps');
});

test("a batch that locks queues with limits by two calls is refused", async () => {
  const { store } = await openMemory();
  const { namespaceId } = await schedule(store, workflow({ a: {} }));
  const queues = ["one", "two"].map((queue) => ({ namespaceId, queue }));
  for (const of of queues) await store.queues.setLimits(of, { leasesMax: 1, rate: null });
  const together = store.transact({ name: "right" }, (tx) => tx.lockQueues(queues));
  expect(await together).toMatchObject([{ queue: "one" }, { queue: "two" }]);
  const wrong = store.transact({ name: "wrong" }, async (tx) => {
    for (const of of queues) await tx.lockQueues([of]);
  });
  await expect(wrong).rejects.toThrow('batch "wrong" locks queues twice');
});

test("a run must be locked before its steps are loaded", async () => {
  const { store } = await openMemory();
  const run = await schedule(store, workflow({ a: {} }));
  const wanted = [{ runId: run.ref.runId, ...WHOLE_RUN }];
  const wrong = store.transact({ name: "wrong" }, (tx) => tx.loadSteps(wanted));
  await expect(wrong).rejects.toThrow("must be locked before");
});

test("a transaction that is over cannot be used", async () => {
  const { store } = await openMemory();
  const tx = await store.transact({ name: "first" }, async (open) => open);
  await expect(tx.lockReady([])).rejects.toThrow('batch "first" is over');
});

test("all rows of a namespace can be read, and none of another", async () => {
  const { store } = await openMemory();
  const first = await schedule(store, workflow({ a: { queue: "q" } }));
  const { namespaceId } = first;
  const second = await schedule(store, workflow({ b: { onFailure: "escalate" } }), { namespaceId });
  await pass(store, second, report(await claimOne(store, second), permanent));
  await schedule(store, workflow({ c: { queue: "elsewhere" } }));
  const runs = await store.rows.runs(namespaceId);
  expect(runs.map(({ runId }) => runId)).toEqual([first.ref.runId, second.ref.runId]);
  expect(await store.rows.openEscalations(namespaceId)).toMatchObject([
    { runId: second.ref.runId, n: 1, closedAt: null },
  ]);
  expect(await store.rows.queues(namespaceId)).toEqual(["default", "q"]);
  expect(await store.rows.refusals(namespaceId)).toEqual([]);
  expect(await store.rows.deliveries(namespaceId)).toEqual([]);
});

test("a closed store refuses every call", async () => {
  const { store } = await openMemory();
  const run = await schedule(store, workflow({ a: {} }));
  await store.close();
  await store.close();
  await expect(claim(store, run)).rejects.toThrow("closed");
});

test("a lost tail takes back namespaces, definitions, workflows and lanes, and gives no id out again", async () => {
  const store = createMemoryStore({ now: () => START });
  const make = async () => {
    const { id: namespaceId } = await store.createNamespace("tail");
    const definitionId = await store.internDefinition(namespaceId, workflow({ a: {} }));
    await store.registerWorkflow({ namespaceId, name: "test", definitionId, keepDefault: false });
    const lanes = await store.lanes([{ namespaceId, queue: "q", task: "a" }]);
    return { namespaceId, definitionId, lanes };
  };
  const lost = await make();
  await store.simulateFailover(4);
  expect(await store.namespace("tail")).toBeNull();
  expect(await store.namespace("default")).not.toBeNull();
  await expect(store.definition(lost.definitionId)).rejects.toThrow("there is no definition");
  expect(await store.workflowVersion(lost.namespaceId, "test", 0)).toBeNull();
  expect(await store.lanesOfQueues(lost.namespaceId, ["q"])).toEqual([]);
  const again = await make();
  expect(again.namespaceId).not.toBe(lost.namespaceId);
  expect(again.definitionId).not.toBe(lost.definitionId);
  expect(again.lanes).not.toEqual(lost.lanes);
});

test("what is made beside a transaction stays when that one fails, and is lost with its own tail", async () => {
  const store = createMemoryStore({ now: () => START });
  const namespaceId = 1;
  const run = await schedule(store, workflow({ a: {} }));
  const key = { namespaceId, queue: "beside", task: "a" };
  const failed = store.transact({ name: "fails" }, async (tx) => {
    await store.lanes([key]);
    await tx.lockRuns([run.ref], true);
    throw new Error("it fails");
  });
  await expect(failed).rejects.toThrow("it fails");
  expect(await store.lanesOfQueues(namespaceId, ["beside"])).toHaveLength(1);
  await store.simulateFailover(1);
  expect(await store.lanesOfQueues(namespaceId, ["beside"])).toEqual([]);
});
