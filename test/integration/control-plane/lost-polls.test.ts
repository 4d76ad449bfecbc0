/**
 * Answers that never arrived. An agent reports which of its polls ended without one, and every
 * lease granted to such a poll is given back at once, uncounted, on any server; nothing else gives
 * a task back.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Reported } from "../../../server/core/model/event.ts";
import { type TestPlane, UNENDED } from "../../support/control-plane.ts";
import { moveTimers } from "../../support/pages.ts";
import { until } from "../../support/until.ts";
import {
  chain,
  digestOf,
  gatedStore,
  historyOf,
  newAgent,
  newTask,
  openTwoServers,
  schedule,
  stateOf,
  success,
  type TwoServers,
  through,
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

/** The task ends before its agent has learned of it. */
async function endLease(runId: string, step: number): Promise<void> {
  const [lease] = await hand.query<{ fence: number; secret: string }>(
    `select fence, encode(secret, 'hex') as secret from drover.lease where run_id = $1 and step_no = $2`,
    [runId, step],
  );
  if (!lease) throw new Error(`step ${step} has no lease`);
  const outcome: Reported = { kind: "released" };
  const token = { namespace: "default", runId, step, task: "perform", ...lease } as const;
  await there.dispatcher.complete(
    {
      namespace: there.namespace,
      agent: { id: "any", session: "ab".repeat(16), version: "1" },
      results: [{ token, outcome, digest: digestOf(outcome) }],
      next: null,
    },
    UNENDED.gone,
  );
}

describe("a poll that an agent calls lost", () => {
  it("gives its tasks back at once and uncounted, on another server too", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const [never] = await agent.poll(name, { pollSeq: 1 });
    const [again] = await through(there, agent).poll(name, { pollSeq: 2, lostPolls: [1] });
    expect([never?.fence, never?.attempt]).toEqual([1, 1]);
    expect([again?.fence, again?.attempt]).toEqual([2, 1]);
    const { attempts, interventions } = await historyOf(here, run);
    expect(attempts.map(({ outcome }) => outcome.kind)).toEqual(["undelivered"]);
    expect(interventions.map(({ rule }) => rule)).toEqual(["delivery"]);
    if (!again) throw new Error("the task did not come back");
    expect(await agent.report(again, success)).toBe("accepted");
    expect(await stateOf(here, run)).toBe("COMPLETED");
  });

  it("is learned from a heartbeat as well", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    await agent.poll(name, { pollSeq: 1 });
    await through(there, agent).heartbeat([], [1]);
    // The heartbeat does not wait for it.
    await expect.poll(async () => (await historyOf(here, run)).attempts).toHaveLength(1);
    const other = await newAgent(here).take(name);
    expect([other.fence, other.attempt]).toEqual([2, 1]);
  });

  it("holds up no heartbeat that names it: the other tasks of the agent are retained meanwhile", async () => {
    const name = newTask();
    await schedule(here, wide(name, 2));
    const agent = newAgent(here);
    const [lost] = await agent.poll(name, { pollSeq: 1, maxTasks: 1 });
    const [retained] = await agent.poll(name, { pollSeq: 2, maxTasks: 1 });
    if (!lost || !retained) throw new Error("two tasks were due");
    // The transaction that gives the task back waits before its commit.
    const gate = gates.stopNext("advance");
    expect(await agent.heartbeat([retained], [1])).toEqual(["carry-on"]);
    await gate.reached;
    gate.open();
    expect(await agent.heartbeat([retained], [1])).toEqual(["carry-on"]);
    const [again] = await agent.poll(name, { pollSeq: 3, maxTasks: 1 });
    expect(again?.fence).toBe(2);
  });

  it("gives back only what was granted to that poll of that session", async () => {
    const name = newTask();
    const run = await schedule(here, wide(name, 3));
    const agent = newAgent(here);
    const [lost] = await agent.poll(name, { pollSeq: 1, maxTasks: 1 });
    const [retained] = await agent.poll(name, { pollSeq: 2, maxTasks: 1 });
    const other = newAgent(here);
    const [foreign] = await other.poll(name, { pollSeq: 1, maxTasks: 1 });
    if (!lost || !retained || !foreign) throw new Error("three tasks were due");
    await agent.heartbeat([retained], [1]);
    // A heartbeat does not wait for it.
    await until("the task is given back", async () => {
      const { attempts } = await historyOf(here, run);
      return attempts.some(({ outcome }) => outcome.kind === "undelivered") ? true : null;
    });
    expect(await agent.report(lost, success)).toBe("TASK_OVER");
    expect(await agent.report(retained, success)).toBe("accepted");
    expect(await other.report(foreign, success)).toBe("accepted");
  });

  it("changes nothing when it is named again, as it is for 30 s", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    await agent.poll(name, { pollSeq: 1 });
    await Promise.all([agent.heartbeat([], [1]), through(there, agent).heartbeat([], [1])]);
    const [again] = await agent.poll(name, { pollSeq: 2, lostPolls: [1] });
    if (!again) throw new Error("the task did not come back");
    await agent.heartbeat([again], [1]);
    await through(there, agent).heartbeat([again], [1]);
    expect(await agent.report(again, success)).toBe("accepted");
    expect((await historyOf(here, run)).attempts.map(({ outcome }) => outcome.kind)).toEqual([
      "undelivered",
      "success",
    ]);
  });
});

