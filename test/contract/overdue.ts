/** What is overdue, and which servers could act: the same in every query. */
import { expect, test, vi } from "vitest";
import { noneOverdue } from "../../server/store/overdue.ts";
import { workflow } from "../support/core-world.ts";
import { claimOne, newUuid, type Opened, ownPartition, schedule } from "./fixture.ts";

const past = { agoMs: 600_000 };

export function describeOverdue(opened: Opened): void {
  test("nothing is overdue where nothing has come due", async () => {
    const { store } = opened();
    const partition = ownPartition();
    await schedule(store, workflow({ a: {} }), { partition });
    const found = await store.overdue([partition], 1_000);
    expect(found).toMatchObject({ rows: noneOverdue(), oldestAt: null });
  });

  test("what is overdue is counted by its kind, with the earliest due time", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const late = workflow({ a: { timeouts: { pickupMs: 1_000 } }, b: {} }, { timeoutMs: 30_000 });
    await schedule(store, late, { ...past, partition });
    const { now, rows, oldestAt } = await store.overdue([partition], 1_000);
    expect(rows).toEqual({ ...noneOverdue(), ready: 2, run: 1 });
    const [due] = (await store.dueRows([partition], 1)).due;
    expect(oldestAt).toBe(due?.wakeAt);
    const allowedMs = now - (oldestAt ?? now) + 60_000;
    expect(await store.overdue([partition], allowedMs)).toMatchObject({ oldestAt: null });
    // What has come before is left to the earlier queries.
    expect(await store.overdue([partition], 1_000, oldestAt)).toMatchObject({ oldestAt });
    expect(await store.overdue([partition], 1_000, now - 1_000)).toMatchObject({ oldestAt: null });
  });

  test("a lease is overdue whose session has been silent for longer than it allows", async () => {
    const { store, elapse } = opened();
    const partition = ownPartition();
    const definition = workflow({ a: { timeouts: { heartbeatMs: 1 } } });
    await claimOne(store, await schedule(store, definition, { partition }));
    const seen = await vi.waitFor(async () => {
      await elapse(1);
      const found = await store.overdue([partition], 1);
      expect(found.rows).toEqual({ ...noneOverdue(), lease: 1 });
      return found;
    });
    expect(seen.oldestAt).toBeLessThanOrEqual(seen.now);
    expect(await store.overdue([partition], 600_000)).toMatchObject({ oldestAt: null });
    const later = (seen.oldestAt ?? 0) + 1;
    expect(await store.overdue([partition], 1, later)).toMatchObject({ oldestAt: null });
  });

  test("no more than ten of a kind are counted in a partition", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const steps = Object.fromEntries(
      Array.from({ length: 12 }, (_, no) => [`s${no}`, { timeouts: { pickupMs: 1_000 } }]),
    );
    await schedule(store, workflow(steps), { ...past, partition });
    expect((await store.overdue([partition], 1_000)).rows.ready).toBe(10);
  });

  test("a partition has an owner from the take-over on, until it is handed back", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const unowned = async () => (await store.overdue([partition], 1_000)).unowned;
    const one = [{ region: "default", partitions: 1 }];
    await schedule(store, workflow({ a: {} }), { partition });
    expect(await unowned()).toEqual(one);
    const session = await store.partitions.join({ node: newUuid(), address: "127.0.0.1:1" });
    await session.tryLock([partition]);
    await session.takeOver([partition]);
    await session.poll();
    expect(await unowned()).toEqual([]);
    await session.unlock([partition]);
    expect(await unowned()).toEqual(one);
    await session.leave();
  });
}
