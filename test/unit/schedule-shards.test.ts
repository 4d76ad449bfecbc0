/** Schedules of a store of several shards: all that belongs to one is in its shard. */
import { expect, test } from "vitest";
import { systemClock, systemRandom } from "../../server/clock.ts";
import {
  createPlaceOfSchedule,
  createScheduleControl,
} from "../../server/scheduler/cron/schedule-control.ts";
import { createPlaceOfKey, keyByHand } from "../../server/scheduler/run-id.ts";
import { createMemoryShards } from "../../server/store/memory/memory-store.ts";
import { createPlans } from "../../server/store/plans.ts";
import type { ScheduleSpec } from "../../server/store/schedules.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { workflow } from "../support/core-world.ts";
import { NO_TYPICAL_DURATIONS } from "../support/no-typical-durations.ts";

const HOUR = 3_600_000;
const placeOfKey = createPlaceOfKey();

function specWith(key: string): ScheduleSpec {
  return {
    calendar: { kind: "interval", everyMs: HOUR, offsetMs: 0 },
    workflow: "etl",
    version: 0,
    input: null,
    priority: 5,
    labels: {},
    notify: null,
    concurrency: { key, limit: 5, policy: "queue" },
    overlap: "allow-all",
    catchUpMs: HOUR,
    jitterMs: 0,
  };
}

async function openControl(count: number) {
  const stores = createMemoryShards({ now: () => 1_767_225_600_000, elapsedMs: () => 0 }, count);
  const namespace = await stores.home.createNamespace("default");
  const definitionId = await stores.home.internDefinition(namespace.id, workflow({ a: {} }));
  const registered = { namespaceId: namespace.id, name: "etl", definitionId, keepDefault: false };
  await stores.home.registerWorkflow(registered);
  const plans = createPlans(stores.home, evaluatorOf);
  const options = stores.map((store, number) => ({
    store,
    shard: { number, count },
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
  const control = createScheduleControl(options, placeOfKey);
  const create = (name: string, key: string) =>
    control.createSchedule({ namespace, name }, specWith(key), null);
  const update = (name: string, key: string) =>
    control.updateSchedule({ namespace, name }, specWith(key));
  return { create, update };
}

const refused = {
  reason: "INVALID_REQUEST",
  message:
    'spec.concurrency.key: "warehouse" may lead to another shard than the schedule: in a store of ' +
    'several shards use "schedule/nightly", also for the other runs that share it',
};

test("its runs share no key but that of the schedule, which leads to its shard", async () => {
  const { create, update } = await openControl(2);
  await expect(create("nightly", "warehouse")).rejects.toMatchObject(refused);
  expect(await create("nightly", "schedule/nightly")).toEqual({ created: true });
  await expect(update("nightly", "warehouse")).rejects.toMatchObject(refused);
});

test("in a store of one shard they may share any key", async () => {
  const { create } = await openControl(1);
  expect(await create("nightly", "warehouse")).toEqual({ created: true });
});

test("its backfills, and the runs that a person starts by hand, are in its shard", () => {
  const place = createPlaceOfSchedule(placeOfKey)(7, "nightly");
  expect(placeOfKey(7, "backfill/nightly")).toBe(place);
  const id = `019d36ac-fd80-7edd-a4fd-3a0dfe1bcb${place.toString(16).padStart(2, "0")}`;
  expect(placeOfKey(7, keyByHand(id, "request 1"))).toBe(place);
});