describe("a lease that its agent does not list", () => {
  it("stays with the agent: an omission proves nothing", async () => {
    const name = newTask();
    await schedule(here, wide(name, 2));
    const agent = newAgent(here);
    const [one, two] = await agent.poll(name, { pollSeq: 1 });
    if (!one || !two) throw new Error("two tasks were due");
    await agent.heartbeat([one]);
    await through(there, agent).heartbeat([]);
    expect(await agent.poll(name, { pollSeq: 2, waitMs: 0 })).toEqual([]);
    expect(await agent.heartbeat([one, two])).toEqual(["carry-on", "carry-on"]);
    expect(await agent.complete([one, two], success)).toEqual(["accepted", "accepted"]);
  });
});

describe("a poll that ends while its claim is under way", () => {
  it("is answered with the task when only its wait is over", async () => {
    const name = newTask();
    await schedule(there, chain(name, 1));
    const gate = gates.stopNext("claim");
    const polledAt = performance.now();
    const polled = newAgent(here).poll(name, { waitMs: 400 });
    await gate.reached;
    await expect.poll(() => performance.now() - polledAt).toBeGreaterThan(450);
    gate.open();
    expect(await polled).toHaveLength(1);
  });

  it("is answered with those of its tasks that still are, and gives none of them back", async () => {
    const name = newTask();
    const run = await schedule(there, wide(name, 3));
    const gate = gates.stopNext("taskFacts");
    const agent = newAgent(here);
    const polled = agent.poll(name, { maxTasks: 3 });
    await gate.reached;
    await endLease(run.runId, 0);
    gate.open();
    const tasks = await polled;
    expect(tasks.map(({ stepId }) => stepId)).toEqual(["s1", "s2"]);
    expect(await agent.complete(tasks, success)).toEqual(["accepted", "accepted"]);
    const { attempts, interventions } = await historyOf(here, run);
    expect(attempts.map(({ outcome }) => outcome.kind)).toEqual(["released", "success", "success"]);
    expect(interventions).toEqual([]);
  });

  it("is answered with the task, which no other agent gets, when its server drains", async () => {
    const name = newTask();
    const run = await schedule(there, chain(name, 1));
    const gate = gates.stopNext("claim");
    const drain = new AbortController();
    const agent = newAgent(here);
    const polled = agent.poll(name, { ends: { over: drain.signal } });
    await gate.reached;
    drain.abort();
    gate.open();
    const [task] = await polled;
    if (!task) throw new Error("what was claimed was not handed over");
    expect(await through(there, agent).report(task, success)).toBe("accepted");
    const { attempts, interventions } = await historyOf(here, run);
    expect(attempts.map(({ outcome }) => outcome.kind)).toEqual(["success"]);
    expect(interventions).toEqual([]);
  });

  it("gives the task back when it was cancelled before its answer", async () => {
    const name = newTask();
    const run = await schedule(there, chain(name, 1));
    const gate = gates.stopNext("claim");
    const call = new AbortController();
    const polled = newAgent(here).poll(name, { ends: { gone: call.signal } });
    await gate.reached;
    call.abort();
    gate.open();
    expect(await polled).toEqual([]);
    const other = await newAgent(here).take(name);
    expect([other.fence, other.attempt]).toEqual([2, 1]);
    const { attempts } = await historyOf(here, run);
    expect(attempts.map(({ outcome }) => outcome.kind)).toEqual(["undelivered"]);
  });

  it("leaves no lease behind that no agent holds, whenever it ends", async () => {
    const name = newTask();
    const runs = 60;
    // No server notifies the other of what is ready: each finds it by its poll tick.
    here.pollTick.start();
    there.pollTick.start();
    for (let run = 0; run < runs; run++) await schedule(there, chain(name, 1));
    const delivered: string[] = [];
    const polls = Array.from({ length: 90 }, async (_, at) => {
      const call = new AbortController();
      const agent = newAgent(at % 2 === 0 ? here : there);
      const answer = agent
        .poll(name, { ends: { gone: call.signal }, maxTasks: 1, waitMs: 3_000 })
        .then((tasks) => {
          if (!call.signal.aborted) delivered.push(...tasks.map(({ runId }) => runId));
        });
      // Every third caller goes away, at another turn of the loop each.
      if (at % 3 === 0) {
        for (let turn = 0; turn < at; turn++) await new Promise(setImmediate);
        call.abort();
      }
      await answer;
    });
    await expect.poll(() => delivered.length, { timeout: 10_000 }).toBe(runs);
    await Promise.all(polls);
    expect(new Set(delivered).size).toBe(runs);
    const held = (await hand.leases()).map(({ run_id: runId }) => runId);
    expect(held.filter((runId) => delivered.includes(runId))).toHaveLength(runs);
  });
});

describe("a task that never arrives", () => {
  it("backs off after each lost poll but two, and asks a person after ten in a row", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    for (let pollSeq = 1; pollSeq <= 10; pollSeq++) {
      const isReady = pollSeq <= 3;
      const early = isReady ? [] : await newAgent(there).poll(name, { waitMs: 0 });
      expect(early).toEqual([]);
      if (!isReady) {
        await moveTimers(hand, run.runId);
        await here.advance.submit(run, { kind: "due-timer", step: 0, on: "backoff" });
      }
      expect(await agent.poll(name, { pollSeq, waitMs: 0 })).toHaveLength(1);
      await agent.heartbeat([], [pollSeq]);
      const ended = async () => (await historyOf(here, run)).attempts.length;
      await expect.poll(ended).toBe(pollSeq);
    }
    expect(await stateOf(here, run)).toBe("ESCALATED");
    const { attempts, escalations } = await historyOf(here, run);
    expect(attempts).toHaveLength(10);
    expect(escalations).toMatchObject([{ reason: "poison", code: "drover.undelivered" }]);
  });
});
