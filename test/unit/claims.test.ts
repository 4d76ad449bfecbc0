/** Which polls a claim reserves, and for how long. */
import { expect, it } from "vitest";
import { systemClock, systemRandom } from "../../server/clock.ts";
import { createAdmission } from "../../server/dispatch/admission.ts";
import { createClaims } from "../../server/dispatch/claims.ts";
import { createWaiters } from "../../server/dispatch/waiters.ts";
import { createWatermarks } from "../../server/dispatch/watermarks.ts";
import type { Claim } from "../../server/scheduler/advance.ts";
import { createMemoryStore } from "../../server/store/memory/memory-store.ts";
import { createPlans } from "../../server/store/plans.ts";
import { schedule } from "../contract/fixture.ts";
import { evaluatorOf } from "../property/random-run.ts";
import { workflow } from "../support/core-world.ts";

const USE = { name: "advance" };

/** Two polls that wait for one lane, in which one task is ready. */
async function world() {
  const store = createMemoryStore({ now: () => 1_767_225_600_000, elapsedMs: () => 0 });
  const {
    namespaceId,
    lanes: [lane = Number.NaN],
  } = await schedule(store, workflow({ a: {} }));
  const waiters = createWaiters();
  const admission = createAdmission(systemClock);
  const claims = createClaims({
    store,
    waiters,
    admission,
    clock: systemClock,
    random: systemRandom,
    plans: createPlans(store, evaluatorOf),
    weightOf: () => 1,
    watermarks: createWatermarks(systemClock),
    onUndelivered: () => undefined,
    onError: (error) => expect.unreachable(String(error)),
  });
  const served: string[] = [];
  for (const session of ["first", "second"]) {
    const parked = waiters.park({
      agent: { id: session, session: Buffer.from(session).toString("hex"), version: "1" },
      pollSeq: 1,
      namespace: "default",
      namespaceId,
      isCarried: false,
      places: 1,
      asks: { namespaceId, queues: [{ name: "q", weight: 1 }], tasks: [], agentVersion: "1" },
      lanes: [{ lane, weight: 1 }],
    });
    void parked.served.then(() => served.push(session));
  }
  const lanes = { filled: [lane], freed: async () => [] };
  /** Those that another claim may serve. */
  const free = () =>
    waiters
      .waitingFor(null, new Set([lane]), admission.admit, 10)
      .map(({ waiter }) => waiter.agent.id);
  return { store, waiters, claims, lanes, free, served };
}

it("a poll that a claim has nothing for is free before the claim commits, the other after it", async () => {
  const { store, claims, lanes, free, served } = await world();
  expect(free()).toEqual(["first", "second"]);
  const claim = await store.transact(USE, async (tx) => {
    const made = await claims.claim(tx, lanes, null);
    expect(free()).toEqual(["second"]);
    return made;
  });
  claim?.deliver();
  await expect.poll(() => served).toEqual(["first"]);
  expect(free()).toEqual(["second"]);
});

it("a claim that fails returns the polls that it still holds, and none that another has since", async () => {
  const { store, claims, lanes, free, waiters } = await world();
  let made: Claim | null = null;
  const failing = store.transact(USE, async (tx) => {
    made = await claims.claim(tx, lanes, null);
    throw new Error("its commit fails");
  });
  await expect(failing).rejects.toThrow("its commit fails");
  const second = waiters.all().find(({ agent }) => agent.id === "second");
  if (!second || !made) throw new Error("there is no second poll, or no claim");
  // Another claim has it.
  waiters.reserve([second]);
  (made as Claim).giveUp(new Error("its commit fails"));
  expect(free()).toEqual(["first"]);
});
