/** Idempotency keys: the first run holds the key, and every later caller gets that run. */
import { expect, test } from "vitest";
import type { EngineStore, KeyHolder } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { cancel, hex, insert, newNamespace, newUuid, type Opened, pass, place } from "./fixture.ts";

const A_DAY_MS = 86_400_000;

interface Wish {
  readonly namespaceId: number;
  readonly key?: string;
  readonly keepMs?: number;
}

function reserve(store: EngineStore, wish: Wish): Promise<KeyHolder & { readonly asked: string }> {
  const { namespaceId, key = "order-1", keepMs = A_DAY_MS } = wish;
  const asked = newUuid();
  return store.transact({ name: "reserve" }, async (tx) => {
    const [holder] = await tx.reserveKeys([
      { namespaceId, key, runId: asked, digest: hex(32), keepMs },
    ]);
    if (!holder) throw new Error("no answer to a reservation");
    return { ...holder, asked };
  });
}

export function describeKeys(opened: Opened): void {
  test("a key without a holder belongs to the transaction that names it", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const holder = await reserve(store, { namespaceId });
    expect(holder).toMatchObject({ namespaceId, key: "order-1", mine: true, runId: holder.asked });
  });

  test("a key that is held answers with the run and the digest of its holder", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const first = await reserve(store, { namespaceId });
    const second = await reserve(store, { namespaceId });
    expect(second).toMatchObject({ mine: false, runId: first.runId, digest: first.digest });
  });

  test("one call is answered for each of its keys", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    await reserve(store, { namespaceId, key: "b" });
    const holders = await store.transact({ name: "three keys" }, (tx) =>
      tx.reserveKeys(
        ["c", "b", "a"].map((key) => ({
          namespaceId,
          key,
          runId: newUuid(),
          digest: hex(32),
          keepMs: A_DAY_MS,
        })),
      ),
    );
    const mine = Object.fromEntries(holders.map((holder) => [holder.key, holder.mine]));
    expect(mine).toEqual({ a: true, b: false, c: true });
  });

  test("the same key in two namespaces is two keys", async () => {
    const { store } = opened();
    await reserve(store, { namespaceId: await newNamespace(store) });
    const other = await reserve(store, { namespaceId: await newNamespace(store) });
    expect(other.mine).toBe(true);
  });

  test("of transactions that reserve one key at once one gets it, and all agree on which", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const holders = await Promise.all([1, 2, 3].map(() => reserve(store, { namespaceId })));
    expect(holders.filter(({ mine }) => mine)).toHaveLength(1);
    expect(new Set(holders.map(({ runId }) => runId)).size).toBe(1);
  });

  test("a reservation that is rolled back leaves the key free", async () => {
    const { store } = opened();
    const namespaceId = await newNamespace(store);
    const failed = store.transact({ name: "fails" }, async (tx) => {
      await tx.reserveKeys([
        { namespaceId, key: "order-1", runId: newUuid(), digest: hex(32), keepMs: A_DAY_MS },
      ]);
      throw new Error("changed its mind");
    });
    await expect(failed).rejects.toThrow("changed its mind");
    expect((await reserve(store, { namespaceId })).mine).toBe(true);
  });

  test("an expired key is free again once its run has ended, and not before", async () => {
    const { store, elapse } = opened();
    const placed = await place(store, workflow({ a: {} }));
    const { namespaceId } = placed;
    const run = await store.transact({ name: "schedule" }, async (tx) => {
      const made = newUuid();
      await tx.reserveKeys([{ namespaceId, key: "k", runId: made, digest: hex(32), keepMs: 0 }]);
      return insert(tx, placed, { key: "k", runId: made });
    });
    await elapse(1);
    expect((await reserve(store, { namespaceId, key: "k" })).mine).toBe(false);
    await pass(store, run, cancel(false));
    await elapse(1);
    expect((await reserve(store, { namespaceId, key: "k" })).mine).toBe(true);
  });
}
