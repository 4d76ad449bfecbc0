/** Tasks that a transaction makes ready and hands out itself; later polls find the others. */
import { expect, test } from "vitest";
import type { ReadyRow, Tx } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claim,
  claimIn,
  claimOne,
  insert,
  leaseOf,
  newNamespace,
  type Opened,
  pass,
  place,
  prepare,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";

const ONE = workflow({ a: {} });
const WINDOW_MS = 60_000;

export function describeHandedAtOnce(opened: Opened): void {
  const poll = async (tx: Tx, lanes: readonly number[], limit: number) => {
    const asked = lanes.map((lane) => ({ lane, limit }));
    const { rows, limited } = await tx.lockReady(asked);
    return { rows: rows.map(keyOf), limited: limited.map(({ lane }) => lane).sort() };
  };
  const keyOf = ({ runId, step, lane, priority }: ReadyRow) => ({ runId, step, lane, priority });

  test.for(casesOf(opened))("gives what a poll after it gives: $what", async (given) => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const placed = await place(store, ONE, { namespaceId });
    for (const priority of given.before)
      await store.transact({ name: "before" }, (tx) => insert(tx, placed, { priority }));
    await given.prepare?.(placed);
    const within = await store.transact({ name: "now" }, async (tx) => {
      for (const priority of given.now) await insert(tx, placed, { priority });
      return poll(tx, placed.lanes, given.limit);
    });
    const after = await store.transact({ name: "after" }, (tx) =>
      poll(tx, placed.lanes, given.limit),
    );
    expect(within).toEqual(after);
    expect(within.rows).toHaveLength(given.gives);
  });

  test("what is handed out is a lease, as if it had been claimed; the rest is ready", async () => {
    const { store } = opened();
    const timeouts = { attemptMs: 60_000, heartbeatMs: 7_000, cancelMs: 3_000, stallMs: 5_000 };
    const placed = await place(store, workflow({ a: { timeouts } }));
    const run = await store.transact({ name: "later" }, (tx) => insert(tx, placed));
    const later = await claimOne(store, run, { pollSeq: 7 });
    const { runs, granted, lanes } = await store.transact({ name: "now" }, async (tx) => {
      const made = [await insert(tx, placed), await insert(tx, placed)];
      const claimed = await claimIn(tx, placed.lanes, { limit: 1, pollSeq: 7 });
      return { runs: made, granted: claimed, lanes: await tx.placeReady() };
    });
    const [first] = granted;
    const [own = run, other = run] = runs;
    if (!first) throw new Error("nothing was handed out");
    expect(first.ready.runId).toBe(own.ref.runId);
    expect(first.attemptBy - first.grantedAt).toBe(later.attemptBy - later.grantedAt);
    const lease = await leaseOf(store, own, 0);
    expect(lease).toMatchObject({ secret: first.secret, grantedAt: first.grantedAt, pollSeq: 7 });
    const since = ({ wakeAt, grantedAt, ...one }: NonNullable<typeof lease>) => {
      const at = { wakeAt: wakeAt - grantedAt, attemptBy: one.attemptBy - grantedAt };
      return { ...one, ...at, secret: "", progressAt: one.progressAt - grantedAt };
    };
    const claimed = await leaseOf(store, run, 0);
    expect(lease && since(lease)).toEqual(claimed && since(claimed));
    expect(lanes).toEqual(placed.lanes);
    expect((await claim(store, placed)).map(({ ready }) => ready.runId)).toEqual([other.ref.runId]);
    expect((await pass(store, own, report(first, success))).answer).toEqual({ kind: "done" });
  });

  test("what is handed out ends with its run at the latest", async () => {
    const { store } = opened();
    const placed = await place(store, workflow({ a: {} }, { timeoutMs: 30_000 }));
    const [granted] = await store.transact({ name: "now" }, async (tx) => {
      await insert(tx, placed);
      return claimIn(tx, placed.lanes);
    });
    expect(granted?.ready.until).not.toBe(null);
    expect(granted?.attemptBy).toBe(granted?.ready.until);
  });

  test("a task that no agent polls for is ready after the transaction, even if another lane was scanned", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"], task: "later" } }));
    const held = await claimOne(store, run);
    const elsewhere = await place(store, workflow({ z: { task: "elsewhere" } }));
    await store.transact({ name: "report" }, async (tx) => {
      const { record } = await prepare(tx, run, [report(held, success)]);
      await tx.write([record]);
      expect(await claimIn(tx, elsewhere.lanes)).toEqual([]);
    });
    expect((await claimOne(store, run)).ready.step).toBe(1);
  });

  test("a pinned one is for agents of its version, which are notified of its lane", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const placed = await place(store, ONE, { namespaceId });
    await store.pins.pin({ namespaceId, queue: "default", workflow: "test", version: 0 }, "2");
    const { run, lanes } = await store.transact({ name: "now" }, async (tx) => {
      const made: Scheduled = await insert(tx, placed);
      expect(await claimIn(tx, placed.lanes)).toEqual([]);
      return { run: made, lanes: await tx.placeReady() };
    });
    const { pinned } = await store.circuits.snapshot(WINDOW_MS);
    const own = pinned.lanes.filter(({ base }) => placed.lanes.includes(base));
    expect(lanes).toEqual(own.map(({ lane }) => lane));
    expect((await claim(store, { lanes })).map(({ ready }) => ready.runId)).toEqual([
      run.ref.runId,
    ]);
  });
}

