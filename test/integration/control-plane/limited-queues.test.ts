/**
 * Two queues with limits and two servers: each passes tasks from one queue to the other, in
 * opposite directions. A transaction locks the rows of all queues that it needs in one statement,
 * so two of them wait for each other in one direction only.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Store } from "../../../server/store/store.ts";
import { watchedStore } from "../../support/watched-store.ts";
import { newAgent, openTwoServers, schedule, success, type TwoServers } from "./fixture.ts";
import type { Hand } from "./hand.ts";

let servers: TwoServers;
/** What locking queues failed with. */
const failures: unknown[] = [];
/** Calls that have locked queues, while the test wants both servers to be there. */
let arrivals: (() => Promise<void>) | null = null;

/** Transactions that have claimed for parked polls. */
let claims = 0;

const counted = (store: Store): Store => ({
  ...store,
  transact: (options, work) =>
    store.transact(options, work).finally(() => {
      if (options.name === "claim") claims++;
    }),
});

const watched = (store: Store): Store =>
  watchedStore(counted(store), (tx) => ({
    async lockQueues(queues) {
      try {
        const locked = await tx.lockQueues(queues);
        await arrivals?.();
        return locked;
      } catch (error) {
        failures.push(error);
        throw error;
      }
    },
  }));

beforeAll(async () => {
  servers = await openTwoServers(watched, watched);
});
afterAll(() => servers?.close());

const isWaiting = async (hand: Hand) => {
  const rows = await hand.query(
    `select from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'
       and position('for no key update of q' in query) > 0`,
  );
  return rows.length > 0;
};

/** Resolves once two have locked a queue, or one has and the other waits for it. */
function untilBothArrive(hand: Hand): () => Promise<void> {
  let arrived = 0;
  return async () => {
    arrived++;
    await expect
      .poll(async () => arrived > 1 || (await isWaiting(hand)), { interval: 5 })
      .toBe(true);
  };
}

it("two servers that pass tasks between two queues with limits never deadlock", async () => {
  const { here, there, hand } = servers;
  for (const queue of ["one", "two"])
    await here.scheduler.limitQueue(
      { namespaceId: here.namespace.id, queue },
      { leasesMax: 5, rate: null },
    );
  const steps = (first: string, second: string) => [
    { id: "a", needs: [], task: "t", queue: first },
    { id: "b", needs: ["a"], task: "t", queue: second },
  ];
  await schedule(here, { workflow: "there", steps: steps("one", "two") });
  await schedule(here, { workflow: "back", steps: steps("two", "one") });
  const mine = newAgent(here);
  const theirs = newAgent(there);
  const ended = [
    { agent: mine, task: await mine.take("t", { queue: "one" }) },
    { agent: theirs, task: await theirs.take("t", { queue: "two" }) },
  ];
  const polls: Promise<unknown>[] = [];
  for (const plane of [here, there])
    for (const queue of ["one", "two"]) {
      const before = claims;
      polls.push(newAgent(plane).poll("t", { queue, waitMs: 60_000 }));
      // It has polled once, and is free for whatever ends from now on.
      await expect.poll(() => claims, { interval: 5 }).toBeGreaterThan(before);
    }
  arrivals = untilBothArrive(hand);
  const answers = await Promise.all(ended.map(({ agent, task }) => agent.report(task, success)));
  arrivals = null;
  expect(answers).toEqual(["accepted", "accepted"]);
  expect(failures).toEqual([]);
  // Each server has served one of its polls with what the other's report made ready, or its own.
  const served = await Promise.all([polls[1], polls[2]]);
  expect(served.flat()).toHaveLength(2);
});
