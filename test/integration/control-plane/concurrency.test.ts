/**
 * Concurrency keys on several servers over real locks: never more runs of a key are under way than
 * its limit allows, a permit that comes free is used at once, and one whose server dies is not
 * lost.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Concurrency } from "../../../server/core/model/permits.ts";
import type { RunRef } from "../../../server/store/store.ts";
import { openPlane, type TestPlane } from "../../support/control-plane.ts";
import { moveRunTime } from "../../support/pages.ts";
import type { TestDatabase } from "../../support/postgres.ts";
import {
  chain,
  gatedStore,
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  openTwoServers,
  request,
  schedule,
  stateOf,
  success,
  type TwoServers,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

const gates = gatedStore();
let database: TestDatabase;
let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];

beforeAll(async () => {
  ({ database, hand, here, there, close } = await openTwoServers(gates.wrap));
});
afterAll(() => close?.());

/** Polls without a task after which an agent assumes that all is done. */
const IDLE_MAX = 10;

let made = 0;
const newKey = (more: Partial<Concurrency> = {}): Concurrency => ({
  key: `key-${++made}`,
  limit: 1,
  policy: "queue",
  ...more,
});

const statesOf = (runs: readonly RunRef[]) => Promise.all(runs.map((run) => stateOf(here, run)));
const eventually = (run: RunRef) =>
  expect.poll(() => stateOf(here, run), { interval: 10, timeout: 5_000 });

async function finish(plane: TestPlane, name: string): Promise<string> {
  const agent = newAgent(plane);
  const task = await agent.take(name);
  expect(await agent.report(task, success)).toBe("accepted");
  return task.runId;
}

/** Holders, and those that wait. */
async function slotsOf({ key }: Concurrency): Promise<readonly [number, number]> {
  const rows = await hand.query<{ holds: boolean }>(
    "select holds from drover.permit where key = $1",
    [key],
  );
  const held = rows.filter(({ holds }) => holds).length;
  return [held, rows.length - held];
}

describe("a limit", () => {
  it("holds when two servers schedule at the same time: the second waits for the first", async () => {
    const name = newTask();
    const concurrency = newKey();
    const gate = gates.stopNext("schedule");
    const first = schedule(here, chain(name, 1), { concurrency });
    await gate.reached;
    const second = schedule(there, chain(name, 1), { concurrency });
    await hand.untilWaiting("pg_advisory_xact_lock");
    gate.open();
    expect(await statesOf([await first, await second])).toEqual(["RUNNING", "PENDING"]);
    expect(await slotsOf(concurrency)).toEqual([1, 1]);
  });

  it("of 3 holds for 40 runs of two servers, and each of them gets its turn", async () => {
    const name = newTask();
    const concurrency = newKey({ limit: 3 });
    const planes = [here, there];
    const runs = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        schedule(planes[at % 2] ?? here, chain(name, 1), { concurrency }),
      ),
    );
    expect(await slotsOf(concurrency)).toEqual([3, 37]);
    let most = 0;
    const workers = planes
      .flatMap((plane) => [plane, plane])
      .map(async (plane) => {
        const agent = newAgent(plane);
        for (let idle = 0; idle < IDLE_MAX; idle++) {
          await plane.pollTick.runOnce();
          const [task] = await agent.poll(name, { maxTasks: 1, waitMs: 50 });
          if (!task) continue;
          idle = 0;
          const [held] = await slotsOf(concurrency);
          most = Math.max(most, held);
          await agent.report(task, success);
        }
      });
    await Promise.all(workers);
    expect(most).toBe(3);
    expect(new Set(await statesOf(runs))).toEqual(new Set(["COMPLETED"]));
    expect(await slotsOf(concurrency)).toEqual([0, 0]);
  }, 30_000);

  it("is not shared with another key, nor with a run that has none", async () => {
    const name = newTask();
    const runs = [
      await schedule(here, chain(name, 1), { concurrency: newKey() }),
      await schedule(here, chain(name, 1), { concurrency: newKey() }),
      await schedule(here, chain(name, 1)),
    ];
    expect(await statesOf(runs)).toEqual(["RUNNING", "RUNNING", "RUNNING"]);
  });
});

