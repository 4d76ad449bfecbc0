/** Permits of concurrency keys: read and written by the transaction that has locked their key. */
import { expect, test } from "vitest";
import type { Concurrency, Permit } from "../../server/core/model/permits.ts";
import type { ConcurrencyKey, EngineStore, PermitChange } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { hex, newNamespace, newRunId, type Opened, schedule } from "./fixture.ts";

const AT = 1_767_225_600_000;

async function newKey(store: EngineStore): Promise<ConcurrencyKey> {
  return { namespaceId: await newNamespace(store), key: `key-${hex(4)}` };
}

function permitOf(more: Partial<Permit> = {}): Permit {
  const runId = newRunId(AT, 255);
  return { runId, limit: 3, priority: 5, since: AT, holds: true, leaving: false, ...more };
}

export function describePermits(opened: Opened): void {
  const change = (of: ConcurrencyKey, permit: Permit): PermitChange => ({
    ...of,
    runId: permit.runId,
    permit,
  });
  const gone = (of: ConcurrencyKey, { runId }: Permit): PermitChange => ({
    ...of,
    runId,
    permit: null,
  });
  const write = (of: ConcurrencyKey, ...changes: readonly PermitChange[]): Promise<void> =>
    opened().store.transact({ name: "write" }, async (tx) => {
      await tx.lockPermits([of]);
      await tx.writePermits(changes);
    });
  const permitsOf = (of: ConcurrencyKey): Promise<readonly Permit[]> =>
    opened().store.transact({ name: "read" }, async (tx) => {
      const [found] = await tx.lockPermits([of]);
      return [...(found?.permits ?? [])].sort((a, b) => (a.runId < b.runId ? -1 : 1));
    });

  test("a key without holders has no permits", async () => {
    expect(await permitsOf(await newKey(opened().store))).toEqual([]);
  });

  test("permits are read as they were written, those of each key apart", async () => {
    const one = await newKey(opened().store);
    const two = await newKey(opened().store);
    const a = permitOf();
    const b = permitOf({ holds: false, priority: 1, limit: 7, since: AT + 1 });
    await write(one, change(one, a), change(one, b));
    expect(await permitsOf(one)).toEqual([a, b]);
    expect(await permitsOf(two)).toEqual([]);
    expect(await permitsOf({ ...two, key: one.key })).toEqual([]);
  });

  test("a permit is given, released, and gone", async () => {
    const of = await newKey(opened().store);
    const a = permitOf();
    const b = permitOf({ holds: false });
    await write(of, change(of, a), change(of, b));
    const [leaving, holding] = [
      { ...a, leaving: true },
      { ...b, holds: true },
    ];
    await write(of, change(of, leaving), change(of, holding));
    expect(await permitsOf(of)).toEqual([leaving, holding]);
    await write(of, gone(of, a));
    expect(await permitsOf(of)).toEqual([holding]);
    await expect(write(of, gone(of, a))).rejects.toThrow();
  });

  test("a batch that fails leaves the permits as they were", async () => {
    const of = await newKey(opened().store);
    const failing = opened().store.transact({ name: "failing" }, async (tx) => {
      await tx.lockPermits([of]);
      await tx.writePermits([change(of, permitOf())]);
      throw new Error("the connection is gone");
    });
    await expect(failing).rejects.toThrow("the connection is gone");
    expect(await permitsOf(of)).toEqual([]);
  });

  test("the concurrency key of a run is known for as long as the run is", async () => {
    const { store } = opened();
    const concurrency: Concurrency = { key: "customer-17", limit: 4, policy: "cancel-oldest" };
    const keyed = await schedule(store, workflow({ a: { when: "false" } }), { concurrency });
    const plain = await schedule(store, workflow({ a: {} }));
    const ids = [keyed.ref.runId, plain.ref.runId];
    const found = await store.transact({ name: "read" }, (tx) => tx.concurrencyOf(ids));
    expect(found).toEqual(new Map([[keyed.ref.runId, concurrency]]));
    const by = { runId: keyed.ref.runId };
    const record = await store.reads.findRun(keyed.namespaceId, by);
    expect(record?.concurrency).toEqual(concurrency);
    const other = await store.reads.findRun(plain.namespaceId, { runId: plain.ref.runId });
    expect(other?.concurrency).toBeNull();
  });

  test("a reservation that is released is free again", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const reserve = (runId: string, released: boolean) =>
      store.transact({ name: "reserve" }, async (tx) => {
        const digest = "11".repeat(32);
        const wanted = { namespaceId, key: "trip", runId, digest, keepMs: 60_000 };
        const [holder] = await tx.reserveKeys([wanted]);
        if (holder && released) await tx.releaseKeys([holder]);
        return holder;
      });
    const first = newRunId(AT, 255);
    const second = newRunId(AT, 255);
    expect(await reserve(first, true)).toMatchObject({ runId: first, mine: true });
    expect(await reserve(second, false)).toMatchObject({ runId: second, mine: true });
    expect(await reserve(first, false)).toMatchObject({ runId: second, mine: false });
  });
}
