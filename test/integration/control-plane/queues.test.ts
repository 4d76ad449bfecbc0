/**
 * Queues on a real database, with two servers: once a pause is acknowledged nothing is handed out,
 * whatever calls are in flight; resuming hands out at once.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveTimers } from "../../support/pages.ts";
import {
  type Agent,
  gatedStore,
  historyOf,
  newAgent,
  openTwoServers,
  schedule,
  settledOf,
  stateOf,
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

/** Steps one after the other. */
function steps(count: number, more = {}): Definition {
  return {
    workflow: "queued",
    steps: Array.from({ length: count }, (_, no) => ({
      id: `s${no}`,
      needs: no === 0 ? [] : [`s${no - 1}`],
      task: "work",
      queue,
      ...more,
    })),
  };
}

const pause = (plane: TestPlane) =>
  plane.scheduler.pauseQueue({ namespaceId: plane.namespace.id, queue }, "");
const resume = (plane: TestPlane) =>
  plane.scheduler.resumeQueue({ namespaceId: plane.namespace.id, queue });
const pollNow = (agent: Agent) => agent.poll("work", { queue, waitMs: 0 });
const take = async (agent: Agent) => {
  const [task] = await agent.poll("work", { queue, maxTasks: 1 });
  if (!task) throw new Error("no task came");
  return task;
};

describe("a pause of a queue", () => {
  it("waits for a claim that was under way: its task was granted before the pause", async () => {
    await schedule(here, steps(1));
    const gate = gates.stopNext("claim");
    const granted = take(newAgent(here));
    await gate.reached;
    const paused = pause(there);
    const isOver = settledOf(paused);
    const written = () =>
      hand.query("select from drover.queue where name = $1 and paused_at is not null", [queue]);
    await expect.poll(written, { interval: 5 }).toHaveLength(1);
    // Another claim begins after the pause was written, and finds nothing.
    await schedule(there, steps(1));
    expect(await pollNow(newAgent(there))).toEqual([]);
    expect(isOver()).toBe(false);
    gate.open();
    await paused;
    expect((await granted).queue).toBe(queue);
    expect(await hand.leases()).toHaveLength(1);
  });

  it("withholds what a report makes ready, also from an agent that waits for it", async () => {
    const run = await schedule(here, steps(2));
    const agent = newAgent(here);
    const first = await take(agent);
    const waiting = take(newAgent(here));
    await here.pollTick.runOnce();
    await pause(there);
    expect(await agent.report(first, success)).toBe("accepted");
    await Promise.all([here.pollTick.runOnce(), there.pollTick.runOnce()]);
    expect(await pollNow(newAgent(here))).toEqual([]);
    expect(await stateOf(here, run)).toBe("RUNNING");
    await resume(here);
    expect(await waiting).toMatchObject({ runId: run.runId, stepId: "s1" });
  });

  it("lets leased work finish, and the run end", async () => {
    const run = await schedule(here, steps(1));
    const agent = newAgent(here);
    const task = await take(agent);
    await pause(here);
    expect(await agent.heartbeat([task])).toEqual(["carry-on"]);
    expect(await agent.report(task, success)).toBe("accepted");
    expect(await stateOf(here, run)).toBe("COMPLETED");
  });

  it("is no pause of another queue whose name begins alike", async () => {
    await schedule(here, steps(1));
    await here.scheduler.pauseQueue({ namespaceId: here.namespace.id, queue: `${queue}-more` }, "");
    expect((await take(newAgent(here))).queue).toBe(queue);
  });
});

describe("resuming", () => {
  it("hands out at once to an agent that waits on this server, without a poll tick", async () => {
    await pause(here);
    const run = await schedule(here, steps(1));
    const waiting = take(newAgent(here));
    await here.pollTick.runOnce();
    await resume(here);
    expect((await waiting).runId).toBe(run.runId);
  });

  it("hands out within a poll tick to an agent that waits on another server", async () => {
    await pause(here);
    const run = await schedule(here, steps(1));
    const waiting = take(newAgent(there));
    await resume(here);
    await there.pollTick.runOnce();
    expect((await waiting).runId).toBe(run.runId);
  });
});

describe("the pickup watch", () => {
  it("takes what waits in a paused queue for backlog, and raises the alarm after it", async () => {
    const run = await schedule(here, steps(1, { timeouts: { pickupMs: 1_000 } }));
    const { runId } = run;
    await pause(here);
    const overdue = async () => {
      await moveTimers(hand, runId);
      const [row] = (await here.store.dueRows([run.partition], 500)).due.filter(
        (one) => one.runId === runId,
      );
      if (row?.kind !== "ready") throw new Error("the ready row should be due");
      const { step, fence, polled } = row;
      await here.advance.submit(run, { kind: "ready-timer", step, fence, polled });
      return (await historyOf(here, run)).interventions.map(({ rule }) => rule);
    };
    expect(await overdue()).toEqual([]);
    await resume(here);
    expect(await overdue()).toEqual(["pickup"]);
  });
});
