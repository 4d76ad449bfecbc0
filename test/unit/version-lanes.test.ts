/** Lanes for agents of one version: which polls ask for them, and where pinned tasks are. */
import { describe, expect, it } from "vitest";
import { createLanes, createVersionLanes, refreshLanes } from "../../server/dispatch/lanes.ts";
import { createWaiters } from "../../server/dispatch/waiters.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import type { Pinned, VersionLane } from "../../server/store/pins.ts";

const lane = (base: number, task: string, agentVersion: string): VersionLane => ({
  lane: base + 10 * Number(agentVersion),
  base,
  namespaceId: 1,
  queue: "q",
  task,
  agentVersion,
});
const LANES = [lane(1, "a", "1"), lane(2, "b", "1"), lane(1, "a", "2"), lane(2, "b", "2")];
const pin = { namespaceId: 1, workflow: "w", queue: "q" };
const PINNED: Pinned = {
  lanes: LANES,
  pins: [
    { ...pin, definitionId: null, agentVersion: "1" },
    { ...pin, definitionId: 7, agentVersion: "2" },
  ],
};

/** Over a store in which tasks a and b of queue q have the lanes 1 and 2. */
async function known() {
  const store = createMemoryStore({ now: () => 0 });
  const key = (task: string) => ({ namespaceId: 1, queue: "q", task });
  expect(await store.lanes([key("a"), key("b")])).toEqual([1, 2]);
  const versions = createVersionLanes();
  const lanes = createLanes(store, versions);
  const asks = (agentVersion: string, tasks: readonly string[], queue = "q") => ({
    namespaceId: 1,
    queues: [{ name: queue, weight: 3 }],
    tasks,
    agentVersion,
  });
  const of = async (...asked: Parameters<typeof asks>) =>
    (await lanes.of(asks(...asked))).map((one) => one.lane);
  return { versions, lanes, asks, of };
}

describe("a poll", () => {
  it("asks for the lanes of all agents, and for those of its version", async () => {
    const { versions, of } = await known();
    expect(await of("1", ["a"])).toEqual([1]);
    expect(versions.learn(PINNED)).toEqual(LANES.map((one) => one.lane));
    expect(await of("1", ["a"])).toEqual([1, 11]);
    expect(await of("2", ["a", "b"])).toEqual([1, 2, 21, 22]);
    expect(await of("2", [])).toEqual([1, 2, 21, 22]);
    expect(await of("3", [])).toEqual([1, 2]);
    expect(await of("2", [], "other")).toEqual([]);
  });

  it("that is parked gets those that have come, with the weight of its queue", async () => {
    const { versions, lanes, asks } = await known();
    const waiters = createWaiters();
    const { waiter } = waiters.park({
      agent: { id: "x", session: "x", version: "2" },
      pollSeq: 1,
      isCarried: false,
      places: 1,
      namespace: "d",
      namespaceId: 1,
      asks: asks("2", ["b"]),
      lanes: [],
    });
    expect(lanes.mayGrow(waiter.asks)).toBe(false);
    versions.learn(PINNED);
    expect(lanes.mayGrow(waiter.asks)).toBe(true);
    expect(lanes.mayGrow(asks("3", ["b"]))).toBe(false);
    expect(lanes.mayGrow(asks("3", []))).toBe(true);
    await refreshLanes(waiters, lanes, waiters.all());
    expect(waiter.lanes).toEqual([
      { lane: 2, weight: 3 },
      { lane: 22, weight: 3 },
    ]);
    expect(waiters.lanes()).toEqual([2, 22]);
  });
});

describe("what is known of version lanes", () => {
  it("reports once which of them are new", async () => {
    const { versions } = await known();
    versions.learn({ pins: [], lanes: LANES.slice(0, 1) });
    expect(versions.learn(PINNED)).toEqual([12, 21, 22]);
    expect(versions.learn(PINNED)).toEqual([]);
  });

  it("reports where tasks are that are pinned", async () => {
    const { versions } = await known();
    const to = (base: number, definitionId: number, workflow = "w") =>
      versions.pinnedTo(base, { workflow, definitionId });
    expect(to(1, 7)).toBe(1);
    versions.learn(PINNED);
    expect([to(1, 7), to(2, 7), to(1, 8), to(1, 7, "other"), to(3, 7)]).toEqual([21, 22, 11, 1, 3]);
    versions.learn({ ...PINNED, pins: [] });
    expect(to(1, 7)).toBe(1);
  });
});
