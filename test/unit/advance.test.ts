/** Passes over the memory store: what is published of an event, whatever else is in its batch. */
import { expect, it } from "vitest";
import { systemClock, systemRandom } from "../../server/clock.ts";
import {
  type AdvanceOptions,
  createAdvance,
  type HandOver,
} from "../../server/scheduler/advance.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import { createPlans } from "../../server/store/plans.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { type Scheduled, schedule } from "../contract/fixture.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { workflow } from "../support/core-world.ts";
import { NO_TYPICAL_DURATIONS } from "../support/no-typical-durations.ts";

const CANCEL = { kind: "cancel", undo: false, note: "enough" } as const;

interface World {
  readonly store: EngineStore;
  readonly run: Scheduled;
  readonly errors: unknown[];
  /** `transacts`: called for each transaction once it has started. */
  advanceWith(more: Partial<AdvanceOptions>): ReturnType<typeof createAdvance>;
}

async function world(): Promise<World> {
  const store = createMemoryStore({ now: () => 1_767_225_600_000, elapsedMs: () => 0 });
  const run = await schedule(store, workflow({ a: {} }));
  const errors: unknown[] = [];
  const handOver: HandOver = {
    claim: async () => null,
    started: () => undefined,
    ended: () => undefined,
  };
  return {
    store,
    run,
    errors,
    advanceWith: (more) =>
      createAdvance({
        store,
        clock: systemClock,
        random: systemRandom,
        handOver,
        plans: createPlans(store, evaluatorOf),
        typical: NO_TYPICAL_DURATIONS,
        publish: () => undefined,
        isRetryable: () => false,
        onError: (error) => void errors.push(error),
        suspensions: { outages: () => [], hasSuspended: () => false, pinnedTo: (lane) => lane },
        ...more,
      }),
  };
}

it("what goes wrong after a commit fails no call, and takes back nothing that was handed over", async () => {
  const { run, errors, advanceWith } = await world();
  const acts: string[] = [];
  const advance = advanceWith({
    handOver: {
      started: () => undefined,
      ended: () => undefined,
      claim: async () => ({
        drained: new Set(),
        deliver: () => void acts.push("delivered"),
        giveUp: () => void acts.push("given up"),
      }),
    },
    publish: () => {
      throw new Error("the listener failed");
    },
  });
  expect(await advance.submit(run.ref, CANCEL)).toEqual({ kind: "done" });
  expect(acts).toEqual(["delivered"]);
  expect(errors.map(String)).toEqual(["Error: the listener failed"]);
});

it("a run whose definition cannot be read fails alone, and no other run of its batch waits", async () => {
  const { store, run, advanceWith } = await world();
  const bad = await schedule(store, workflow({ odd: {} }));
  const other = await schedule(store, workflow({ a: {} }));
  let batches = 0;
  const counting: EngineStore = {
    ...store,
    transact: (use, work) => {
      batches++;
      return store.transact(use, work);
    },
  };
  const plans = createPlans(store, (definition) => {
    if (definition.steps.some(({ id }) => id === "odd")) throw new Error("it cannot be read");
    return evaluatorOf(definition);
  });
  const advance = advanceWith({ store: counting, plans });
  const events = advance.admit([run.ref, bad.ref, other.ref], () => [
    advance.submit(run.ref, { kind: "pause", note: "" }),
    advance.submit(bad.ref, CANCEL),
    advance.submit(other.ref, CANCEL),
  ]);
  const [first, refused, done] = await Promise.allSettled(events);
  expect(first).toMatchObject({ value: { kind: "done" } });
  expect(refused).toMatchObject({ reason: { message: "it cannot be read" } });
  expect(done).toMatchObject({ value: { kind: "done" } });
  expect(batches).toBe(1);
});

it("work that was decided on an outdated state is published once, and hands over once", async () => {
  const { store, run, advanceWith } = await world();
  const acts: string[] = [];
  const twice: EngineStore = {
    ...store,
    async transact(use, work) {
      const refused = new Error("what was known has changed");
      if (!use.optimistic) return store.transact(use, work);
      const first = store.transact(use, async (tx) => {
        await work(tx);
        throw refused;
      });
      await expect(first).rejects.toBe(refused);
      return store.transact({ ...use, optimistic: false }, work);
    },
  };
  let claims = 0;
  const advance = advanceWith({
    store: twice,
    onOutdated: () => void acts.push("outdated"),
    publish: () => void acts.push("published"),
    handOver: {
      started: () => undefined,
      ended: () => undefined,
      async claim() {
        const claim = ++claims;
        return {
          drained: new Set(),
          deliver: () => void acts.push(`delivered ${claim}`),
          giveUp: () => void acts.push(`given up ${claim}`),
        };
      },
    },
  });
  expect(await advance.submit(run.ref, CANCEL)).toEqual({ kind: "done" });
  expect(acts).toEqual(["outdated", "given up 1", "delivered 2", "published"]);
});
