/** Hand-overs of partitions: which node had which, with times, and why it was free to be taken. */

import { expect, test, vi } from "vitest";
import type { HandOverPage, HandOverRecord } from "../../../server/store/operators.ts";
import { HAND_OVERS_MAX, type PartitionSession } from "../../../server/store/partition-session.ts";
import type { Store } from "../../../server/store/store.ts";
import { newUuid, type Opened } from "../fixture.ts";

/** Of no other suite: partitions of the contract are counted up from 0. */
let partitions = 240;
const nextPartition = (): number => partitions++;

export function describeHandOvers(opened: Opened<Store>): void {
  const join = (address: string): Promise<PartitionSession> =>
    opened().store.partitions.join({ node: newUuid(), address });
  const handOvers = (page: Partial<HandOverPage> = {}): Promise<readonly HandOverRecord[]> =>
    opened().store.operators.handOvers({
      partition: null,
      after: null,
      limit: 9_999,
      ...page,
    });

  async function take(session: PartitionSession, partition: number): Promise<void> {
    await session.tryLock([partition]);
    await session.takeOver([partition]);
  }

  test("a partition lists its owners with their times, and how each got it, newest first", async () => {
    const one = await join("here:1");
    const two = await join("there:2");
    const partition = nextPartition();
    expect(await handOvers({ partition })).toEqual([]);
    await take(one, partition);
    const [first] = await handOvers({ partition });
    expect(first).toMatchObject({
      partition,
      epoch: 1,
      node: one.node,
      address: "here:1",
      why: "first",
      leftAt: null,
    });
    await one.unlock([partition]);
    const [given] = await handOvers({ partition });
    expect(given?.leftAt).toBeGreaterThanOrEqual(first?.takenAt ?? Number.NaN);
    await opened().elapse(5);
    await take(two, partition);
    expect(await handOvers({ partition })).toMatchObject([
      { epoch: 2, node: two.node, address: "there:2", why: "given-back", leftAt: null },
      given ?? {},
    ]);
    await one.leave();
    await two.leave();
  });

  test("one that was taken from a lost owner is listed so, with the time", async () => {
    const gone = await join("here:1");
    const next = await join("there:2");
    const partition = nextPartition();
    await take(gone, partition);
    await vi.waitFor(
      async () => {
        await opened().elapse(500);
        expect((await next.poll()).held).not.toContain(partition);
      },
      { timeout: 15_000, interval: 100 },
    );
    await take(next, partition);
    const [second, first] = await handOvers({ partition });
    expect(second).toMatchObject({ epoch: 2, why: "lost", leftAt: null });
    expect(first).toMatchObject({ epoch: 1, node: gone.node });
    expect(Math.abs((first?.leftAt ?? 0) - (second?.takenAt ?? 0))).toBeLessThanOrEqual(1);
    await next.leave();
  });

  test("of each partition the last ones are stored", async () => {
    const session = await join("here:1");
    const partition = nextPartition();
    const other = nextPartition();
    await take(session, other);
    await session.tryLock([partition]);
    for (let n = 0; n < HAND_OVERS_MAX + 3; n++) await session.takeOver([partition]);
    const stored = await handOvers({ partition });
    expect(stored.map(({ epoch }) => epoch).sort((a, b) => a - b)).toEqual(
      Array.from({ length: HAND_OVERS_MAX }, (_, n) => n + 4),
    );
    expect(await handOvers({ partition: other })).toHaveLength(1);
    await session.leave();
  });

  test("hand-overs of all partitions come newest first, in pages", async () => {
    const session = await join("here:1");
    const taken = [nextPartition(), nextPartition()];
    await session.tryLock(taken);
    await opened().elapse(5);
    await session.takeOver(taken);
    const all = await handOvers();
    expect(all.slice(0, 2).map(({ partition }) => partition)).toEqual(taken);
    const pages: HandOverRecord[] = [];
    for (let after: HandOverPage["after"] = null; ; ) {
      const [next] = await handOvers({ after, limit: 1 });
      if (!next) break;
      pages.push(next);
      after = next;
    }
    expect(pages).toEqual(all);
    await session.leave();
  });
}
