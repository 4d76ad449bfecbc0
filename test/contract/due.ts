/** Due rows: what has a moment that has come, in the partitions that are asked about. */
import { expect, test } from "vitest";
import { evolve } from "../../server/core/evolve.ts";
import type { Store } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claim,
  claimOne,
  failure,
  newUuid,
  type Opened,
  ownPartition,
  pass,
  prepare,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";

const A_MINUTE_MS = 60_000;
const past = { agoMs: A_MINUTE_MS };

/** Moves the moment of a step into the past. */
function moveWake(store: Store, run: Scheduled, step: number): Promise<void> {
  return store.transact({ name: "move" }, async (tx) => {
    const { before, record } = await prepare(tx, run, [{ kind: "run-moment" }], { agoMs: 1e12 });
    const effect = { kind: "wake-moved", step, wakeAt: tx.now - A_MINUTE_MS } as const;
    const after = evolve(before, effect, () => 0);
    await tx.write([{ ...record, after, effects: [effect] }]);
  });
}

export function describeDue(opened: Opened): void {
  test("a partition where nothing has come due has a next moment", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition });
    const look = await store.dueRows([partition], 10);
    const [row] = await store.transact({ name: "look" }, (tx) => tx.lockRuns([run.ref], true));
    expect(look.due).toEqual([]);
    expect(look.nextAt).toBeGreaterThan(look.now);
    expect(row?.run.state).toMatchObject({ kind: "RUNNING" });
    expect(look.nextAt).toBeLessThan(look.now + 5 * A_MINUTE_MS + 1);
  });

  test("an empty partition has no next moment", async () => {
    const { store } = opened();
    expect(await store.dueRows([ownPartition()], 10)).toMatchObject({ due: [], nextAt: null });
    expect(await store.dueRows([], 10)).toMatchObject({ due: [], nextAt: null });
  });

  test("each kind of row comes due: ready, lease, backoff, run", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const quick = { timeouts: { pickupMs: 1_000 } };
    const over = await schedule(store, workflow({ a: quick }, { timeoutMs: 30_000 }), {
      ...{ ...past, partition },
    });
    const run = await schedule(store, workflow({ b: {}, c: {} }), { ...past, partition });
    const [b, c] = await claim(store, run);
    if (!b || !c) throw new Error("two steps should be ready");
    await moveWake(store, run, b.ready.step);
    await pass(store, run, report(c, failure), past);
    const { due, now } = await store.dueRows([partition], 10);
    expect(due.map(({ kind, step }) => `${kind} ${step}`).sort()).toEqual([
      "backoff 1",
      "lease 0",
      "ready 0",
      "run -1",
    ]);
    for (const row of due) {
      const { ref } = row.kind === "lease" || row.kind === "backoff" ? run : over;
      expect(row).toMatchObject(ref);
      expect(row.wakeAt).toBeLessThanOrEqual(now);
      if (row.kind === "lease" || row.kind === "ready") expect(row.fence).toBe(1);
    }
  });

  test("the earliest come first, and no more than asked for", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const made: Scheduled[] = [];
    for (const agoMs of [700_000, 900_000, 600_000, 800_000])
      made.push(await schedule(store, workflow({ a: {} }), { partition, agoMs }));
    const { due } = await store.dueRows([partition], 3);
    const order = [1, 3, 0].map((at) => made[at]?.ref.runId);
    expect(due.map(({ runId }) => runId)).toEqual(order);
  });

  test("what is due in one partition is not seen from another", async () => {
    const { store } = opened();
    const [one, two] = [ownPartition(), ownPartition()];
    const agoMs = 400_000;
    await schedule(store, workflow({ a: {} }), { partition: one, agoMs });
    await schedule(store, workflow({ a: {} }), { partition: two, agoMs });
    const look = async (of: number[]) =>
      (await store.dueRows(of, 10)).due.map(({ partition }) => partition).sort((a, b) => a - b);
    expect(await look([two])).toEqual([two]);
    expect(await look([one, two])).toEqual([one, two]);
  });

  test("a moment that was moved comes due at its new place", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
    const polled = { kind: "ready-moment", step: 0, fence: 1, polled: true } as const;
    await pass(store, run, polled);
    const look = await store.dueRows([partition], 10);
    expect(look.due).toEqual([]);
    expect(look.nextAt).toBeGreaterThan(look.now + 200_000);
  });

  test("what has ended is due no more", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
    await pass(store, run, report(await claimOne(store, run), success));
    expect(await store.dueRows([partition], 10)).toMatchObject({ due: [], nextAt: null });
  });

  test("a ready row knows whether its lane is polled", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await schedule(store, workflow({ a: {} }), { partition, agoMs: 400_000 });
    expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: false }]);
    const node = newUuid();
    await store.markPolled(node, run.lanes);
    await store.markPolled(node, run.lanes);
    expect((await store.dueRows([partition], 10)).due).toMatchObject([{ polled: true }]);
  });
}
