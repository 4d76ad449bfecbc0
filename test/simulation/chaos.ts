// Faults of whole processes and of the store. Each kind has its own frequency in each seed, and
// every process that stops is started again, at the latest at the heal.

import type { MemoryStore } from "../../server/store/memory/memory-store.ts";
import type { Shards } from "../../server/store/shards.ts";
import type { Chance } from "../../simulator/chance.ts";
import type { VirtualProcess } from "../../simulator/virtual-process.ts";
import { type AgentShape, type Session, startAgent } from "./agent.ts";
import { jumpClock } from "./database-clock.ts";
import type { FaultKind } from "./faults.ts";
import { lostTail } from "./lost-tail.ts";
import type { ServerProcess } from "./server-process.ts";
import type { StoreWitness } from "./store-witness.ts";
import type { World } from "./world.ts";

export interface Chaos {
  /** By the number of a shard. */
  isStoreUp(shard: number): boolean;
  start(world: World, shapes: readonly AgentShape[]): void;
  /** Faults that strike the servers of a world in the middle of an action. */
  strikes(world: () => World): Strikes;
  /** All processes are back and the store answers. */
  heal(): void;
}

export interface Strikes {
  /** A server is suspended for a while, whatever it was about to do. */
  readonly freeze: (server: VirtualProcess) => void;
  /** The same; it resumes just after another server has taken over its partitions. */
  readonly freezeUntilRelieved: (server: VirtualProcess) => void;
  /** Another server has taken over the partitions of these servers. */
  readonly relieve: (servers: readonly string[]) => void;
  /** A server ends as at SIGTERM, whatever it was about to do. */
  readonly stop: (server: string) => void;
}

/** On average between two of a kind, where the seed has it at all. */
const EVERY_MS: Readonly<Record<string, number>> = {
  "server crashed": 14_000,
  "server paused": 12_000,
  "server cut off": 16_000,
  "server stopped cleanly": 14_000,
  "agent crashed": 9_000,
  "agent paused": 8_000,
  "store away": 18_000,
  "store lost its tail": 12_000,
  "database clock jumped ahead": 16_000,
  "database clock jumped back": 20_000,
};
const KIND_SHARE = 0.5;
/** Less is promised of a store that has lost what it had acknowledged. */
const TAIL_SHARE = 0.3;
/** Transactions; and how long the fail-over takes: longer than a session of the old store lives. */
const TAIL_MAX = 10;
/** Sometimes so long that what a server has in memory is lost with it. */
const LONG_TAIL_MAX = 100;
/** From the take-over until the former owner resumes: the new one has then hardly started. */
const RELIEVED_MS_MAX = 3;
/** Longer than it takes until others see that a frozen server is silent, and take over. */
const UNRELIEVED_MS_MAX = 8_000;
/** Of the times when the store of several shards is away: only one of them is. */
const ONE_SHARD_SHARE = 0.7;
const FAIL_OVER_MS: readonly [number, number] = [3_500, 6_000];
/** The clock is then behind for so long. */
const BACK_MS_MAX = 5_000;

/** Mostly less than a heartbeat, sometimes longer than any time limit of the workload. */
function aheadMsMax(chance: Chance): number {
  return chance.happens(0.8) ? 4_000 : 90_000;
}

