/**
 * Limits of queues on a real database, with two servers: never one task more than a queue may give,
 * whichever servers count at the same time, and none less for longer than a message takes.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { QueueLimits } from "../../../server/core/model/limits.ts";
import { type TestPlane, UNENDED } from "../../support/control-plane.ts";
import {
  type Agent,
  gatedStore,
  newAgent,
  openTwoServers,
  schedule,
  success,
  type TwoServers,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

const gates = gatedStore();
let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];
/** A queue that no other test uses. */
let queue: string;
let made = 0;

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers(gates.wrap));
});
beforeEach(() => {
  queue = `queue-${++made}`;
});
afterAll(() => close?.());

/** A run with so many tasks side by side. */
const tasks = (count: number, task = "work") =>
  schedule(here, {
    workflow: "limited",
    steps: Array.from({ length: count }, (_, no) => ({ id: `s${no}`, needs: [], task, queue })),
  });
const limit = (limits: Partial<QueueLimits>, plane = here) =>
  plane.scheduler.limitQueue(
    { namespaceId: plane.namespace.id, queue },
    { leasesMax: null, rate: null, ...limits },
  );
const pollNow = (agent: Agent, maxTasks = 100, task = "work") =>
  agent.poll(task, { queue, maxTasks, waitMs: 0 });
/** Waits until one comes. */
const wait = (agent: Agent, task = "work") => agent.poll(task, { queue, maxTasks: 1 });
const leased = async () => {
  const [row] = await hand.query<{ count: number }>(
    "select count(*)::int from drover.lease as e join drover.lane as l on l.id = e.lane where l.queue = $1",
    [queue],
  );
  return row?.count;
};

describe("a queue with ten permits", () => {
  it("gives ten, whatever is asked for, and none of another server", async () => {
    await limit({ leasesMax: 10 });
    await tasks(15);
    expect(await pollNow(newAgent(here))).toHaveLength(10);
    expect(await pollNow(newAgent(there))).toEqual([]);
  });

  it("gives the last one once: the second claim waits for the first, and counts it", async () => {
    await limit({ leasesMax: 10 });
    await tasks(15);
    expect(await pollNow(newAgent(there), 9)).toHaveLength(9);
    const gate = gates.stopNext("claim");
    const first = pollNow(newAgent(here), 1);
    await gate.reached;
    const second = pollNow(newAgent(there), 1);
    await hand.untilWaiting("for no key update of q");
    gate.open();
    expect([(await first).length, (await second).length]).toEqual([1, 0]);
    expect(await leased()).toBe(10);
  });

  it("gives ten of all its tasks together", async () => {
    await limit({ leasesMax: 10 });
    await tasks(8, "one");
    await tasks(8, "two");
    expect(await pollNow(newAgent(here), 100, "one")).toHaveLength(8);
    expect(await pollNow(newAgent(here), 100, "two")).toHaveLength(2);
  });

  it("keeps no other queue from an agent that polls both", async () => {
    await limit({ leasesMax: 1 });
    await tasks(2);
    await pollNow(newAgent(here));
    const free = `${queue}-free`;
    const steps = [{ id: "a", needs: [], task: "work", queue: free }];
    const run = await schedule(here, { workflow: "free", steps });
    const queues = [queue, free].map((name) => ({ name, weight: 1 }));
    const { tasks: got } = await here.dispatcher.poll(
      {
        namespace: here.namespace,
        pollSeq: 1,
        queues,
        tasks: ["work"],
        maxTasks: 5,
        agent: { id: "both", session: "ab".repeat(16), version: "1" },
        waitMs: 0,
        lostPolls: [],
      },
      UNENDED,
    );
    expect(got.map(({ runId }) => runId)).toEqual([run.runId]);
  });
});

