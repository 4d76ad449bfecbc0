// Sessions that elect the owners of partitions.
//
//   live → lost    it made no call for 3 s: its locks are free, its calls fail, `onLost` is called
//   live → left    it gave everything back
//
// A lock elects and protects nothing. A take-over deletes the writer row of the former owner, so
// that the batches of that process are refused, and increments the epoch. Nothing here has a timer:
// the next call of any session finds that a session is lost.
import type { EpochMs } from "../../core/model/attempt.ts";
import type {
  LiveNode,
  NodeInfo,
  PartitionSession,
  Partitions,
  TakenPartition,
} from "../partition-session.ts";
import { expectHere, type Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

interface PartitionClock {
  /** The time by which the silence of sessions is measured. */
  readonly elapsedMs: () => number;
  /** The ids of all regions. */
  readonly regions: () => readonly number[];
  /** A session without a call for longer is lost, and its node is not live. */
  readonly ownerLostMs: number;
}

interface Session {
  readonly node: string;
  state: "live" | "lost" | "left";
  calledAtMs: number;
  readonly locks: Set<number>;
  readonly info: LiveNode;
  readonly laneListeners: ((lanes: readonly number[]) => void)[];
  readonly dueTimeListeners: ((dueAt: EpochMs) => void)[];
  readonly lossListeners: ((cause: Error) => void)[];
}

interface World extends PartitionClock {
  readonly tables: Tables;
  readonly transactions: Transactions;
  readonly sessions: Map<string, Session>;
}

interface MemoryPartitions extends Partitions {
  /** Nodes whose session is live and has called within `ownerLostMs`. */
  live(): readonly string[];
  close(): void;
}

export function createPartitions(
  tables: Tables,
  transactions: Transactions,
  clock: PartitionClock,
): MemoryPartitions {
  const world: World = { ...clock, tables, transactions, sessions: new Map() };
  return Object.freeze({
    join: (node: NodeInfo) => join(world, node),
    live: () =>
      [...world.sessions.values()]
        .filter(
          ({ state, calledAtMs }) =>
            state === "live" && clock.elapsedMs() - calledAtMs < clock.ownerLostMs,
        )
        .map(({ node }) => node),
    close: () => {
      for (const session of world.sessions.values()) session.state = "left";
      world.sessions.clear();
    },
  });
}

async function join(world: World, who: NodeInfo): Promise<PartitionSession> {
  const { node, regions = null, standby = false } = who;
  if (world.sessions.has(node))
    throw new Error(`node ${node} has joined before: join under a new id`);
  await world.transactions.run(() => world.tables.writer.insert({ node }));
  const session: Session = {
    node,
    state: "live",
    calledAtMs: world.elapsedMs(),
    info: { node, regions, standby },
    locks: new Set(),
    laneListeners: [],
    dueTimeListeners: [],
    lossListeners: [],
  };
  world.sessions.set(node, session);
  return Object.freeze({
    node,
    poll: async () => {
      call(world, session);
      return { held: heldBy(world), liveNodes: liveNodes(world), regions: world.regions() };
    },
    tryLock: async (partitions: readonly number[]) => {
      call(world, session);
      for (const partition of partitions) expectHere(world.tables, partition);
      const held = new Set(heldBy(world));
      const free = partitions.filter((partition) => !held.has(partition));
      for (const partition of free) session.locks.add(partition);
      return free;
    },
    takeOver: async (partitions: readonly number[]) => {
      call(world, session);
      return world.transactions.run(() => takeOver(world, session, partitions));
    },
    unlock: async (partitions: readonly number[]) => {
      call(world, session);
      await giveBack(world, session, partitions);
    },
    onLanes: (listener: (lanes: readonly number[]) => void) => {
      session.laneListeners.push(listener);
    },
    announceLanes: async (lanes: readonly number[]) => {
      call(world, session);
      announce(world, session, lanes);
    },
    onDueTimes: (listener: (dueAt: EpochMs) => void) => {
      session.dueTimeListeners.push(listener);
    },
    announceDueTime: async (dueAt: EpochMs) => {
      call(world, session);
      for (const other of othersOf(world, session))
        for (const listener of other.dueTimeListeners) queueMicrotask(() => listener(dueAt));
    },
    onLost: (listener: (cause: Error) => void) => {
      session.lossListeners.push(listener);
    },
    leave: () => leave(world, session),
  });
}

/**
 * Every call proves that its session lives. First it ends the sessions that have not called for too
 * long.
 */
function call(world: World, session: Session): void {
  const { ownerLostMs } = world;
  const nowMs = world.elapsedMs();
  for (const other of world.sessions.values())
    if (other.state === "live" && nowMs - other.calledAtMs >= ownerLostMs) lose(other, ownerLostMs);
  if (session.state !== "live")
    throw new Error(`the session of ${session.node} is ${session.state}: join under a new id`);
  session.calledAtMs = nowMs;
}

function lose(session: Session, silentMs: number): void {
  session.state = "lost";
  session.locks.clear();
  const cause = new Error(`${session.node} made no call for ${silentMs} ms`);
  for (const listener of session.lossListeners) queueMicrotask(() => listener(cause));
}

function heldBy({ sessions }: World): number[] {
  return [...sessions.values()].flatMap(({ locks }) => [...locks]);
}

function liveNodes({ sessions }: World): LiveNode[] {
  return [...sessions.values()].filter(({ state }) => state === "live").map(({ info }) => info);
}

function takeOver(
  { tables }: World,
  session: Session,
  partitions: readonly number[],
): readonly TakenPartition[] {
  return partitions.map((partition) => {
    if (!session.locks.has(partition))
      throw new Error(`${session.node} takes over partition ${partition} without its lock`);
    const row = tables.partitionLease.get(String(partition));
    const former = row?.node;
    if (former != null && former !== session.node && tables.writer.get(former))
      tables.writer.remove(former);
    const epoch = (row?.epoch ?? 0) + 1;
    tables.partitionLease.put({ partition, node: session.node, epoch });
    return { partition, epoch };
  });
}

async function giveBack(
  { tables, transactions }: World,
  session: Session,
  partitions: readonly number[],
): Promise<void> {
  await transactions.run(() => {
    for (const partition of partitions) {
      const row = tables.partitionLease.get(String(partition));
      if (row?.node !== session.node) continue;
      tables.partitionLease.put({ ...row, node: null });
    }
  });
  for (const partition of partitions) session.locks.delete(partition);
}

function othersOf({ sessions }: World, session: Session): Session[] {
  return [...sessions.values()].filter((other) => other !== session && other.state === "live");
}

function announce(world: World, session: Session, lanes: readonly number[]): void {
  for (const other of othersOf(world, session))
    for (const listener of other.laneListeners) queueMicrotask(() => listener(lanes));
}

async function leave(world: World, session: Session): Promise<void> {
  if (session.state !== "live") return;
  session.state = "left";
  await giveBack(world, session, [...session.locks]);
  await world.transactions.run(() => {
    if (world.tables.writer.get(session.node)) world.tables.writer.remove(session.node);
  });
}

/** Whether the node has not been fenced, and owns the partition in that epoch. */
export function ownsStill(
  tables: Tables,
  node: string,
  { partition, epoch }: TakenPartition,
): boolean {
  const lease = tables.partitionLease.get(String(partition));
  return Boolean(tables.writer.get(node)) && lease?.node === node && lease.epoch === epoch;
}
