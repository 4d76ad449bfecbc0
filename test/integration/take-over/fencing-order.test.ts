/**
 * Fencing when locks fail: two take-overs of one partition at once, and a hand-back with a
 * batch whose outcome is unknown. Found by spec/partition.pml.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemRandom } from "../../../server/clock.ts";
import type { PartitionSession, TakenPartition } from "../../../server/store/partition-session.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import type { Store } from "../../../server/store/store.ts";
import { randomUuid } from "../../../server/uuid.ts";
import { quietLog } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { settledOf } from "../control-plane/fixture.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

let database: TestDatabase;
let hand: Hand;
let store: Store;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  store = createPostgresStore({ connectionString: database.connectionString, log: quietLog });
});
afterAll(async () => {
  await store?.close();
  await hand?.close();
  await database?.drop();
});

const join = (): Promise<PartitionSession> =>
  store.partitions.join({ node: randomUuid(systemRandom), address: "127.0.0.1:1" });

async function writersLeft(...sessions: readonly PartitionSession[]): Promise<readonly string[]> {
  const rows = await hand.query<{ node: string }>(
    "select distinct node from drover.writer where node = any ($1::uuid[])",
    [sessions.map(({ node }) => node)],
  );
  return rows.map(({ node }) => node);
}

async function ownerOf(partition: number): Promise<string | null> {
  const [row] = await hand.query<{ node: string | null }>(
    "select node from drover.partition_lease where partition = $1",
    [partition],
  );
  return row?.node ?? null;
}

/** A batch of the session's that waits before its COMMIT until it may be sent. */
async function batchOf({ node }: PartitionSession, taken: readonly TakenPartition[], writer = 0) {
  const release = Promise.withResolvers<void>();
  const holds = Promise.withResolvers<readonly TakenPartition[]>();
  const over = store.transact({ name: "advance" }, async (tx) => {
    holds.resolve(await tx.holdWriter({ node, number: writer }, taken));
    await release.promise;
  });
  expect(await holds.promise).toEqual(taken);
  return { over, commit: release.resolve };
}

test("of two take-overs at once the second fences the first", async () => {
  const [former, one, two] = await Promise.all([join(), join(), join()]);
  const partition = 7;
  const batch = await batchOf(former, await former.takeOver([partition]));
  // Both have held the lock: the session of the first has ended, which it has not learned.
  const first = one.takeOver([partition]);
  await hand.untilWaiting("delete from drover.writer");
  const second = two.takeOver([partition]);
  await hand.untilWaiting("partition_lease", 2);
  batch.commit();
  const epochs = (await Promise.all([first, second])).flat().map(({ epoch }) => epoch);
  await batch.over;
  expect(epochs).toEqual([2, 3]);
  expect(await ownerOf(partition)).toBe(two.node);
  expect(await writersLeft(former, one, two)).toEqual([two.node]);
  await Promise.all([former.leave(), one.leave(), two.leave()]);
});

test("an epoch begins when the one before is over, however long the take-over waited", async () => {
  const [former, next] = await Promise.all([join(), join()]);
  const partition = 9;
  const taken = await former.takeOver([partition]);
  const early = await batchOf(former, taken);
  const takeOver = next.takeOver([partition]);
  await hand.untilWaiting("delete from drover.writer");
  // It begins after the transaction of the take-over, and writes in the epoch before.
  const late = await batchOf(former, taken, 1);
  const [now] = await hand.query<{ at: Date }>("select clock_timestamp() as at");
  late.commit();
  early.commit();
  await Promise.all([early.over, late.over, takeOver]);
  const [lease] = await hand.query<{ epoch: string; isLater: boolean; isNoted: boolean }>(
    `select l.epoch, l.taken_at > $2 as "isLater", h.taken_at >= date_trunc('milliseconds', $2::timestamptz) as "isNoted"
     from drover.partition_lease as l join drover.partition_history as h using (partition, epoch)
     where l.partition = $1`,
    [partition, now?.at],
  );
  expect(lease).toEqual({ epoch: "2", isLater: true, isNoted: true });
  await Promise.all([former.leave(), next.leave()]);
});

test("a hand-back waits for a batch that may still commit", async () => {
  const session = await join();
  const partition = 8;
  const batch = await batchOf(session, await session.takeOver([partition]));
  const handBack = session.unlock([partition]);
  const isHandedBack = settledOf(handBack);
  await hand.untilWaiting("for no key update");
  expect(isHandedBack()).toBe(false);
  expect(await ownerOf(partition)).toBe(session.node);
  batch.commit();
  await Promise.all([batch.over, handBack]);
  expect(await ownerOf(partition)).toBeNull();
  await session.leave();
});
