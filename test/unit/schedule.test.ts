/** What begins runs, over the memory store, while the database fails over beneath it. */
import { expect, it } from "vitest";
import { systemClock, systemRandom } from "../../server/clock.ts";
import { createSchedule } from "../../server/scheduler/schedule.ts";
import type { ScheduleRequest } from "../../server/scheduler/scheduler.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import { createPlans } from "../../server/store/plans.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { workflow } from "../support/core-world.ts";
import { NO_TYPICAL_DURATIONS } from "../support/no-typical-durations.ts";

it("a call that found its plan before a fail-over begins no run that nothing knows, and may be repeated", async () => {
  const store = createMemoryStore({ now: () => 1_767_225_600_000, elapsedMs: () => 0 });
  const namespace = await store.createNamespace("default");
  let tails = 1;
  const failingOver: EngineStore = {
    ...store,
    async transact(use, work) {
      if (tails-- > 0) await store.loseTail(10);
      return store.transact(use, work);
    },
  };
  const plans = createPlans(store, evaluatorOf);
  store.onIncarnation(() => plans.forget());
  const { schedule } = createSchedule({
    ...{ store: failingOver, plans, clock: systemClock, random: systemRandom },
    ...{ typical: NO_TYPICAL_DURATIONS, publish: () => undefined, isRetryable: () => false },
    handOver: { claim: async () => null, begun: () => undefined, ended: () => undefined },
    onError: (error) => {
      throw error;
    },
  });
  const request: ScheduleRequest = {
    ...{ namespace, target: { kind: "inline", definition: workflow({ a: {} }) }, input: null },
    ...{ key: "order 1", priority: 5, labels: {}, notify: null, startAt: null, concurrency: null },
    digest: "",
  };
  await expect(schedule(request)).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
  const { runId, created } = await schedule(request);
  expect(created).toBe(true);
  const detail = await store.reads.runDetail(runId, {
    ...{ attempts: false, interventions: false, escalations: false },
  });
  expect(await store.definition(detail?.run.definitionId ?? 0)).toMatchObject({ steps: [{}] });
  const [lane] = await store.lanesOfQueues(namespace.id, ["default"]);
  const ready = await store.transact({ name: "look" }, (tx) =>
    tx.lockReady([{ lane: lane?.lane ?? 0, limit: 10 }]),
  );
  expect(ready.rows).toMatchObject([{ runId }]);
});