describe("a permit that becomes free", () => {
  it("is given in the same transaction to who waits on this server", async () => {
    await limit({ leasesMax: 1 });
    const { runId } = await tasks(2);
    const agent = newAgent(here);
    const [task] = await pollNow(agent);
    if (!task) throw new Error("one task was due");
    const waiting = wait(newAgent(here));
    await here.pollTick.runOnce();
    await agent.report(task, success);
    expect(await waiting).toMatchObject([{ runId }]);
    expect(await leased()).toBe(1);
  });

  it("is given to who waits for another task of the queue", async () => {
    await limit({ leasesMax: 1 });
    await tasks(1, "one");
    const { runId } = await tasks(1, "two");
    const agent = newAgent(here);
    const [task] = await pollNow(agent, 1, "one");
    if (!task) throw new Error("one task was due");
    const waiting = wait(newAgent(here), "two");
    await here.pollTick.runOnce();
    await agent.report(task, success);
    expect(await waiting).toMatchObject([{ runId }]);
  });

  it("is found within a poll tick by an agent that waits on another server", async () => {
    await limit({ leasesMax: 1 });
    const { runId } = await tasks(2);
    const agent = newAgent(here);
    const [task] = await pollNow(agent);
    if (!task) throw new Error("one task was due");
    const waiting = wait(newAgent(there));
    await there.pollTick.runOnce();
    await agent.report(task, success);
    await there.pollTick.runOnce();
    expect(await waiting).toMatchObject([{ runId }]);
  });
});

describe("a queue with a rate", () => {
  it("gives its burst at once, and the next task when it is due, without a poll tick", async () => {
    await limit({ rate: { perSecond: 0.4, burst: 2 } });
    await tasks(4);
    const agent = newAgent(here);
    // Both polls come before the bucket has its next token, however busy the machine is.
    expect(await pollNow(agent)).toHaveLength(2);
    expect(await pollNow(agent)).toEqual([]);
    // Nothing but the timer of the claim that was refused can serve these.
    expect(await wait(agent)).toHaveLength(1);
    expect(await wait(agent)).toHaveLength(1);
  });

  it("gives no more when two servers empty it at the same time", async () => {
    await limit({ rate: { perSecond: 0.001, burst: 5 } });
    await tasks(9);
    const gate = gates.stopNext("claim");
    const first = pollNow(newAgent(here), 4);
    await gate.reached;
    const second = pollNow(newAgent(there), 4);
    await hand.untilWaiting("for no key update of q");
    gate.open();
    expect([(await first).length, (await second).length]).toEqual([4, 1]);
  });
});

describe("limits that are set", () => {
  it("wait for a claim that was under way and knew of none", async () => {
    await tasks(2);
    const gate = gates.stopNext("claim");
    const granted = pollNow(newAgent(here));
    await gate.reached;
    let isSet = false;
    const set = limit({ leasesMax: 1 }, there).then(() => {
      isSet = true;
    });
    const written = () => hand.query("select from drover.queue where name = $1", [queue]);
    await expect.poll(written, { interval: 5 }).toHaveLength(1);
    await tasks(1);
    expect(await pollNow(newAgent(there))).toHaveLength(1);
    expect(isSet).toBe(false);
    gate.open();
    await set;
    expect(await granted).toHaveLength(2);
    expect(await pollNow(newAgent(there))).toEqual([]);
  });

  it("take nothing back when they are lowered, and hand out at once when raised", async () => {
    await limit({ leasesMax: 3 });
    await tasks(5);
    const agent = newAgent(here);
    const held = await pollNow(agent);
    expect(held).toHaveLength(3);
    await limit({ leasesMax: 1 });
    expect(await agent.heartbeat(held)).toEqual(["carry-on", "carry-on", "carry-on"]);
    const waiting = wait(newAgent(here));
    await here.pollTick.runOnce();
    await limit({ leasesMax: 4 });
    expect(await waiting).toHaveLength(1);
    await limit({});
    expect(await pollNow(agent)).toHaveLength(1);
  });
});
