/** The scheduler over the memory store, while the database fails over. */
import { expect, it } from "vitest";
import { systemClock, systemRandom } from "../../server/clock.ts";
import { createPlaceOfKey } from "../../server/scheduler/run-id.ts";
import {
  createRunStarts,
  createSchedule,
  type ScheduleOptions,
} from "../../server/scheduler/schedule.ts";
import type { ScheduleRequest } from "../../server/scheduler/scheduler.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import { createPlans } from "../../server/store/plans.ts";
import { shardsOf } from "../../server/store/shards.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { workflow } from "../support/core-world.ts";
import { NO_TYPICAL_DURATIONS } from "../support/no-typical-durations.ts";

/** `tails`: so many transactions find that the database has failed over just before them. */
async function openWorld({ tails }: { readonly tails: number }) {
  const store = createMemoryStore({ now: () => 1_767_225_600_000, elapsedMs: () => 0 });
  const namespace = await store.createNamespace("default");
  let left = tails;
  const failingOver: EngineStore = {
    ...store,
    async transact(use, work) {
      if (left-- > 0) await store.simulateFailover(10);
      return store.transact(use, work);
    },
  };
  const plans = createPlans(store, evaluatorOf);
  store.onIncarnation(() => plans.forget());
  const options: ScheduleOptions = {
    store: failingOver,
    plans,
    clock: systemClock,
    random: systemRandom,
    typical: NO_TYPICAL_DURATIONS,
    placeOfKey: createPlaceOfKey(),
    publish: () => undefined,
    isRetryable: () => false,
    handOver: { claim: async () => null, started: () => undefined, ended: () => undefined },
    onError: (error) => {
      throw error;
    },
  };
  const starts = shardsOf([createRunStarts(options)]);
  const { schedule } = createSchedule(options, starts, { keep: async () => undefined });
  const request: ScheduleRequest = {
    namespace,
    target: { kind: "inline", definition: workflow({ a: {} }) },
    input: null,
    key: "order 1",
    priority: 5,
    labels: {},
    notify: null,
    startAt: null,
    concurrency: null,
    digest: "",
  };
  return { store, namespace, schedule, request };
}

it("a call that found its plan before a fail-over begins no run that nothing knows, and may be repeated", async () => {
  const { store, namespace, schedule, request } = await openWorld({ tails: 1 });
  await expect(schedule(request)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
  const { runId, created } = await schedule(request);
  expect(created).toBe(true);
  const detail = await store.reads.runDetail(runId, {
    attempts: false,
    interventions: false,
    escalations: false,
  });
  expect(await store.definition(detail?.run.definitionId ?? 0)).toMatchObject({ steps: [{}] });
  const [lane] = await store.lanesOfQueues(namespace.id, ["default"]);
  const ready = await store.transact({ name: "read" }, (tx) =>
    tx.lockReady([{ lane: lane?.lane ?? 0, limit: 10 }]),
  );
  expect(ready.rows).toMatchObject([{ runId }]);
});

it("a run whose reason was read before a fail-over does not begin: the reason may be lost", async () => {
  const { store, schedule, request } = await openWorld({ tails: 0 });
  const readIn = store.incarnation();
  await store.simulateFailover(10);
  await expect(schedule({ ...request, readIn })).rejects.toMatchObject({
    reason: "STORE_UNAVAILABLE",
  });
  expect(await store.reads.findRun(request.namespace.id, { key: "order 1" })).toBeNull();
  expect(await schedule({ ...request, readIn: store.incarnation() })).toMatchObject({
    created: true,
  });
});