export function createChaos(
  chance: Chance,
  shards: Shards<Pick<MemoryStore, "simulateFailover">>,
  witness: Pick<StoreWitness, "lost">,
): Chaos {
  const away = new Set<number>();
  const undo = new Set<() => void>();
  const stopping = new Set<ServerProcess>();
  /** Servers that wake when they are relieved, and how. */
  const asleep = new Map<VirtualProcess, () => void>();

  /** Does something for a while; the heal ends it early. */
  function forAWhile(world: World, ms: number, end: () => void): () => void {
    const once = (): void => {
      if (undo.delete(once)) end();
    };
    undo.add(once);
    world.time.after(ms, once);
    return once;
  }

  function often(world: World, kind: FaultKind, strike: () => void): void {
    if (!chance.happens(kind === "store lost its tail" ? TAIL_SHARE : KIND_SHARE)) return;
    const everyMs = EVERY_MS[kind] ?? 10_000;
    const plan = (): void =>
      void world.time.after(chance.between(200, 2 * everyMs), () => {
        if (world.faults.calm) return;
        strike();
        plan();
      });
    plan();
  }

  function crashServer(world: World, server: ServerProcess): void {
    if (!server.process()) return;
    world.faults.count("server crashed");
    world.recorder.fault({ kind: "process", did: "crash" }, server.name, true);
    server.crash();
    forAWhile(world, chance.between(50, 8_000), () => {
      world.recorder.fault({ kind: "process", did: "start" }, server.name, true);
      server.start();
    });
  }

  /** It comes back once it has ended; until then it may be hit by other faults, as any process. */
  function stopServer(world: World, server: ServerProcess): void {
    if (!server.process() || stopping.has(server)) return;
    world.faults.count("server stopped cleanly");
    world.recorder.fault({ kind: "process", did: "stop" }, server.name, true);
    const process = server.process();
    stopping.add(server);
    const backInMs = chance.between(50, 6_000);
    const forget = process?.onCrash(() => stopping.delete(server));
    void server.stop().then(() => {
      forget?.();
      stopping.delete(server);
      world.recorder.fault({ kind: "process", did: "exit" }, server.name, true);
      forAWhile(world, backInMs, () => {
        world.recorder.fault({ kind: "process", did: "start" }, server.name, true);
        server.start();
      });
    });
  }

  function jump(world: World, kind: FaultKind, byMs: number): void {
    world.faults.count(kind);
    jumpClock(world.databaseClock, world.recorder, byMs);
  }

  /** Returns a function that resumes it early; null: it is not up. */
  function pause(
    world: World,
    process: VirtualProcess | null,
    isServer: boolean,
    ms = chance.between(500, 7_000),
  ) {
    if (process?.state() !== "up") return null;
    world.faults.count(isServer ? "server paused" : "agent paused");
    world.recorder.fault({ kind: "process", did: "pause" }, process.name, isServer);
    process.pause();
    return forAWhile(world, ms, () => {
      if (process.state() !== "paused") return;
      world.recorder.fault({ kind: "process", did: "resume" }, process.name, isServer);
      process.resume();
    });
  }

  function cutOff(world: World, server: ServerProcess): void {
    if (server.cutOff) return;
    world.faults.count("server cut off");
    world.recorder.fault({ kind: "network", did: "cut" }, server.name, true);
    server.cutOff = true;
    forAWhile(world, chance.between(300, 6_000), () => {
      world.recorder.fault({ kind: "network", did: "join" }, server.name, true);
      server.cutOff = false;
    });
  }

  /** One shard of several, or all of them. */
  function storeAway(world: World): void {
    const all = shards.all.map((_, shard) => shard);
    const some = all.length > 1 && chance.happens(ONE_SHARD_SHARE) ? [chance.pick(all)] : all;
    if (away.size > 0) return;
    world.faults.count("store away");
    world.recorder.fault({ kind: "store", did: "down" }, "store", false);
    for (const shard of some) away.add(shard);
    forAWhile(world, chance.between(100, 6_000), () => {
      world.recorder.fault({ kind: "store", did: "up" }, "store", false);
      away.clear();
    });
  }

  /** The node of one shard. */
  function failOver(world: World): void {
    if (away.size > 0) return;
    world.faults.count("store lost its tail");
    world.recorder.fault({ kind: "store", did: "down" }, "store", false);
    const [one = 0] = shards.all.length > 1 ? [chance.between(0, shards.all.length - 1)] : [];
    away.add(one);
    forAWhile(world, chance.between(...FAIL_OVER_MS), () => {
      void shards
        .of(one)
        .simulateFailover(chance.between(1, chance.pick([TAIL_MAX, LONG_TAIL_MAX])))
        .then((changes) => {
          const lost = lostTail(changes, shards.all.length > 1);
          witness.lost(one, changes);
          world.recorder.fault({ kind: "store", did: "tail-lost", lost }, "store", false);
          world.recorder.fault({ kind: "store", did: "up" }, "store", false);
          away.clear();
        });
    });
  }

  /** An agent of this shape is there, under a new session whenever it was gone. */
  function restartAgent(world: World, shape: AgentShape, all: Session[], index: number): void {
    const session = startAgent(world, shape);
    all[index] = session;
    session.process.onCrash(() =>
      forAWhile(world, chance.between(50, 3_000), () => {
        world.recorder.fault({ kind: "process", did: "start" }, shape.id, false);
        restartAgent(world, shape, all, index);
      }),
    );
  }

  return Object.freeze({
    isStoreUp: (shard) => !away.has(shard),
    strikes: (world: () => World): Strikes => ({
      freeze: (server) => void pause(world(), server, true),
      freezeUntilRelieved(server) {
        const wake = pause(world(), server, true, UNRELIEVED_MS_MAX);
        if (wake) asleep.set(server, wake);
      },
      relieve(servers) {
        for (const [server, wake] of asleep) {
          if (!servers.includes(server.name)) continue;
          asleep.delete(server);
          world().time.after(chance.between(1, RELIEVED_MS_MAX), wake);
        }
      },
      stop(name) {
        for (const server of world().servers) if (server.name === name) stopServer(world(), server);
      },
    }),
    start(world: World, shapes: readonly AgentShape[]) {
      const agents: Session[] = [];
      for (const [index, shape] of shapes.entries()) restartAgent(world, shape, agents, index);
      often(world, "server crashed", () => crashServer(world, chance.pick(world.servers)));
      often(world, "server paused", () => pause(world, chance.pick(world.servers).process(), true));
      often(world, "server cut off", () => cutOff(world, chance.pick(world.servers)));
      often(world, "server stopped cleanly", () => stopServer(world, chance.pick(world.servers)));
      often(world, "store away", () => storeAway(world));
      often(world, "store lost its tail", () => failOver(world));
      often(world, "database clock jumped ahead", () =>
        jump(world, "database clock jumped ahead", chance.between(50, aheadMsMax(chance))),
      );
      often(world, "database clock jumped back", () =>
        jump(world, "database clock jumped back", -chance.between(50, BACK_MS_MAX)),
      );
      often(world, "agent paused", () => pause(world, chance.pick(agents).process, false));
      often(world, "agent crashed", () => {
        const { process } = chance.pick(agents);
        if (process.state() === "dead") return;
        world.faults.count("agent crashed");
        world.recorder.fault({ kind: "process", did: "crash" }, process.name, false);
        process.crash();
      });
    },
    heal() {
      for (const end of [...undo]) end();
    },
  } satisfies Chaos);
}
