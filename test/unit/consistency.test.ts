/** The consistency check over a store whose differences are written by hand. */
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import type { RewriteItem } from "../../server/scheduler/rewrite-derived.ts";
import type { DifferingRuns, RewrittenRun } from "../../server/store/consistency.ts";
import type { RunRef } from "../../server/store/store.ts";
import { createConsistencyCheck } from "../../server/supervisor/consistency.ts";
import type { Owned } from "../../server/supervisor/ownership.ts";
import { createServerClock } from "../support/server-clock.ts";

const MINE: readonly Owned[] = [{ partition: 1, epoch: 4 }];
const NOTHING: DifferingRuns = { runs: [], last: null };
const saw = ["the lease of step 2 was missing", "the ready row of step 2 should not be there"];

const run = (name: string, partition = 1): RunRef => ({ runId: name, partition });
const rewritten = (of: RunRef): RewrittenRun => ({ ...of, saw });

interface Scan {
  readonly partitions: readonly number[];
  readonly after: RunRef | null;
  readonly limit: number;
}

function checkOf(owned: readonly Owned[] = MINE) {
  const clock = createServerClock();
  const now = { node: "n" as string | null, owned };
  const [scans, rewrites]: [Scan[], (readonly RewriteItem[])[]] = [[], []];
  const lines: { event: string; run?: string; saw?: unknown }[] = [];
  const counted = { repaired: 0, failed: 0 };
  /** What the store returns; a test replaces it. */
  const store = {
    scan: async (_: Scan): Promise<DifferingRuns> => NOTHING,
    rewrite: async (items: readonly RewriteItem[]): Promise<readonly RewrittenRun[]> =>
      items.map((item) => rewritten(item.run)),
  };
  const check = createConsistencyCheck({
    store: {
      differingRuns(partitions, after, limit) {
        scans.push({ partitions, after, limit });
        return store.scan({ partitions, after, limit });
      },
    },
    rewriteDerived(items) {
      rewrites.push(items);
      return store.rewrite(items);
    },
    clock,
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    settings: { consistencyEveryMs: 1_000 },
    owner: () => now,
    onRepaired: (rows) => {
      counted.repaired += rows;
    },
    onFailed: () => {
      counted.failed++;
    },
  });
  return { check, clock, now, store, scans, rewrites, lines, counted };
}

describe("a round", () => {
  it("scans a thousand runs at a time, and continues behind the last one", async () => {
    const { check, store, scans } = checkOf([
      { partition: 7, epoch: 1 },
      { partition: 3, epoch: 1 },
    ]);
    store.scan = async ({ after }) => ({ runs: [], last: after ? null : run("b", 3) });
    await check.roundOnce();
    expect(scans).toEqual([
      { partitions: [3, 7], after: null, limit: 1_000 },
      { partitions: [3, 7], after: run("b", 3), limit: 1_000 },
    ]);
  });

  it("scans nothing while this server owns no partition", async () => {
    const { check, scans } = checkOf([]);
    expect(await check.roundOnce()).toBe(0);
    expect(scans).toEqual([]);
  });

  it("begins a round thirty scans after the last one at the earliest", async () => {
    const { check, scans } = checkOf();
    for (let scan = 0; scan < 30; scan++) await check.runOnce();
    expect(scans).toHaveLength(1);
    await check.runOnce();
    expect(scans).toHaveLength(2);
  });

  it.each([
    ["took", async () => ({ runs: [], last: run("a") })],
    ["took to fail", () => Promise.reject(new Error("canceled"))],
  ])("waits nine times as long as a scan %s", async (_what, end) => {
    const { check, clock, store, scans } = checkOf();
    store.scan = async () => {
      clock.advance(2_000);
      return end();
    };
    await check.runOnce();
    clock.advance(17_999);
    for (let scan = 0; scan < 40; scan++) await check.runOnce();
    expect(scans).toHaveLength(1);
    clock.advance(1);
    await check.runOnce();
    expect(scans).toHaveLength(2);
  });
});

