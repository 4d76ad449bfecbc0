// The direct session of a server process: it elects the owners of partitions and carries
// notifications, any of which may get lost. And what servers store of the agents that call them.
import type {
  NodeInfo,
  PartitionSession,
  Partitions,
} from "../../server/store/partition-session.ts";
import type { EngineStore } from "../../server/store/store.ts";
import type { StoreWire } from "./store-faults.ts";

type Call = <T>(name: string, work: () => Promise<T>) => Promise<T>;

export function faultyPartitions(wire: StoreWire, call: Call): Partitions {
  return Object.freeze({
    join: async (node: NodeInfo) => {
      const session = await call("join", () => wire.store.partitions.join(node));
      return faultySession(wire, session, call);
    },
  });
}

function faultySession(wire: StoreWire, session: PartitionSession, call: Call): PartitionSession {
  const { process, faults, witness } = wire;
  return Object.freeze({
    node: session.node,
    poll: () => call("poll", () => session.poll()),
    tryLock: (partitions) => call("tryLock", () => session.tryLock(partitions)),
    takeOver: (partitions) =>
      call("takeOver", async () => {
        const taken = await session.takeOver(partitions);
        wire.relieve(witness.took(process.name, session.node, taken));
        return taken;
      }),
    unlock: (partitions) =>
      call("unlock", async () => {
        await session.unlock(partitions);
        witness.gave(process.name, session.node, partitions);
      }),
    onLanes: (listener) =>
      session.onLanes((lanes) => {
        if (faults.strikes("notification lost")) return;
        process.post(process.chance.between(0, 3), () => listener(lanes));
      }),
    announceLanes: (lanes) => call("announceLanes", () => session.announceLanes(lanes)),
    onDueTimes: (listener) =>
      session.onDueTimes((dueAt) => {
        if (faults.strikes("notification lost")) return;
        process.post(process.chance.between(0, 3), () => listener(dueAt));
      }),
    announceDueTime: (dueAt) => call("announceDueTime", () => session.announceDueTime(dueAt)),
    onLost: (listener) => session.onLost((cause) => void process.post(0, () => listener(cause))),
    leave: () => call("leave", () => session.leave()).catch(() => undefined),
  } satisfies PartitionSession);
}

export function faultyAgents(
  store: EngineStore,
  call: Call,
): Pick<EngineStore, "markPolled" | "markAgents" | "countAttempts" | "markSilent"> {
  return {
    markPolled: (...asked) => call("markPolled", () => store.markPolled(...asked)),
    markAgents: (...asked) => call("markAgents", () => store.markAgents(...asked)),
    countAttempts: (counts) => call("countAttempts", () => store.countAttempts(counts)),
    markSilent: (silent) => call("markSilent", () => store.markSilent(silent)),
  };
}
