/** What the sweep has under way while partitions change hands. */
import { describe, expect, it } from "vitest";
import type { SupervisorActor } from "../../server/scheduler/advance.ts";
import type { RunRef } from "../../server/store/store.ts";
import type { Owned } from "../../server/supervisor/ownership.ts";
import { createSweep } from "../../server/supervisor/sweep.ts";
import { quietLog } from "../support/control-plane.ts";
import { createServerClock } from "../support/server-clock.ts";

const run = (partition: number): RunRef => ({ runId: `run-${partition}`, partition });

/** A sweep that doubts a run in each partition that it owns while it looks. */
function sweepOf(owned: readonly Owned[]) {
  const now = { node: "n", owned };
  const clock = createServerClock();
  /** What the walk of the strays does besides. */
  const walking = { strays: async () => {} };
  const looked = Promise.withResolvers<void>();
  const landed = Promise.withResolvers<void>();
  const submitted: { readonly partition: number; readonly actor?: SupervisorActor }[] = [];
  const walked: string[] = [];
  const walk = <T>(name: string, found: T): T => {
    walked.push(name);
    return found;
  };
  const sweep = createSweep({
    store: {
      openRuns: async () => walk("open", []),
      storedRuns: async () => new Map(),
      async strayRuns() {
        walked.push("strays");
        await walking.strays();
        await looked.promise;
        return { runs: owned.map(({ partition }) => run(partition)), last: null };
      },
      unopenedRuns: async () => walk("lost", { runs: [], last: null }),
      schedules: { asleep: async () => walk("asleep", { schedules: [], last: null }) },
    },
    plans: { get: () => Promise.reject(new Error("there is no definition")) },
    advance: {
      async submit({ partition }, _event, actor) {
        submitted.push({ partition, ...(actor ? { actor } : {}) });
        await landed.promise;
        return { kind: "done" };
      },
    },
    fire: () => Promise.reject(new Error("there is no schedule")),
    clock,
    log: quietLog,
    owner: () => now,
    settings: { sweepEveryMs: 1_000 },
  });
  const more = { looked: looked.resolve, land: landed.resolve, clock, walking };
  return { sweep, now, submitted, walked, ...more };
}

it("acts on nothing that was handed back while it looked, and in the epoch of now", async () => {
  const { sweep, now, submitted, looked, land } = sweepOf([
    { partition: 1, epoch: 4 },
    { partition: 2, epoch: 5 },
  ]);
  const round = sweep.roundOnce();
  now.owned = [{ partition: 2, epoch: 6 }];
  looked();
  land();
  await round;
  expect(submitted).toEqual([{ partition: 2, actor: { node: "n", epoch: 6 } }]);
});

it("begins a round thirty looks after the last at the soonest, where there is little to walk", async () => {
  const { sweep, walked, looked, land } = sweepOf([{ partition: 1, epoch: 4 }]);
  looked();
  land();
  const round = ["open", "strays", "lost", "asleep"];
  for (let look = 0; look < 30; look++) await sweep.runOnce();
  expect(walked).toEqual(round);
  await sweep.runOnce();
  expect(walked).toEqual([...round, "open"]);
});

it.each([
  ["took", async () => {}, "lost"],
  ["took to fail", async () => Promise.reject(new Error("canceled")), "strays"],
])("rests nine times as long as a look %s", async (_what, end, next) => {
  const { sweep, walked, looked, land, clock, walking } = sweepOf([{ partition: 1, epoch: 4 }]);
  looked();
  land();
  walking.strays = async () => {
    clock.advance(2_000);
    await end();
  };
  await sweep.runOnce();
  await sweep.runOnce();
  clock.advance(17_999);
  await sweep.runOnce();
  expect(walked).toEqual(["open", "strays"]);
  clock.advance(1);
  await sweep.runOnce();
  expect(walked).toEqual(["open", "strays", next]);
});

describe("how long ago the last whole round began", () => {
  const HOUR_MS = 3_600_000;

  it("is forgotten with each round that comes to its end", async () => {
    const { sweep, looked, land, clock } = sweepOf([{ partition: 1, epoch: 4 }]);
    looked();
    land();
    clock.advance(HOUR_MS);
    expect(sweep.roundAgeMs()).toBe(HOUR_MS);
    await sweep.runOnce();
    clock.advance(500);
    for (const _ of ["strays", "lost", "asleep"]) await sweep.runOnce();
    expect(sweep.roundAgeMs()).toBe(500);
  });

  it("grows while one walk is given up in each round", async () => {
    const { sweep, walked, looked, land, clock, walking } = sweepOf([{ partition: 1, epoch: 4 }]);
    looked();
    land();
    walking.strays = () => Promise.reject(new Error("canceled"));
    for (let look = 0; look < 100; look++) {
      clock.advance(60_000);
      await sweep.runOnce();
    }
    expect(walked.filter((name) => name === "asleep").length).toBeGreaterThan(1);
    expect(sweep.roundAgeMs()).toBe(100 * 60_000);
    walking.strays = async () => {};
    for (let look = 0; look < 60; look++) {
      clock.advance(1_000);
      await sweep.runOnce();
    }
    expect(sweep.roundAgeMs()).toBeLessThan(60_000);
  });

  it("is none while it owns nothing, and begins with the first partition", async () => {
    const { sweep, now, looked, land, clock } = sweepOf([]);
    looked();
    land();
    for (let look = 0; look < 50; look++) {
      clock.advance(HOUR_MS);
      await sweep.runOnce();
    }
    expect(sweep.roundAgeMs()).toBe(0);
    now.owned = [{ partition: 1, epoch: 4 }];
    clock.advance(1_000);
    expect(sweep.roundAgeMs()).toBe(1_000);
  });
});

it("is quiet when all that it has sent has landed, whatever it looks at", async () => {
  const { sweep, submitted, looked, land } = sweepOf([{ partition: 1, epoch: 4 }]);
  const round = sweep.roundOnce();
  await sweep.quiet();
  looked();
  await expect.poll(() => submitted.length).toBe(1);
  let isQuiet = false;
  const quiet = sweep.quiet().then(() => {
    isQuiet = true;
  });
  await new Promise(setImmediate);
  expect(isQuiet).toBe(false);
  land();
  await Promise.all([quiet, round]);
});
