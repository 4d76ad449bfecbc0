/** Agents that wait: which are asked when a lane has work, and how often lanes are asked for. */
import { expect, it } from "vitest";
import { createAdmission } from "../../server/dispatch/admission.ts";
import { type Asks, createLanes } from "../../server/dispatch/lanes.ts";
import { createWaiters, type Waiter, type Waiters } from "../../server/dispatch/waiters.ts";

const LANE = 7;
const OTHER = 8;

const asks = (tasks: readonly string[] = []): Asks => {
  return { namespaceId: 1, queues: [{ name: "q", weight: 1 }], tasks, agentVersion: "1" };
};

function park(
  waiters: Waiters,
  session: string,
  lanes: readonly number[],
  places = 1,
  isCarried = false,
): Waiter {
  const agent = { id: session, session, version: "1" };
  const where = { namespace: "d", namespaceId: 1, isCarried, asks: asks() };
  const due = lanes.map((lane) => ({ lane, weight: 1 }));
  return waiters.park({ agent, pollSeq: 1, places, lanes: due, ...where }).waiter;
}

const admission = createAdmission({ monotonicMs: () => 0 });
const sessions = (of: readonly { readonly session: string }[]) => of.map(({ session }) => session);

it("of thousands that wait no more are asked than can take what a claim gives", () => {
  const waiters = createWaiters();
  for (let n = 0; n < 3_000; n++) park(waiters, `s${n}`, [LANE], 2);
  const found = waiters.waitingFor(null, new Set([LANE]), admission.admit, 501);
  expect(sessions(found)).toEqual(Array.from({ length: 251 }, (_, n) => `s${n}`));
});

it("those of each lane are asked, whichever wait for another one before them", () => {
  const waiters = createWaiters();
  park(waiters, "a", [LANE]);
  park(waiters, "b", [LANE]);
  park(waiters, "c", [LANE, OTHER]);
  park(waiters, "d", [OTHER]);
  const found = waiters.waitingFor(null, new Set([LANE, OTHER]), admission.admit, 2);
  expect(sessions(found)).toEqual(["a", "b", "c", "d"]);
});

it("a waiter that may take nothing, or nothing of the lane, keeps none from being asked", () => {
  const waiters = createWaiters();
  const admit = (waiter: Waiter) => {
    const { session } = waiter.agent;
    if (session === "cordoned") return null;
    const lanes = session === "tripped" ? [{ lane: OTHER, weight: 1 }] : waiter.lanes;
    return { session, places: waiter.places, lanes };
  };
  for (let n = 0; n < 5; n++) park(waiters, "cordoned", [LANE]);
  for (let n = 0; n < 5; n++) park(waiters, "tripped", [LANE, OTHER]);
  park(waiters, "free", [LANE]);
  const found = sessions(waiters.waitingFor(null, new Set([LANE]), admit, 1));
  expect(found).toContain("free");
  expect(found).not.toContain("cordoned");
});

it("one session alone is not all that is asked: what it lost is for another", () => {
  const waiters = createWaiters();
  for (let n = 0; n < 20; n++) park(waiters, "same", [LANE]);
  park(waiters, "another", [LANE]);
  expect(sessions(waiters.waitingFor(null, new Set([LANE]), admission.admit, 3))).toContain(
    "another",
  );
});

it("a session takes by its carried polls first, in the places that its age gives it", () => {
  const waiters = createWaiters();
  const poll = park(waiters, "busy", [LANE]);
  const other = park(waiters, "other", [LANE]);
  const carried = park(waiters, "busy", [LANE], 1, true);
  carried.batch = 1;
  const found = waiters.waitingFor(1, new Set([LANE]), admission.admit, 501);
  expect(found.map(({ waiter }) => waiter)).toEqual([carried, other, poll]);
});

it("a carried poll is asked by the batch of its reports, and by no other", () => {
  const waiters = createWaiters();
  const carried = park(waiters, "busy", [LANE], 1, true);
  const asked = (batch: number | null) =>
    waiters.waitingFor(batch, new Set([LANE]), admission.admit, 501).length;
  expect([asked(1), asked(null), waiters.carriedBy(1)]).toEqual([0, 0, []]);
  carried.batch = 1;
  expect([asked(1), waiters.carriedBy(1)]).toEqual([1, [carried]]);
  expect([asked(2), asked(null), waiters.carriedBy(2)]).toEqual([0, 0, []]);
});

it("lanes were asked for, though no waiter is there any more when they are polled", () => {
  const waiters = createWaiters();
  waiters.serve(park(waiters, "served at once", [LANE]), { tasks: [], grantedAtMs: 0 });
  park(waiters, "waits", [OTHER]);
  expect([waiters.lanes(), waiters.lanesAskedFor()]).toEqual([[OTHER], [LANE, OTHER]]);
  expect(waiters.lanesAskedFor()).toEqual([OTHER]);
});

it("a lane is asked for once, however many polls come at the same time, and again if that failed", async () => {
  let asked = 0;
  const answers = [Promise.reject(new Error("away")), Promise.resolve([LANE])];
  const store = {
    lanes: () => answers[asked++] ?? Promise.resolve([LANE]),
    lanesOfQueues: async () => [],
  };
  const lanes = createLanes(store, { of: () => [] });
  const all = () => Promise.allSettled(Array.from({ length: 50 }, () => lanes.of(asks(["t"]))));
  expect(new Set((await all()).map(({ status }) => status))).toEqual(new Set(["rejected"]));
  expect(asked).toBe(1);
  const found = { status: "fulfilled", value: [{ lane: LANE, weight: 1 }] };
  expect(await all()).toEqual(Array.from({ length: 50 }, () => found));
  expect(asked).toBe(2);
});