describe("a slot that comes free", () => {
  it("goes to the first priority, then to the oldest, when two ends meet", async () => {
    const name = newTask();
    const concurrency = newKey({ limit: 2 });
    const holding = [
      await schedule(here, chain(name, 1), { concurrency }),
      await schedule(here, chain(name, 1), { concurrency }),
    ];
    const late = await schedule(here, chain(name, 1), { concurrency, priority: 9 });
    const early = await schedule(here, chain(name, 1), { concurrency });
    const urgent = await schedule(here, chain(name, 1), { concurrency, priority: 1 });
    const one = newAgent(here);
    const two = newAgent(there);
    const tasks = [await one.take(name), await two.take(name)];
    expect(tasks.map(({ runId }) => runId)).toEqual(holding.map(({ runId }) => runId));
    const gate = gates.stopNext("advance");
    const ended = one.complete(tasks.slice(0, 1), success);
    await gate.reached;
    const other = two.complete(tasks.slice(1), success);
    await hand.untilWaiting("pg_advisory_xact_lock");
    gate.open();
    await Promise.all([ended, other]);
    await eventually(urgent).toBe("RUNNING");
    await eventually(early).toBe("RUNNING");
    expect(await stateOf(here, late)).toBe("PENDING");
    expect(await slotsOf(concurrency)).toEqual([2, 1]);
  });

  it("is reserved for the run that got it when the server dies before it could publish it", async () => {
    const name = newTask();
    const concurrency = newKey();
    const first = await schedule(here, chain(name, 1), { concurrency });
    const second = await schedule(here, chain(name, 1), { concurrency });
    // No process receives what was published: as if the process had died between commit and
    // delivery.
    const dying = await openQuietPlane(database.connectionString, (store) => ({
      ...store,
      transact: async (options, work) => {
        const result = await store.transact(options, work);
        if (options.name === "advance") throw new Error("killed");
        return result;
      },
    }));
    const agent = newAgent(dying);
    await expect(agent.report(await agent.take(name), success)).resolves.toBe("INTERNAL");
    expect(await statesOf([first, second])).toEqual(["COMPLETED", "PENDING"]);
    expect(await slotsOf(concurrency)).toEqual([1, 0]);
    const owner = await openPlane(database.connectionString);
    await eventually(second).toBe("RUNNING");
    await owner.close();
    await dying.close();
  });

  it("is free only when the run has ended, undoing included", async () => {
    const name = newTask();
    const undo = newTask();
    const concurrency = newKey();
    const definition = chain(name, 2, { compensate: { task: undo } });
    const first = await schedule(here, definition, { concurrency });
    const second = await schedule(here, definition, { concurrency });
    await finish(here, name);
    await here.scheduler.command(first, { kind: "cancel", undo: true, note: "" });
    expect(await statesOf([first, second])).toEqual(["COMPENSATING", "PENDING"]);
    expect(await finish(here, undo)).toBe(first.runId);
    await eventually(second).toBe("RUNNING");
  });
});

describe("a run that waits for a slot", () => {
  it("and is cancelled leaves its place to the next", async () => {
    const name = newTask();
    const concurrency = newKey();
    const runs = [];
    for (let run = 0; run < 3; run++)
      runs.push(await schedule(here, chain(name, 1), { concurrency }));
    const [, second, third] = runs;
    if (!second || !third) throw new Error("three runs were scheduled");
    await here.scheduler.command(second, { kind: "cancel", undo: true, note: "" });
    expect((await historyOf(here, second)).run.reason).toBe("NEVER_STARTED");
    await finish(here, name);
    await eventually(third).toBe("RUNNING");
  });

  it("ends when its time is over, and is not handed a slot afterwards", async () => {
    const name = newTask();
    const concurrency = newKey();
    await schedule(here, chain(name, 1), { concurrency });
    const late = await schedule(here, chain(name, 1), { concurrency });
    await moveRunTime(hand, late.runId);
    await here.advance.submit(late, { kind: "run-timer" });
    const { run, interventions } = await historyOf(here, late);
    expect(run).toMatchObject({ state: "FAILED", reason: "NEVER_STARTED" });
    expect(interventions.map(({ rule }) => rule)).toEqual(["deadline"]);
    expect(await slotsOf(concurrency)).toEqual([1, 0]);
  });

  it("which was to start later asks for it then, and not before", async () => {
    const name = newTask();
    const concurrency = newKey();
    const startAt = Date.now() + 3_600_000;
    const later = await schedule(here, chain(name, 1), { concurrency, startAt });
    const now = await schedule(here, chain(name, 1), { concurrency });
    expect(await statesOf([later, now])).toEqual(["PENDING", "RUNNING"]);
    const come = async (run: RunRef) => {
      await moveRunTime(hand, run.runId);
      await here.advance.submit(run, { kind: "run-timer" });
    };
    await come(later);
    expect(await slotsOf(concurrency)).toEqual([1, 1]);
    await finish(here, name);
    await eventually(later).toBe("RUNNING");
    const refuses = { concurrency: { ...concurrency, policy: "refuse" as const }, startAt };
    const refused = await schedule(here, chain(name, 1), refuses);
    await come(refused);
    await eventually(refused).toBe("FAILED");
    expect((await historyOf(here, refused)).run.reason).toBe("REFUSED");
    await finish(here, name);
    expect(await slotsOf(concurrency)).toEqual([0, 0]);
    const alone = await schedule(here, chain(name, 1), refuses);
    await come(alone);
    await eventually(alone).toBe("RUNNING");
  });
});