type Placed = Awaited<ReturnType<typeof place>>;

interface Case {
  readonly what: string;
  /** Priorities of runs that were ready before, and of those that become so now. */
  readonly before: readonly number[];
  readonly now: readonly number[];
  readonly limit: number;
  readonly gives: number;
  readonly prepare?: (placed: Placed) => Promise<unknown>;
}

function casesOf(opened: Opened): readonly Case[] {
  return [
    { what: "the lane was empty", before: [], now: [5, 5, 5], limit: 9, gives: 3 },
    { what: "it gives no more than is asked", before: [], now: [5, 5, 5], limit: 2, gives: 2 },
    { what: "what is older comes first", before: [5, 5], now: [5, 5], limit: 3, gives: 3 },
    { what: "priorities come before age", before: [9, 5, 5], now: [1, 9, 5], limit: 5, gives: 5 },
    {
      what: "its queue is paused",
      before: [5],
      now: [5],
      limit: 9,
      gives: 0,
      prepare: ({ namespaceId }) =>
        opened().store.queues.pause({ namespaceId, queue: "default" }, "enough"),
    },
    {
      what: "its queue has limits",
      before: [5],
      now: [5],
      limit: 9,
      gives: 0,
      prepare: ({ namespaceId }) =>
        opened().store.queues.setLimits(
          { namespaceId, queue: "default" },
          { leasesMax: 5, rate: null },
        ),
    },
    {
      what: "its workflow is paused",
      before: [5],
      now: [5],
      limit: 9,
      gives: 0,
      prepare: ({ namespaceId, plan }) =>
        opened().store.queues.pauseWorkflow({ namespaceId, workflow: plan.workflow }, "enough"),
    },
    {
      what: "another workflow is paused",
      before: [5],
      now: [5],
      limit: 9,
      gives: 2,
      prepare: async ({ namespaceId }) => {
        await schedule(opened().store, { ...ONE, workflow: "other" }, { namespaceId });
        await opened().store.queues.pauseWorkflow({ namespaceId, workflow: "other" }, "enough");
      },
    },
    {
      what: "it is pinned to a version of agents",
      before: [5],
      now: [5],
      limit: 9,
      gives: 0,
      prepare: ({ namespaceId, plan }) =>
        opened().store.pins.pin(
          { namespaceId, queue: "default", workflow: plan.workflow, version: 0 },
          "2",
        ),
    },
  ];
}
