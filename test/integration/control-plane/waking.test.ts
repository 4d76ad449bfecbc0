/**
 * A ready task reaches an agent that waits for it: at once if a server notifies, within the poll
 * tick if none does, and for a while not the session that has just lost the task, since another may
 * poll.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestPlane, UNENDED } from "../../support/control-plane.ts";
import { editPages } from "../../support/pages.ts";
import {
  chain,
  gatedStore,
  lose,
  newAgent,
  newTask,
  openTwoServers,
  schedule,
  success,
  type TwoServers,
  wide,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

const gates = gatedStore();
let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers(gates.wrap));
});
afterAll(() => close?.());

describe("a notification that is lost", () => {
  it("costs a poll tick and never a task: another server's row is found by the next one", async () => {
    const name = newTask();
    let served = false;
    const polled = newAgent(here)
      .take(name)
      .then((task) => {
        served = true;
        return task;
      });
    await here.pollTick.runOnce();
    const run = await schedule(there, chain(name, 1));
    expect(served).toBe(false);
    await here.pollTick.runOnce();
    expect((await polled).runId).toBe(run.runId);
  });

  it("costs no more when the row came from nowhere, behind every server's back", async () => {
    const name = newTask();
    const run = await schedule(there, chain(name, 1));
    const rows = await hand.query("select from drover.ready where run_id = $1", [run.runId]);
    expect(rows).toHaveLength(1);
    await hand.query("begin");
    await hand.query(
      "create temp table hidden on commit drop as select * from drover.ready where run_id = $1",
      [run.runId],
    );
    await hand.query("delete from drover.ready where run_id = $1", [run.runId]);
    const polled = newAgent(here).take(name);
    await hand.query("insert into drover.ready select * from hidden");
    await hand.query("commit");
    await here.pollTick.runOnce();
    expect((await polled).runId).toBe(run.runId);
  });

  it("of a run's change costs the watcher a poll tick", async () => {
    const name = newTask();
    const run = await schedule(there, chain(name, 1));
    const changed = here.scheduler.runChange(run, 1, AbortSignal.timeout(10_000));
    await there.scheduler.command(run, { kind: "cancel", undo: false, note: "" });
    await here.pollTick.runOnce();
    await changed;
  });

  it("is compensated by the poll tick that runs by itself, within a second", async () => {
    const name = newTask();
    here.pollTick.start();
    const polled = newAgent(here).take(name);
    await schedule(there, chain(name, 1));
    const startedAt = performance.now();
    await polled;
    await here.pollTick.stop();
    expect(performance.now() - startedAt).toBeLessThan(2_500);
  });
});

describe("a task that was lost", () => {
  it("is reserved for another session, and for anyone after 2 s", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const loser = newAgent(here);
    await lose(here, hand, await loser.take(name));
    expect(await loser.poll(name, { waitMs: 0 })).toEqual([]);
    const reservedMs: number[] = [];
    await editPages(hand, run.runId, {
      step: (of) => {
        const { forward } = of.step;
        if (forward.kind !== "READY" || !forward.avoid) return of;
        reservedMs.push(forward.avoid.until - forward.readyAt);
        const anyone = { ...forward, avoid: { ...forward.avoid, until: Date.now() - 1 } };
        return { ...of, step: { ...of.step, forward: anyone } };
      },
    });
    expect(reservedMs).toEqual([2_000]);
    const waiting = loser.take(name);
    await here.pollTick.runOnce();
    expect((await waiting).fence).toBe(2);
  });

  it("goes at once to another session that waits", async () => {
    const name = newTask();
    await schedule(here, chain(name, 1));
    const loser = newAgent(here);
    const task = await loser.take(name);
    const again = loser.poll(name, { waitMs: 1_000 });
    const other = newAgent(here).take(name);
    await lose(here, hand, task);
    expect((await other).fence).toBe(2);
    expect(await again).toEqual([]);
  });

  it("hides no other work of its lane from the session that must not have it", async () => {
    const name = newTask();
    await schedule(here, chain(name, 1), { priority: 1 });
    const loser = newAgent(here);
    const task = await loser.take(name);
    await lose(here, hand, task);
    const free = await schedule(here, chain(name, 1));
    expect((await loser.take(name)).runId).toBe(free.runId);
  });
});

describe("an agent that a batch had reserved", () => {
  it("is queried again when the batch has nothing for it", async () => {
    const first = newTask();
    const second = newTask();
    const agent = newAgent(here);
    await schedule(here, chain(first, 2));
    const task = await agent.take(first);
    // Both wait for the first lane; one of them can be served from it, the other is only held up.
    const queues = [{ name: "default", weight: 1 }];
    const poll = (tasks: readonly string[]) =>
      here.dispatcher.poll(
        {
          namespace: here.namespace,
          queues,
          tasks,
          pollSeq: 1,
          maxTasks: 1,
          waitMs: 5_000,
          agent: { id: "waits", session: "ab".repeat(16), version: "1" },
          lostPolls: [],
        },
        UNENDED,
      );
    const served = poll([first]);
    const left = poll([first, second]);
    await here.pollTick.runOnce();
    const gate = gates.stopNext("advance");
    const reported = agent.report(task, success);
    await gate.reached;
    const run = await schedule(here, chain(second, 1));
    gate.open();
    await reported;
    expect((await served).tasks).toHaveLength(1);
    expect((await left).tasks.map(({ runId }) => runId)).toEqual([run.runId]);
  });
});

describe("a backlog", () => {
  it("is served before what becomes ready later, also by a hand-over", async () => {
    const name = newTask();
    const old = await schedule(there, wide(name, 3));
    await schedule(here, chain(name, 2), { priority: 1 });
    const agent = newAgent(here);
    const first = await agent.take(name);
    const answer = await agent.report(first, success);
    expect([first.stepId, answer]).toEqual(["s0", "accepted"]);
    const next = await agent.take(name);
    expect(next.stepId).toBe("s1");
    expect((await agent.take(name)).runId).toBe(old.runId);
  });

  it("of one priority goes by age, also past a hand-over", async () => {
    const name = newTask();
    await schedule(here, chain(name, 2));
    const agent = newAgent(here);
    const task = await agent.take(name);
    const old = await schedule(there, chain(name, 1));
    const waiting = newAgent(here).take(name);
    await waiting.then((got) => expect(got.runId).toBe(old.runId));
    const successor = newAgent(here).take(name);
    await agent.report(task, success);
    expect((await successor).runId).toBe(task.runId);
  });
});
