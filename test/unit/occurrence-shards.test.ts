/**
 * The calendar and a backfill want a run for one occurrence at the same time, in a store of two
 * shards. Its runs have a concurrency key of their own, which leads to the shard that the schedule
 * is not in, so each of the two begins the run between two transactions.
 */
import { expect, it } from "vitest";
import { systemClock, systemRandom } from "../../server/clock.ts";
import {
  createPlaceOfSchedule,
  createScheduleControl,
} from "../../server/scheduler/cron/schedule-control.ts";
import { createOccurrences } from "../../server/scheduler/cron/start-occurrences.ts";
import { createKeyPlaces } from "../../server/scheduler/key-places.ts";
import { backfillKey, createPlaceOfKey, newRunId } from "../../server/scheduler/run-id.ts";
import { createRunStarts, createSchedule } from "../../server/scheduler/schedule.ts";
import { createMemoryShards } from "../../server/store/memory/memory-store.ts";
import { shardOf } from "../../server/store/partition.ts";
import { createPlans } from "../../server/store/plans.ts";
import type { ScheduleSpec } from "../../server/store/schedules.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { workflow } from "../support/core-world.ts";
import { NO_TYPICAL_DURATIONS } from "../support/no-typical-durations.ts";

const NAME = "etl";
const START = Date.parse("2026-03-28T22:00:00Z");
const HOUR = 3_600_000;
const placeOfKey = createPlaceOfKey();

async function openWorld() {
  let now = START;
  let before = async () => {};
  const stores = createMemoryShards({ now: () => now, elapsedMs: () => 0 }, 2);
  const namespace = await stores.home.createNamespace("default");
  const definitionId = await stores.home.internDefinition(namespace.id, workflow({ a: {} }));
  const registered = { namespaceId: namespace.id, name: NAME, definitionId, keepDefault: false };
  await stores.home.registerWorkflow(registered);
  const plans = createPlans(stores.home, evaluatorOf);
  const options = stores.map((store, number) => ({
    store,
    shard: { number, count: 2 },
    clock: systemClock,
    random: systemRandom,
    plans,
    handOver: { claim: async () => null, started: () => undefined, ended: () => undefined },
    publish: () => undefined,
    announce: () => undefined,
    typical: NO_TYPICAL_DURATIONS,
    placeOfKey,
    isRetryable: () => false,
    onError: (error: unknown) => {
      throw error;
    },
  }));
  const keys = createKeyPlaces(stores, placeOfKey, () => newRunId(now, systemRandom), HOUR);
  const { submit } = createSchedule(options.home, options.map(createRunStarts), keys);
  const cron = options.map((one) => ({
    ...one,
    beginElsewhere: async (item: Parameters<typeof submit>[0]) => {
      const first = before;
      before = async () => {};
      await first();
      return submit(item);
    },
  }));
  const control = createScheduleControl(cron, placeOfKey);
  const place = createPlaceOfSchedule(placeOfKey)(namespace.id, NAME);
  const isElsewhere = (key: string) =>
    shardOf(placeOfKey(namespace.id, key), 2) !== shardOf(place, 2);
  const key = ["a", "b", "c", "d", "e", "f", "g", "h"].find(isElsewhere) ?? "";
  const spec: ScheduleSpec = {
    calendar: { kind: "interval", everyMs: HOUR, offsetMs: 0 },
    workflow: NAME,
    version: 0,
    input: null,
    priority: 5,
    labels: {},
    notify: null,
    concurrency: { key, limit: 5, policy: "queue" },
    overlap: "allow-all",
    catchUpMs: 6 * HOUR,
    jitterMs: 0,
  };
  await control.createSchedule({ namespace, name: NAME }, spec, null);
  const store = stores.of(place);
  const found = await store.schedules.find(namespace.id, NAME);
  if (!found) throw new Error("the schedule is not there");
  const session = await store.partitions.join({ node: "node-1", address: "here" });
  await session.tryLock([found.partition]);
  const [taken] = await session.takeOver([found.partition]);
  const actor = { node: session.node, epoch: taken?.epoch ?? 0 };
  const occurrences = createOccurrences(cron.of(place));
  now += HOUR + 1;
  return {
    beforeTheRun: (act: () => Promise<unknown>) => {
      before = async () => void (await act());
    },
    calendar: () => occurrences.beginDue(found, actor),
    backfill: () =>
      control.backfillSchedule({
        namespace,
        name: NAME,
        from: START + 1,
        until: now,
        concurrency: 1,
        dryRun: false,
      }),
    runs: async () =>
      (await Promise.all(stores.all.map(({ rows }) => rows.runs(namespace.id)))).flat(),
    occurrences: () => store.schedules.lastOccurrences([found.id], 100),
  };
}

it("a backfill comes while the calendar begins the run", async () => {
  const { beforeTheRun, calendar, backfill, runs, occurrences } = await openWorld();
  beforeTheRun(backfill);
  await calendar();
  const [run, ...others] = await runs();
  expect(others).toEqual([]);
  expect(await occurrences()).toMatchObject([{ runId: run?.runId }]);
});

it("the calendar comes while a backfill begins the run", async () => {
  const { beforeTheRun, calendar, backfill, runs, occurrences } = await openWorld();
  beforeTheRun(calendar);
  await backfill();
  const [run, ...others] = await runs();
  expect(others).toEqual([]);
  expect(await occurrences()).toMatchObject([{ runId: run?.runId }]);
});

it("the runs of a backfill are where those of the calendar are", () => {
  expect(placeOfKey(1, backfillKey("etl", null))).toBe(placeOfKey(1, "schedule/etl"));
  expect(placeOfKey(1, backfillKey("etl", "tenant 7"))).toBe(placeOfKey(1, "tenant 7"));
  const nested = backfillKey("etl", "backfill/a for b");
  expect(placeOfKey(1, nested)).toBe(placeOfKey(1, "b"));
});