describe("the policy refuse", () => {
  it("stores nothing, not even the key of the call, and reports who holds the slot", async () => {
    const name = newTask();
    const concurrency = newKey({ policy: "refuse" });
    const first = await schedule(here, chain(name, 1), { concurrency });
    const key = `call-${concurrency.key}`;
    const again = { concurrency, key };
    const calls = [
      schedule(here, chain(name, 1), again),
      schedule(here, chain(name, 1), again),
      schedule(there, chain(name, 1), again),
    ];
    const metadata = { key: concurrency.key, limit: "1", run_id: first.runId };
    for (const answer of await Promise.allSettled(calls))
      expect(answer).toMatchObject({ reason: { reason: "CONCURRENCY_LIMIT", metadata } });
    expect(await hand.query("select from drover.idempotency where key = $1", [key])).toEqual([]);
    expect(await slotsOf(concurrency)).toEqual([1, 0]);
    await finish(here, name);
    expect(await stateOf(here, await schedule(here, chain(name, 1), again))).toBe("RUNNING");
  });

  it("takes no key from another call of the same time, alone or in a batch", async () => {
    const definition = chain(newTask(), 1);
    const concurrency = newKey({ policy: "refuse" });
    await schedule(here, definition, { concurrency });
    const asked = (key: string) => [
      request(here, definition, { concurrency, key, digest: "a".repeat(64) }),
      request(here, definition, { key, digest: "b".repeat(64) }),
    ];
    const batch = await here.scheduler.scheduleBatch(asked(`batch-${concurrency.key}`));
    // The first one is flushed at once, and the others are in one batch after it.
    const gate = gates.stopNext("schedule");
    const before = schedule(here, definition);
    await gate.reached;
    const calls = asked(`call-${concurrency.key}`).map((one) => here.scheduler.schedule(one));
    const alone = Promise.allSettled(calls);
    gate.open();
    await before;
    expect(batch).toMatchObject([
      { kind: "refused", error: { reason: "CONCURRENCY_LIMIT" } },
      { kind: "scheduled", created: true },
    ]);
    // Each is queried by itself: should the second come first, the first finds its key taken.
    const refused = expect.stringMatching(/^(CONCURRENCY_LIMIT|KEY_REUSED)$/);
    expect(await alone).toMatchObject([
      { status: "rejected", reason: { reason: refused } },
      { status: "fulfilled", value: { created: true } },
    ]);
  });

  it("is no matter to a run whose steps are all skipped: it gives its slot back at once", async () => {
    const concurrency = newKey({ policy: "refuse" });
    const definition = chain(newTask(), 1, { when: "false" });
    for (let run = 0; run < 2; run++)
      expect(await stateOf(here, await schedule(here, definition, { concurrency }))).toBe(
        "COMPLETED",
      );
    expect(await slotsOf(concurrency)).toEqual([0, 0]);
  });
});

describe("the policy cancel-oldest", () => {
  it("has the oldest run cancelled and undone, and begins when that has ended", async () => {
    const name = newTask();
    const undo = newTask();
    const concurrency = newKey({ policy: "cancel-oldest" });
    const definition = chain(name, 2, { compensate: { task: undo } });
    const first = await schedule(here, definition, { concurrency });
    await finish(here, name);
    const second = await schedule(there, definition, { concurrency });
    await eventually(first).toBe("COMPENSATING");
    expect(await stateOf(here, second)).toBe("PENDING");
    const third = await schedule(here, definition, { concurrency });
    await eventually(second).toBe("CANCELLED");
    expect((await historyOf(here, second)).run.reason).toBe("CANCELLED_BY_NEWER");
    expect(await finish(here, undo)).toBe(first.runId);
    await eventually(third).toBe("RUNNING");
    expect((await historyOf(here, first)).run).toMatchObject({
      state: "COMPENSATED",
      reason: "CANCELLED_BY_NEWER",
    });
    expect(await slotsOf(concurrency)).toEqual([1, 0]);
  });
});
