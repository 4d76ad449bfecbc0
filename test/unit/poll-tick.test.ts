/** The check of each second, on a store of two shards. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { createPollTick } from "../../server/background/poll-tick.ts";
import { createAgentRegistry } from "../../server/dispatch/agent-registry.ts";
import { createAttemptCounter } from "../../server/dispatch/attempt-counts.ts";
import { createLanes, createVersionLanes } from "../../server/dispatch/lanes.ts";
import { createWaiters } from "../../server/dispatch/waiters.ts";
import { createWatermarks } from "../../server/dispatch/watermarks.ts";
import { createRunWatchers } from "../../server/scheduler/run-watchers.ts";
import { createMemoryShards } from "../../server/store/memory/memory-store.ts";
import { createServerClock } from "../support/server-clock.ts";

const clock = createServerClock();
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A poll that is parked before its lane is there; `onQuery` is called with each poll query. */
async function pollOfUnknownLane(onQuery: () => Promise<void> = async () => undefined) {
  const stores = createMemoryShards({ now: clock.wallMs, elapsedMs: clock.monotonicMs }, 2);
  const { id: namespaceId } = await stores.home.createNamespace("default", "");
  const lanes = createLanes(stores.home, createVersionLanes());
  const waiters = createWaiters();
  const { waiter } = waiters.park({
    agent: { id: "x", session: "x", version: "" },
    pollSeq: 1,
    isCarried: false,
    places: 1,
    namespace: "default",
    namespaceId,
    asks: { namespaceId, queues: [{ name: "bank", weight: 1 }], tasks: [], agentVersion: "" },
    lanes: [],
  });
  const scanned: (readonly number[])[] = [];
  const tick = createPollTick({
    shards: stores.map((store, shard) => ({
      store: {
        ...store,
        async pollQuery(asked: Parameters<typeof store.pollQuery>[0]) {
          const answers = await store.pollQuery(asked);
          if (shard === 0) await onQuery();
          return answers;
        },
      },
      watermarks: createWatermarks(clock),
      claims: {
        scan: async (asked) => {
          if (shard === 1) scanned.push([...asked]);
        },
      },
    })),
    clock,
    log: pino({ level: "silent" }),
    node: "node",
    address: "here",
    waiters,
    lanes,
    runWatchers: createRunWatchers(),
    agentRegistry: createAgentRegistry(clock),
    attemptCounter: createAttemptCounter(clock),
    circuits: { windowMs: 60_000, onPoll: async () => undefined },
  });
  return { home: stores.home, namespaceId, waiter, scanned, tick };
}

test("a lane that a parked poll gets late is scanned in every shard", async () => {
  const { home, namespaceId, waiter, scanned, tick } = await pollOfUnknownLane();
  await tick.runOnce();
  expect(scanned).toEqual([]);
  const [lane = 0] = await home.lanes([{ namespaceId, queue: "bank", task: "pay" }]);
  await tick.runOnce();
  expect(waiter.lanes).toEqual([{ lane, weight: 1 }]);
  expect(scanned).toEqual([[lane]]);
  await tick.runOnce();
  expect(scanned).toEqual([[lane]]);
});

test("what one query just misses, the next one finds with time to claim it within a second", async () => {
  const readAt: number[] = [];
  const { tick } = await pollOfUnknownLane(async () => {
    readAt.push(clock.wallMs());
    await clock.sleep(50);
  });
  tick.start();
  while (readAt.length < 3) {
    clock.advance(1);
    await settled();
  }
  const [, first = 0, second = 0] = readAt;
  expect(second - first).toBeLessThanOrEqual(950);
});