describe("a run whose derived rows differ", () => {
  it("is rewritten in the epoch of its partition, counted by rows, and logged", async () => {
    const { check, store, rewrites, lines, counted } = checkOf();
    store.scan = async () => ({ runs: [run("a")], last: null });
    expect(await check.roundOnce()).toBe(2);
    expect(rewrites).toEqual([[{ run: run("a"), actor: { node: "n", epoch: 4 } }]]);
    expect(counted).toEqual({ repaired: 2, failed: 0 });
    expect(lines).toMatchObject([{ event: "consistency.repaired", level: 50, run: "a", saw }]);
  });

  it("is neither counted nor logged when nothing differs any more under its lock", async () => {
    const { check, store, lines, counted } = checkOf();
    store.scan = async () => ({ runs: [run("a")], last: null });
    store.rewrite = async () => [];
    expect(await check.roundOnce()).toBe(0);
    expect(counted).toEqual({ repaired: 0, failed: 0 });
    expect(lines).toEqual([]);
  });

  it("is left to its new owner when its partition was handed over during the scan", async () => {
    const { check, now, store, rewrites } = checkOf([
      { partition: 1, epoch: 4 },
      { partition: 2, epoch: 5 },
    ]);
    store.scan = async () => {
      now.owned = [{ partition: 2, epoch: 6 }];
      return { runs: [run("a", 1), run("b", 2)], last: null };
    };
    await check.roundOnce();
    expect(rewrites).toEqual([[{ run: run("b", 2), actor: { node: "n", epoch: 6 } }]]);
  });

  it("is rewritten a hundred at a time where many differ", async () => {
    const { check, store, rewrites, counted } = checkOf();
    const runs = Array.from({ length: 250 }, (_, n) => run(`r${n}`));
    store.scan = async () => ({ runs, last: null });
    await check.roundOnce();
    expect(rewrites.map((items) => items.length)).toEqual([100, 100, 50]);
    expect(counted.repaired).toBe(500);
  });

  it("fails alone when it cannot be rewritten: the others are, and the round ends", async () => {
    const { check, store, scans, rewrites, lines, counted } = checkOf();
    store.scan = async ({ after }) =>
      after ? NOTHING : { runs: [run("a"), run("bad"), run("c")], last: run("c") };
    store.rewrite = async (items) => {
      if (items.some((item) => item.run.runId === "bad")) throw new Error("no such format");
      return items.map((item) => rewritten(item.run));
    };
    expect(await check.roundOnce()).toBe(4);
    expect(rewrites.map((items) => items.length)).toEqual([3, 1, 1, 1]);
    expect(scans).toHaveLength(2);
    expect(counted).toEqual({ repaired: 4, failed: 1 });
    const failures = lines.filter(({ event }) => event === "consistency.failed");
    expect(failures).toMatchObject([{ run: "bad", err: "Error: no such format" }]);
  });
});

describe("how long ago the last whole round began", () => {
  const HOUR_MS = 3_600_000;

  it("is set back by each round that comes to its end", async () => {
    const { check, clock, store } = checkOf();
    store.scan = async ({ after }) => ({ runs: [], last: after ? null : run("a") });
    clock.advance(HOUR_MS);
    expect(check.roundAgeMs()).toBe(HOUR_MS);
    await check.runOnce();
    clock.advance(500);
    expect(check.roundAgeMs()).toBe(HOUR_MS + 500);
    await check.runOnce();
    expect(check.roundAgeMs()).toBe(500);
  });

  it("grows while one scan fails in each round, and rounds begin with the first run", async () => {
    const { check, clock, store, scans, counted } = checkOf();
    store.scan = ({ after }) =>
      after ? Promise.reject(new Error("canceled")) : Promise.resolve({ runs: [], last: run("a") });
    for (let scan = 0; scan < 100; scan++) {
      clock.advance(60_000);
      await check.runOnce();
    }
    expect(scans.filter(({ after }) => after === null).length).toBeGreaterThan(1);
    expect(counted.failed).toBe(scans.filter(({ after }) => after !== null).length);
    expect(check.roundAgeMs()).toBe(100 * 60_000);
    store.scan = async () => NOTHING;
    for (let scan = 0; scan < 60; scan++) {
      clock.advance(1_000);
      await check.runOnce();
    }
    expect(check.roundAgeMs()).toBeLessThan(60_000);
  });

  it("is none while this server owns nothing, and begins with the first partition", async () => {
    const { check, now, clock } = checkOf([]);
    for (let scan = 0; scan < 50; scan++) {
      clock.advance(HOUR_MS);
      await check.runOnce();
    }
    expect(check.roundAgeMs()).toBe(0);
    now.owned = MINE;
    clock.advance(1_000);
    expect(check.roundAgeMs()).toBe(1_000);
  });
});

it("is quiet when no rewrite is under way, whatever it scans", async () => {
  const { check, store, rewrites } = checkOf();
  const scanned = Promise.withResolvers<DifferingRuns>();
  const committed = Promise.withResolvers<readonly RewrittenRun[]>();
  store.scan = () => scanned.promise;
  store.rewrite = () => committed.promise;
  const round = check.roundOnce();
  await check.quiet();
  scanned.resolve({ runs: [run("a")], last: null });
  await expect.poll(() => rewrites.length).toBe(1);
  let isQuiet = false;
  const quiet = check.quiet().then(() => {
    isQuiet = true;
  });
  await new Promise(setImmediate);
  expect(isQuiet).toBe(false);
  committed.resolve([rewritten(run("a"))]);
  await Promise.all([quiet, round]);
});
