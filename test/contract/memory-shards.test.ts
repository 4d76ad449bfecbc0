/** Shards in memory obey the contract; and they refuse what belongs to another shard. */
import { expect, test } from "vitest";
import { createMemoryShards } from "../../server/store/memory/memory-store.ts";
import { workflow } from "../support/core-world.ts";
import { insert, newUuid, place } from "./fixture.ts";
import { describeShards } from "./shards.ts";

const START = 1_767_225_600_000;

const openShards = (count: number) => createMemoryShards({ now: () => START }, count);

async function closeAll({ all }: ReturnType<typeof openShards>): Promise<void> {
  for (const store of all) await store.close();
}

describeShards("memory shards", async () => {
  const shards = openShards(2);
  return { shards, close: () => closeAll(shards) };
});

test("a shard refuses what belongs to another one", async () => {
  const { home, all } = openShards(2);
  const other = all[1] ?? home;
  const placed = await place(home, workflow({ a: {} }));
  const run = await home.transact({ name: "schedule" }, (tx) =>
    insert(tx, placed, { partition: 0 }),
  );
  const refused = "shard 1 was asked about partition 0 of shard 0";
  await expect(
    other.transact({ name: "wrong" }, (tx) => tx.lockRuns([run.ref], true)),
  ).rejects.toThrow(refused);
  await expect(
    other.transact({ name: "wrong" }, (tx) => insert(tx, placed, { partition: 0 })),
  ).rejects.toThrow(refused);
  await expect(other.dueRows([0], 1)).rejects.toThrow(refused);
  await expect(other.overdue([0], 0)).rejects.toThrow(refused);
  const session = await other.partitions.join({ node: newUuid(), address: "here" });
  await expect(session.tryLock([0])).rejects.toThrow(refused);
});

test("a shard that is not the first one refuses to change what all share", async () => {
  const { home, all } = openShards(2);
  const other = all[1] ?? home;
  const { namespaceId } = await place(home, workflow({ a: {} }));
  const refused = "shard 1 was to change what all shards share";
  const queue = { namespaceId, queue: "q" };
  await expect(other.lanes([{ ...queue, task: "new" }])).rejects.toThrow(refused);
  await expect(other.createNamespace("another")).rejects.toThrow(refused);
  await expect(other.queues.pause(queue, "")).rejects.toThrow(refused);
  await expect(other.namespaces.setRetention(namespaceId, 1)).rejects.toThrow(refused);
});
