/**
 * Random lives of schedules over the memory store: clocks that jump both ways, owners that come and
 * go, firings that die before their commit, pauses and backfills. Whatever happens, a time has
 * one occurrence, an occurrence at most one run, and no time is left out.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock, systemRandom } from "../../server/clock.ts";
import { evaluatorOf } from "../../server/expressions/evaluator.ts";
import { calendarTimesOf } from "../../server/scheduler/cron/calendar-times.ts";
import { createScheduleControl } from "../../server/scheduler/cron/schedule-control.ts";
import { createOccurrences } from "../../server/scheduler/cron/start-occurrences.ts";
import { createPlaceOfKey } from "../../server/scheduler/run-id.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import { createPlans } from "../../server/store/plans.ts";
import type { ScheduleSpec } from "../../server/store/schedules.ts";
import { shardsOf } from "../../server/store/shards.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { NO_TYPICAL_DURATIONS } from "../support/no-typical-durations.ts";

const START = Date.parse("2026-03-28T22:00:00Z");
const HOUR = 3_600_000;
const NAME = "etl";

type Act =
  | { readonly kind: "time"; readonly ms: number }
  /** The next time comes, or is so far away. */
  | { readonly kind: "next"; readonly ms: number }
  | { readonly kind: "fire" | "die" | "pause" | "resume"; readonly by: number }
  | { readonly kind: "backfill"; readonly hours: number };

const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: time(0, 3 * HOUR) },
  { weight: 1, arbitrary: time(-2 * HOUR, 0) },
  { weight: 1, arbitrary: time(0, 40 * HOUR) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("time"), ms: fc.constantFrom(-1, 0, 0, 1) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("fire", "fire", "fire", "die", "pause", "resume"),
      by: fc.nat(2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("backfill"), hours: fc.integer({ min: 1, max: 9 }) }),
  },
);

function time(min: number, max: number): fc.Arbitrary<Act> {
  return fc.integer({ min, max }).map((ms) => ({ kind: "time", ms }));
}

const calendars: readonly ScheduleSpec["calendar"][] = [
  { kind: "cron", cron: "*/20 * * * *", timeZone: "Europe/Berlin" },
  { kind: "cron", cron: "30 2 * * *", timeZone: "Europe/Berlin" },
  { kind: "interval", everyMs: 25 * 60_000, offsetMs: 7_000 },
];

async function world(calendar: ScheduleSpec["calendar"], jitterMs: number) {
  let now = START;
  const store = createMemoryStore({ now: () => now, elapsedMs: () => 0 });
  const namespace = await store.createNamespace("default");
  const definitionId = await store.internDefinition(namespace.id, workflow({ a: {} }));
  await store.registerWorkflow({
    namespaceId: namespace.id,
    name: NAME,
    definitionId,
    keepDefault: false,
  });
  const optionsOf = (of: EngineStore) => ({
    store: of,
    clock: systemClock,
    random: systemRandom,
    plans: createPlans(of, evaluatorOf),
    handOver: { claim: async () => null, started: () => undefined, ended: () => undefined },
    publish: () => undefined,
    announce: () => undefined,
    typical: NO_TYPICAL_DURATIONS,
    placeOfKey: createPlaceOfKey(),
    isRetryable: () => false,
    onError: (error: unknown) => {
      throw error;
    },
  });
  const dying: EngineStore = {
    ...store,
    transact: (use, work) =>
      store.transact(use, async (tx) => {
        await work(tx);
        throw new Error("killed before its commit");
      }),
  };
  const control = createScheduleControl(shardsOf([optionsOf(store)]), createPlaceOfKey());
  const of = { namespace, name: NAME };
  const spec: ScheduleSpec = {
    calendar,
    workflow: NAME,
    version: 0,
    input: null,
    priority: 5,
    labels: {},
    notify: null,
    concurrency: null,
    overlap: "allow-all",
    catchUpMs: 6 * HOUR,
    jitterMs,
  };
  await control.createSchedule(of, spec, null);
  const found = await made(store.schedules.find(namespace.id, NAME));
  const owners = await Promise.all(
    [1, 2, 3].map((one) => store.partitions.join({ node: `node-${one}`, address: "here" })),
  );
  const { partition } = found;
  let owner: { readonly by: number; readonly epoch: number } | null = null;
  const handle = createOccurrences(optionsOf(store)).beginDue;
  const die = createOccurrences(optionsOf(dying)).beginDue;

  const next = async () => (await store.schedules.find(namespace.id, NAME))?.next ?? null;

  /** The partition moves to the server that is to act. */
  async function ownedBy(by: number) {
    const session = owners[by];
    if (!session) throw new Error(`there is no owner ${by}`);
    if (owner?.by !== by) {
      if (owner) await owners[owner.by]?.unlock([partition]);
      await session.tryLock([partition]);
      const [taken] = await session.takeOver([partition]);
      owner = { by, epoch: taken?.epoch ?? 0 };
    }
    return { node: session.node, epoch: owner.epoch };
  }

  async function act(one: Act): Promise<void> {
    if (one.kind === "time") now += one.ms;
    else if (one.kind === "next") now = ((await next())?.at ?? now) + one.ms;
    else if (one.kind === "pause") await control.pauseSchedule(of, "");
    else if (one.kind === "resume") await control.resumeSchedule(of);
    else if (one.kind === "backfill") {
      const range = { from: now - one.hours * HOUR, until: now, concurrency: 1 };
      await control.backfillSchedule({ ...of, ...range, dryRun: false });
    } else {
      const actor = await ownedBy(one.by);
      const dies = one.kind === "die";
      await (dies ? die(found, actor).catch(() => null) : handle(found, actor));
    }
  }
  const occurrences = async () =>
    (await store.schedules.lastOccurrences([found.id], 5_000)).toReversed();
  const countRuns = async () => (await store.rows.runs(namespace.id)).length;
  return { act, occurrences, countRuns, next };
}

