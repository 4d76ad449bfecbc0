/**
 * Partitions: a lock elects the owner, and a take-over fences the batches of the owner before.
 * Sessions are lost by silence alone, so these tests wait for a store without a clock to turn.
 */
import { expect, test, vi } from "vitest";
import { partitionsOf } from "../../server/store/partition.ts";
import type { PartitionSession, TakenPartition } from "../../server/store/partition-session.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { cancel, newUuid, type Opened, pass, schedule } from "./fixture.ts";

const join = (store: EngineStore): Promise<PartitionSession> =>
  store.partitions.join({ node: newUuid(), address: "127.0.0.1:1" });

/** The partitions that the session's node may act on, of those that it believes to own. */
function ownedOf(
  store: EngineStore,
  { node }: Pick<PartitionSession, "node">,
  taken: readonly TakenPartition[],
  number = 0,
): Promise<readonly TakenPartition[]> {
  return store.transact({ name: "batch" }, (tx) => tx.holdWriter({ node, number }, taken));
}

let partitions = 0;
const nextPartition = (): number => partitions++;

export function describePartitions(opened: Opened): void {
  /** Lets a session fall silent, seen from another one that calls. */
  async function silent(partition: number, watcher: PartitionSession): Promise<void> {
    await vi.waitFor(
      async () => {
        await opened().elapse(500);
        expect((await watcher.poll()).held).not.toContain(partition);
      },
      { timeout: 15_000, interval: 100 },
    );
  }

  test("a free partition is locked by one session alone, and all see that it is held", async () => {
    const { store } = opened();
    const [one, two] = await Promise.all([join(store), join(store)]);
    const a = nextPartition();
    const b = nextPartition();
    expect(await one.tryLock([a])).toEqual([a]);
    expect(await two.tryLock([a, b])).toEqual([b]);
    const { held } = await one.poll();
    expect(held).toEqual(expect.arrayContaining([a, b]));
    expect((await two.poll()).held).toEqual(expect.arrayContaining([a, b]));
    await Promise.all([one.leave(), two.leave()]);
  });

  test("of two sessions that want one partition at once one gets it", async () => {
    const { store } = opened();
    const sessions = await Promise.all([join(store), join(store)]);
    const partition = nextPartition();
    const got = await Promise.all(sessions.map((session) => session.tryLock([partition])));
    expect(got.flat()).toEqual([partition]);
    await Promise.all(sessions.map((session) => session.leave()));
  });

  test("nodes that live are seen by each other, in the order in which they joined, until they leave", async () => {
    const { store } = opened();
    const one = await join(store);
    const two = await store.partitions.join({
      node: newUuid(),
      address: "127.0.0.1:2",
      regions: [0, 3],
      standby: true,
    });
    const first = { node: one.node, regions: null, standby: false };
    const second = { node: two.node, regions: [0, 3], standby: true };
    const ours = async () =>
      (await one.poll()).liveNodes.filter(({ node }) => [one.node, two.node].includes(node));
    expect(await ours()).toEqual([first, second]);
    await two.leave();
    expect(await ours()).toEqual([first]);
    await one.leave();
  });

  test("a node whose session is lost is not seen to live, however short ago it was", async () => {
    const { store } = opened();
    const [frozen, watcher] = await Promise.all([join(store), join(store)]);
    const partition = nextPartition();
    await frozen.tryLock([partition]);
    await silent(partition, watcher);
    const { liveNodes } = await watcher.poll();
    expect(liveNodes.map(({ node }) => node)).not.toContain(frozen.node);
    await watcher.leave();
  });

  test("a region comes with its first namespace, and with partitions that can be owned", async () => {
    const { store } = opened();
    const [name, region] = [`ns-${newUuid()}`, `region-${newUuid()}`];
    const { region: id } = await store.createNamespace(name, region);
    expect((await store.createNamespace(`${name}-2`, region)).region).toBe(id);
    const session = await join(store);
    expect((await session.poll()).regions).toEqual(expect.arrayContaining([0, id]));
    const mine = partitionsOf(id).slice(0, 3);
    expect(await session.tryLock(mine)).toEqual(mine);
    expect((await session.takeOver(mine)).map(({ epoch }) => epoch)).toEqual([1, 1, 1]);
    await session.leave();
  });

  test("a region is in use while a run of it is open, and a run knows whether it is watched", async () => {
    const { store } = opened();
    const region = `r-${newUuid().slice(-6)}`;
    const { id: namespaceId, region: id } = await store.createNamespace(`in-${region}`, region);
    const [partition = 0] = partitionsOf(id);
    const unowned = async () => (await store.overdue(partitionsOf(id), 1_000)).unowned;
    expect(await unowned()).toEqual([]);
    const run = await schedule(store, workflow({ a: {} }), { namespaceId, partition });
    const unwatched = async () => (await store.reads.runLiveness(run.ref.runId)).unwatched;
    expect(await unowned()).toEqual([{ region, partitions: 256 }]);
    expect(await unwatched()).toEqual({ region, whole: true });
    const session = await join(store);
    await session.tryLock([partition + 1]);
    await session.takeOver([partition + 1]);
    await session.poll();
    expect(await unwatched()).toEqual({ region, whole: false });
    await session.tryLock([partition]);
    await session.takeOver([partition]);
    await session.poll();
    expect(await unwatched()).toBeNull();
    expect(await unowned()).toEqual([{ region, partitions: 254 }]);
    await pass(store, run, cancel(false));
    expect(await unowned()).toEqual([]);
    await session.leave();
  });

  test("a partition that was given back is free, and its next owner fences no other", async () => {
    const { store } = opened();
    const [one, two] = await Promise.all([join(store), join(store)]);
    const partition = nextPartition();
    const other = nextPartition();
    await one.tryLock([partition]);
    const [first] = await one.takeOver([partition]);
    await one.unlock([partition]);
    expect(await two.tryLock([partition])).toEqual([partition]);
    const [second] = await two.takeOver([partition]);
    expect(second?.epoch).toBe((first?.epoch ?? 0) + 1);
    await one.tryLock([other]);
    const stillOwned = await one.takeOver([other]);
    expect(await ownedOf(store, one, stillOwned)).toEqual(stillOwned);
    await Promise.all([one.leave(), two.leave()]);
  });

  test("every take-over raises the epoch of each partition by one", async () => {
    const { store } = opened();
    const session = await join(store);
    const a = nextPartition();
    const b = nextPartition();
    await session.tryLock([a, b]);
    const first = await session.takeOver([a]);
    const second = await session.takeOver([a, b]);
    const epochs = new Map(second.map(({ partition, epoch }) => [partition, epoch]));
    expect(epochs.get(a)).toBe((first[0]?.epoch ?? 0) + 1);
    expect(epochs.get(b)).toBe(first[0]?.epoch);
    expect(await ownedOf(store, session, second)).toHaveLength(2);
    await session.leave();
  });

  test("a batch acts on what its node owns in that epoch, and on nothing else", async () => {
    const { store } = opened();
    const [one, two] = await Promise.all([join(store), join(store)]);
    const a = nextPartition();
    const b = nextPartition();
    const c = nextPartition();
    await Promise.all([one.tryLock([a, b]), two.tryLock([c])]);
    const old = await one.takeOver([a]);
    const mine = await one.takeOver([a, b]);
    const theirs = await two.takeOver([c]);
    const never = { partition: nextPartition(), epoch: 0 };
    const all = [...old, ...mine, ...theirs, never];
    const held = await ownedOf(store, one, all);
    expect(held).toHaveLength(2);
    expect(held).toEqual(expect.arrayContaining([...mine]));
    expect(await ownedOf(store, two, all)).toEqual(theirs);
    expect(await ownedOf(store, one, [])).toEqual([]);
    await one.unlock([a]);
    expect((await ownedOf(store, one, all)).map(({ partition }) => partition)).toEqual([b]);
    await Promise.all([one.leave(), two.leave()]);
  });

  test("what is recorded beside a pass is recorded by the owner of the run's partition alone", async () => {
    const { store } = opened();
    const { ref: run } = await schedule(store, workflow({ a: {} }));
    const [one, two] = await Promise.all([join(store), join(store)]);
    const epochOf = async (session: PartitionSession): Promise<number> => {
      expect(await session.tryLock([run.partition])).toEqual([run.partition]);
      const [taken] = await session.takeOver([run.partition]);
      return taken?.epoch ?? 0;
    };
    const record = (n: number, { node }: PartitionSession, epoch: number) => {
      const about = { step: null, fence: 0, rule: "failing", n } as const;
      const content = { saw: "it fails", did: "tries it again later", dueAt: 0, actedAt: 0 };
      return store.recordIntervention(run, { ...about, ...content }, { node, epoch });
    };
    const first = await epochOf(one);
    await record(1, one, first);
    await one.unlock([run.partition]);
    const second = await epochOf(two);
    await record(2, one, first);
    await record(3, two, first);
    await record(4, two, second);
    const wanted = { attempts: false, interventions: true, escalations: false };
    const detail = await store.reads.runDetail(run.runId, wanted);
    expect(detail?.interventions.map(({ n }) => n)).toEqual([1, 4]);
    await Promise.all([one.leave(), two.leave()]);
  });

  test("a session that leaves gives back its locks and its batches are refused", async () => {
    const { store } = opened();
    const [one, two] = await Promise.all([join(store), join(store)]);
    const partition = nextPartition();
    await one.tryLock([partition]);
    const taken = await one.takeOver([partition]);
    await one.leave();
    await one.leave();
    expect(await ownedOf(store, one, taken)).toEqual([]);
    expect(await two.tryLock([partition])).toEqual([partition]);
    await two.leave();
  });

  test("a process that never joined writes nothing", async () => {
    const { store } = opened();
    const session = await join(store);
    const partition = nextPartition();
    await session.tryLock([partition]);
    const taken = await session.takeOver([partition]);
    expect(await ownedOf(store, { node: newUuid() }, taken)).toEqual([]);
    await session.leave();
  });

  test("each writer number of a process that has joined may write", async () => {
    const { store } = opened();
    const session = await join(store);
    const partition = nextPartition();
    await session.tryLock([partition]);
    const taken = await session.takeOver([partition]);
    expect(await ownedOf(store, session, taken, 0)).toEqual(taken);
    expect(await ownedOf(store, session, taken, 1)).toEqual(taken);
    await session.leave();
  });

  test("a session that falls silent is lost; a take-over fences its batches, and waits for one", async () => {
    const { store } = opened();
    const [frozen, watcher] = await Promise.all([join(store), join(store)]);
    const partition = nextPartition();
    const lost: Error[] = [];
    frozen.onLost((cause) => lost.push(cause));
    await frozen.tryLock([partition]);
    const before = await frozen.takeOver([partition]);
    await silent(partition, watcher);
    expect(await ownedOf(store, frozen, before)).toEqual(before);
    expect(await watcher.tryLock([partition])).toEqual([partition]);

    const events: string[] = [];
    const mayCommit = Promise.withResolvers<void>();
    const holds = Promise.withResolvers<readonly TakenPartition[]>();
    const batch = store.transact({ name: "last batch" }, async (tx) => {
      holds.resolve(await tx.holdWriter({ node: frozen.node, number: 0 }, before));
      await mayCommit.promise;
      events.push("batch ends");
    });
    expect(await holds.promise).toEqual(before);
    const takeOver = watcher.takeOver([partition]).then((taken) => {
      events.push("taken over");
      return taken;
    });
    mayCommit.resolve();
    const [[taken]] = await Promise.all([takeOver, batch]);

    expect(events).toEqual(["batch ends", "taken over"]);
    const [former] = before;
    const now = { partition, epoch: (former?.epoch ?? 0) + 1 };
    expect(taken).toEqual(now);
    expect(await ownedOf(store, frozen, [...before, now])).toEqual([]);
    expect(await ownedOf(store, watcher, [...before, now])).toEqual([now]);
    await vi.waitFor(() => expect(lost).toHaveLength(1));
    await expect(frozen.poll()).rejects.toThrow();
    await watcher.leave();
  });

  test("a due time that one session announces is received by the others", async () => {
    const { store } = opened();
    const [one, two] = await Promise.all([join(store), join(store)]);
    const received: number[] = [];
    two.onDueTimes((dueAt) => received.push(dueAt));
    await one.announceDueTime(1_790_000_000_123.5);
    await vi.waitFor(() => expect(received).toEqual([1_790_000_000_123.5]));
    await Promise.all([one.leave(), two.leave()]);
  });

  test("lanes that one session announces are received by the others", async () => {
    const { store } = opened();
    const [one, two] = await Promise.all([join(store), join(store)]);
    const received = new Set<number>();
    two.onLanes((lanes) => {
      for (const lane of lanes) received.add(lane);
    });
    await one.announceLanes([3, 5]);
    await vi.waitFor(() => expect([...received].sort()).toEqual([3, 5]));
    await Promise.all([one.leave(), two.leave()]);
  });
}
