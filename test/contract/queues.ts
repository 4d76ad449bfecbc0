/** Queues: nothing is handed out of one that is paused, and what waits there is no alarm. */
import { expect, test } from "vitest";
import { type QueueLimits, UNLIMITED } from "../../server/core/model/limits.ts";
import type { Granted, Tx } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claim,
  newNamespace,
  type Opened,
  ownPartition,
  prepare,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";

export function describeQueues(opened: Opened): void {
  const pause = (namespaceId: number, queue: string, reason = "") =>
    opened().store.queues.pause({ namespaceId, queue }, reason);
  const resume = (namespaceId: number, queue: string) =>
    opened().store.queues.resume({ namespaceId, queue });
  const stepsClaimed = async (run: Scheduled) =>
    (await claim(opened().store, run)).map(({ ready }) => ready.step);

  /** A run with a step in each of two queues. */
  async function inTwoQueues(): Promise<Scheduled> {
    const steps = { a: { queue: "slow" }, b: { queue: "quick" } };
    return schedule(opened().store, workflow(steps));
  }

  test("a paused queue gives nothing of any task, other queues do", async () => {
    const { store } = opened();
    const tasks = { a: { task: "t", queue: "q" }, b: { task: "u", queue: "q" }, c: { task: "t" } };
    const run = await schedule(store, workflow(tasks));
    await pause(run.namespaceId, "q");
    expect(await stepsClaimed(run)).toEqual([2]);
    await resume(run.namespaceId, "q");
    expect((await stepsClaimed(run)).sort()).toEqual([0, 1]);
  });

  test("a queue that is not known yet can be paused, and so are its lanes when they come", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await pause(namespaceId, "later");
    const run = await schedule(store, workflow({ a: { queue: "later" } }), { namespaceId });
    expect(await stepsClaimed(run)).toEqual([]);
  });

  test("queues of one name in two namespaces are two queues", async () => {
    const one = await inTwoQueues();
    const two = await inTwoQueues();
    await pause(one.namespaceId, "slow");
    expect(await stepsClaimed(one)).toEqual([1]);
    expect((await stepsClaimed(two)).sort()).toEqual([0, 1]);
  });

  test("a paused namespace gives nothing of any queue", async () => {
    const run = await inTwoQueues();
    await pause(run.namespaceId, "");
    expect(await stepsClaimed(run)).toEqual([]);
    await resume(run.namespaceId, "slow");
    expect(await stepsClaimed(run)).toEqual([]);
    await resume(run.namespaceId, "");
    expect((await stepsClaimed(run)).sort()).toEqual([0, 1]);
  });

  test("resuming reports the lanes of which may be taken again", async () => {
    const run = await inTwoQueues();
    const [slow] = run.lanes;
    expect(await resume(run.namespaceId, "slow")).toEqual([slow]);
    expect([...(await resume(run.namespaceId, ""))].sort((a, b) => a - b)).toEqual(
      [...run.lanes].sort((a, b) => a - b),
    );
  });

  test("pausing again keeps the first pause", async () => {
    const namespaceId = await newNamespace(opened().store);
    const first = await pause(namespaceId, "q", "the bank is down");
    expect(first).toMatchObject({ reason: "the bank is down" });
    expect(await pause(namespaceId, "q", "another reason")).toEqual(first);
    await resume(namespaceId, "q");
    await resume(namespaceId, "q");
    expect(await pause(namespaceId, "q", "another reason")).toMatchObject({
      reason: "another reason",
    });
  });

  test("a poll query leaves out lanes that give nothing", async () => {
    const { store } = opened();
    const run = await inTwoQueues();
    await pause(run.namespaceId, "slow");
    expect((await store.pollQuery({ lanes: run.lanes, runs: [], watermarks: [] })).lanes).toEqual([
      run.lanes[1],
    ]);
  });

  test("what waits in a paused queue is held: no agent is reported missing", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: { timeouts: { pickupMs: 1_000 } } }), {
      partition,
      agoMs: 60_000,
    });
    const polled = async () =>
      (await store.dueRows([partition], 10)).due.map((row) => [row.kind, row.polled]);
    expect(await polled()).toEqual([["ready", false]]);
    await pause(run.namespaceId, "default");
    expect(await polled()).toEqual([["ready", true]]);
    await resume(run.namespaceId, "default");
    await pause(run.namespaceId, "");
    expect(await polled()).toEqual([["ready", true]]);
  });

  test("what holds a ready step is reported: its queue, or else its namespace", async () => {
    const { store } = opened();
    const run = await inTwoQueues();
    const pauses = async () => (await store.reads.runLiveness(run.ref.runId)).pauses;
    expect(await pauses()).toEqual(new Map());
    const own = await pause(run.namespaceId, "slow", "mending it");
    const all = await pause(run.namespaceId, "", "moving");
    expect(await pauses()).toEqual(
      new Map([
        [0, { scope: "queue", ...own }],
        [1, { scope: "namespace", ...all }],
      ]),
    );
  });

  const TWO = { leasesMax: 2, rate: null };
  const QUICK = { leasesMax: null, rate: { perSecond: 4, burst: 3 } };
  const limit = (of: Scheduled, queue: string, limits: QueueLimits) =>
    opened().store.queues.setLimits({ namespaceId: of.namespaceId, queue }, limits);
  const inTx = <T>(work: (tx: Tx) => Promise<T>) => opened().store.transact({ name: "read" }, work);
  const lockQueue = (of: Scheduled, queue: string) =>
    inTx((tx) => tx.lockQueues([{ namespaceId: of.namespaceId, queue }]));

  test("a lane of a queue with limits gives nothing before the queue is locked", async () => {
    const run = await inTwoQueues();
    const [slow = 0, quick = 0] = run.lanes;
    await limit(run, "slow", TWO);
    const asked = [slow, quick].map((lane) => ({ lane, limit: 5 }));
    const before = await inTx((tx) => tx.lockReady(asked));
    expect(before.rows.map(({ lane }) => lane)).toEqual([quick]);
    expect(before.limited).toEqual([{ lane: slow, namespaceId: run.namespaceId, queue: "slow" }]);
    const after = await inTx((tx) => tx.lockReady(asked, true));
    expect(after.rows.map(({ lane }) => lane).sort()).toEqual([slow, quick].sort());
    expect(after.limited).toEqual([]);
  });

  test("a locked queue has the count of its tasks that agents have, of all its lanes", async () => {
    const steps = { a: { task: "x", queue: "q" }, b: { task: "y", queue: "q" }, c: {} };
    const run = await schedule(opened().store, workflow(steps));
    await claim(opened().store, run);
    await limit(run, "q", TWO);
    const [first] = run.lanes;
    expect(await lockQueue(run, "q")).toEqual([
      { namespaceId: run.namespaceId, queue: "q", limits: TWO, leased: 2, bucket: null },
    ]);
    expect(await lockQueue(run, "default")).toEqual([]);
    expect(await inTx((tx) => tx.lockReady([{ lane: first ?? 0, limit: 1 }]))).toMatchObject({
      limited: [{ queue: "q" }],
    });
  });

  test("a rate begins with a full bucket; another rate keeps what is in it, as far as it fits", async () => {
    const run = await inTwoQueues();
    await limit(run, "slow", QUICK);
    const [first] = await lockQueue(run, "slow");
    expect(first).toMatchObject({ limits: QUICK, bucket: { tokens: 3 } });
    if (!first?.bucket) throw new Error("a queue with a rate has a bucket");
    const bucket = { tokens: 1.5, filledAt: first.bucket.filledAt + 1_000 };
    await inTx(async (tx) => {
      const [locked] = await tx.lockQueues([first]);
      if (locked) await tx.writeBuckets([{ ...locked, bucket }]);
    });
    expect(await lockQueue(run, "slow")).toMatchObject([{ bucket }]);
    await limit(run, "slow", { leasesMax: 1, rate: { perSecond: 1, burst: 9 } });
    expect(await lockQueue(run, "slow")).toMatchObject([{ limits: { leasesMax: 1 }, bucket }]);
    await limit(run, "slow", { leasesMax: null, rate: { perSecond: 1, burst: 1 } });
    expect(await lockQueue(run, "slow")).toMatchObject([{ bucket: { ...bucket, tokens: 1 } }]);
  });

  test("limits that are taken away leave the queue as it was", async () => {
    const run = await inTwoQueues();
    await limit(run, "slow", QUICK);
    expect(await limit(run, "slow", UNLIMITED)).toEqual([run.lanes[0]]);
    expect(await lockQueue(run, "slow")).toEqual([]);
    expect((await stepsClaimed(run)).sort()).toEqual([0, 1]);
  });

  test("a task that ends frees all lanes of its queue, if that has limits", async () => {
    const { store } = opened();
    const steps = { a: { task: "x", queue: "q" }, b: { task: "y", queue: "q" }, c: {} };
    const run = await schedule(store, workflow(steps));
    const [a, b, c] = await claim(store, run);
    if (!a || !b || !c) throw new Error("three steps should be ready");
    await limit(run, "q", TWO);
    const end = (granted: Granted) =>
      inTx(async (tx) => {
        const { record } = await prepare(tx, run, [report(granted, success)]);
        const { ended } = await tx.write([record]);
        return [...(await ended).freed].sort();
      });
    const lanes = [
      ...new Set([a, b, c].filter(({ ready }) => ready.step < 2).map(({ ready }) => ready.lane)),
    ].sort();
    for (const granted of [a, b, c])
      expect(await end(granted)).toEqual(granted.ready.step < 2 ? lanes : []);
  });
}
