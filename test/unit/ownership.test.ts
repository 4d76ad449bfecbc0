// Nodes that come and go, over a store in memory: partitions without an owner are taken at once,
// and those that only belong elsewhere move a few at a time.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemRandom } from "../../server/clock.ts";
import { SUPERVISOR_DEFAULTS } from "../../server/config.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import { partitionsOf } from "../../server/store/partition.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { createOwnership, type Ownership } from "../../server/supervisor/ownership.ts";
import { quietLog } from "../support/control-plane.ts";
import { createServerClock } from "../support/server-clock.ts";

const ALL = partitionsOf(0).length;
const SCAN_MS = 500;

let clock: ReturnType<typeof createServerClock>;
let store: EngineStore;
let nodes: Ownership[];

beforeEach(() => {
  clock = createServerClock();
  store = createMemoryStore({ now: clock.wallMs, elapsedMs: clock.monotonicMs });
  nodes = [];
});
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await store.close();
});

async function join(): Promise<Ownership> {
  const node = createOwnership({
    store,
    clock,
    log: quietLog,
    random: systemRandom,
    address: "127.0.0.1:1",
    supervision: { regions: null, standby: false },
    onTaken: () => undefined,
    onLanes: () => undefined,
    onDueTime: () => undefined,
    quiet: async () => undefined,
    settings: SUPERVISOR_DEFAULTS,
  });
  nodes.push(node);
  await node.start();
  return node;
}

/** Every node scans once, one after the other. */
async function scan(): Promise<void> {
  clock.advance(SCAN_MS);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

const owned = (): number[] => nodes.map((node) => node.owned().length);
const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);

/** Partitions that the others have given up for the last node, scan by scan, until all is even. */
async function movesTo(joined: Ownership): Promise<readonly number[]> {
  const moves: number[] = [];
  for (let still = 0; still < 10; ) {
    const before = joined.owned().length;
    await scan();
    moves.push(joined.owned().length - before);
    still = moves.at(-1) === 0 ? still + 1 : 0;
  }
  return moves;
}

describe("a node that joins", () => {
  it.for([2, 3, 5])(
    "as one of %i is handed four partitions a second, by all together",
    async (n) => {
      for (let others = 1; others < n; others++) {
        await movesTo(await join());
      }
      const joined = await join();
      const moves = await movesTo(joined);
      const even = ALL / n;
      expect(joined.owned().length).toBeGreaterThan(even / 2);
      expect(sum(owned())).toBe(ALL);
      // Nodes that noticed it in one scan may be in step with each other, but not for long.
      for (let from = 0; from + 10 <= moves.length; from++)
        expect(sum(moves.slice(from, from + 10))).toBeLessThanOrEqual(5 * 4 + n);
    },
  );
});

describe("partitions without an owner", () => {
  it("are taken all at once by a node that is alone", async () => {
    const first = await join();
    expect(first.owned()).toHaveLength(ALL);
  });

  it("are taken all at once when their owner leaves", async () => {
    const first = await join();
    const second = await join();
    await movesTo(second);
    await first.stop();
    await scan();
    expect(second.owned()).toHaveLength(ALL);
  });

  it("are taken all at once when their owner has fallen silent", async () => {
    const frozen = await store.partitions.join({ node: "frozen", address: "127.0.0.1:2" });
    await frozen.takeOver(await frozen.tryLock(partitionsOf(0)));
    const node = await join();
    while (node.owned().length === 0) await scan();
    expect(node.owned()).toHaveLength(ALL);
  });
});