async function made<T>(found: Promise<T | null>): Promise<T> {
  const one = await found;
  if (one === null) throw new Error("the schedule is not there");
  return one;
}

test("each time has one occurrence, an occurrence at most one run, and no time is left out", async () => {
  let started = 0;
  const life = fc.record({
    calendar: fc.constantFrom(...calendars),
    jitterMs: fc.constantFrom(0, 5 * 60_000),
    acts: fc.array(acts, { minLength: 5, maxLength: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(life, async ({ calendar, jitterMs, acts: all }) => {
      const { act, occurrences, countRuns, next } = await world(calendar, jitterMs);
      for (const one of all) await act(one);
      const found = await occurrences();
      const runs = found.flatMap(({ runId }) => runId ?? []);
      started += found.filter((one) => one.cause === "calendar" && one.runId !== null).length;
      expect(new Set(runs).size).toBe(runs.length);
      expect(await countRuns()).toBe(runs.length);
      // Each time from the first to the next has fired, or is one of those that a mark covers.
      const seen = new Set(found.map(({ at }) => at));
      const missedRanges = found.flatMap(({ at, missed }) => (missed ? [{ at, ...missed }] : []));
      const end = (await next())?.at ?? START;
      const times = calendarTimesOf(calendar);
      let one = times.firstAfter(START);
      while (one && one.at < end) {
        const { at } = one;
        const known =
          seen.has(at) || missedRanges.some((range) => range.at <= at && at < range.until);
        expect(known, `the time at ${new Date(at).toISOString()} is left out`).toBe(true);
        one = times.after(one.nominalTime);
      }
    }),
    { numRuns: 80 },
  );
  expect(started).toBeGreaterThan(100);
});

test("a pause that ends at the very instant of an occurrence leaves that one to fire", async () => {
  const { act, occurrences } = await world({ kind: "interval", everyMs: HOUR, offsetMs: 0 }, 0);
  await act({ kind: "pause", by: 0 });
  await act({ kind: "time", ms: 90 * 60_000 });
  await act({ kind: "next", ms: HOUR });
  await act({ kind: "resume", by: 0 });
  await act({ kind: "fire", by: 1 });
  const hours = (await occurrences()).map(({ at, outcome }) => [(at - START) / HOUR, outcome]);
  expect(hours).toEqual([
    [1, "paused"],
    [2, "started"],
  ]);
});
