/**
 * Lock waits. Phase 1 of a transaction may wait and has one order, phase 2 waits for
 * queues with limits alone, and what one run has to wait for delays no other run. The test locks
 * rows by hand and queries which sessions wait.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveGrant, moveTimers } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  busy,
  chain,
  gatedStore,
  historyOf,
  newAgent,
  newTask,
  openQuietPlane,
  schedule,
  stateOf,
  success,
  tokenOf,
  wide,
} from "./fixture.ts";
import { type Hand, openHand } from "./hand.ts";

const gates = gatedStore();
let database: TestDatabase;
let hand: Hand;
let holder: Hand;
let plane: TestPlane;
let other: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  holder = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString, gates.wrap);
  other = await openQuietPlane(database.connectionString);
});
afterEach(async () => {
  await holder.query("rollback");
});
afterAll(async () => {
  await plane?.close();
  await other?.close();
  await holder?.close();
  await hand?.close();
  await database?.drop();
});

async function hold(runId: string): Promise<void> {
  await holder.query("begin");
  await holder.query("select from drover.run_page where run_id = $1 and no = 0 for update", [
    runId,
  ]);
}

const release = () => holder.query("rollback");

describe("a claim and a pass over the same run", () => {
  it("do not deadlock: the pass waits for the claim and finds the row as a lease", async () => {
    const name = newTask();
    const run = await schedule(other, chain(name, 1));
    const gate = gates.stopNext("claim");
    const polled = newAgent(plane).take(name);
    await gate.reached;
    const cancelled = other.scheduler.command(run, { kind: "cancel", undo: true, note: "enough" });
    await hand.untilWaiting("for no key update of p");
    gate.open();
    expect(await cancelled).toEqual({ kind: "done" });
    const task = await polled;
    expect(await stateOf(plane, run)).toBe("STOPPING");
    const agent = newAgent(plane);
    expect(await agent.report(task, { kind: "cancelled", noEffect: true })).toBe("accepted");
    expect(await stateOf(plane, run)).toBe("CANCELLED");
  });

  it("do not deadlock the other way: the claim passes over what the pass has locked", async () => {
    const name = newTask();
    const held = await schedule(other, chain(name, 1));
    const free = await schedule(other, chain(name, 1));
    const gate = gates.stopNext("advance");
    const cancelled = plane.scheduler.command(held, { kind: "cancel", undo: true, note: "enough" });
    await gate.reached;
    const tasks = await newAgent(other).poll(name);
    gate.open();
    await cancelled;
    expect(tasks.map(({ runId }) => runId)).toEqual([free.runId]);
    expect(await stateOf(plane, held)).toBe("CANCELLED");
    expect(await newAgent(other).poll(name, { waitMs: 0 })).toEqual([]);
  });

  it("hand over to each other crosswise without a deadlock", async () => {
    const one = newTask();
    const two = newTask();
    const runs = await Promise.all([
      schedule(plane, chain(one, 2)),
      schedule(plane, chain(two, 2)),
    ]);
    const agent = newAgent(plane);
    const mine = await agent.take(one);
    const theirs = await newAgent(other).take(two);
    // Each plane ends a step of one run while an agent there waits for what the other makes ready.
    const waiting = [newAgent(plane).take(two), newAgent(other).take(one)];
    expect(
      await Promise.all([agent.report(mine, success), newAgent(other).report(theirs, success)]),
    ).toEqual(["accepted", "accepted"]);
    await Promise.all([plane.pollTick.runOnce(), other.pollTick.runOnce()]);
    const next = await Promise.all(waiting);
    expect(next.map(({ runId }) => runId).sort()).toEqual(runs.map(({ runId }) => runId).sort());
  });
});

describe("a run that another transaction holds", () => {
  it("delays only its own reports; the rest of the batch is committed", async () => {
    const name = newTask();
    const runs = [];
    for (let run = 0; run < 4; run++) runs.push(await schedule(plane, chain(name, 1)));
    const agent = newAgent(plane);
    const tasks = await agent.poll(name);
    const stuck = runs[1]?.runId ?? "";
    await hold(stuck);
    const answers = new Map<string, string>();
    const reports = tasks.map(async (task) => {
      answers.set(task.runId, await agent.report(task, success));
    });
    await expect.poll(() => answers.size, { interval: 5 }).toBe(3);
    expect(answers.has(stuck)).toBe(false);
    await release();
    await Promise.all(reports);
    expect([...answers.values()]).toEqual(["accepted", "accepted", "accepted", "accepted"]);
  });

  it("is waited for by a batch of its own after three misses, and others are flushed beside it", async () => {
    const name = newTask();
    const run = await schedule(plane, wide(name, 2));
    const free = await schedule(plane, chain(name, 3));
    const agent = newAgent(plane);
    const tasks = await agent.poll(name);
    const mine = tasks.filter(({ runId }) => runId === run.runId);
    const theirs = tasks.find(({ runId }) => runId === free.runId);
    if (!theirs) throw new Error("three tasks were due");
    await hold(run.runId);
    const stuck = agent.complete(mine, success);
    await hand.untilWaiting("for no key update of p");
    expect(await agent.report(theirs, success)).toBe("accepted");
    expect(await agent.report(await agent.take(name), success)).toBe("accepted");
    await release();
    expect(await stuck).toEqual(["accepted", "accepted"]);
    expect(await stateOf(plane, run)).toBe("COMPLETED");
  });

  it("for longer than two waits of a second: the call gets a retryable error, and changed nothing", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    const task = await agent.take(name);
    await hold(run.runId);
    await expect(agent.report(task, success)).rejects.toMatchObject({
      reason: "STORE_UNAVAILABLE",
    });
    await release();
    expect((await historyOf(plane, run)).attempts).toEqual([]);
    expect(await agent.report(task, success)).toBe("accepted");
  });

  it("and that ends meanwhile is found as ended", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    const task = await agent.take(name);
    const gate = gates.stopNext("advance");
    const first = agent.report(task, success);
    await gate.reached;
    const second = newAgent(other).report(task, success);
    await hand.untilWaiting("for no key update of p");
    gate.open();
    expect(await first).toBe("accepted");
    expect(await second).toBe("repeated");
    expect(await stateOf(plane, run)).toBe("COMPLETED");
  });
});

describe("a supervisor", () => {
  /** A step whose backoff is over. */
  async function overdue() {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    await agent.report(await agent.take(name), busy);
    await moveTimers(hand, run.runId);
    return run;
  }

  it("continues to scan while one of its runs is held", async () => {
    const watched = await openQuietPlane(database.connectionString);
    const held = await overdue();
    await hold(held.runId);
    await watched.start();
    await hand.untilWaiting("for no key update of p");
    const rules = async (run: RunRef) =>
      (await historyOf(plane, run)).interventions.map(({ rule }) => rule);
    for (let round = 0; round < 3; round++) {
      const run = await overdue();
      await expect.poll(() => rules(run), { timeout: 5_000 }).toEqual(["backoff"]);
    }
    expect(await rules(held)).toEqual([]);
    await release();
    await expect.poll(() => rules(held), { timeout: 5_000 }).toEqual(["backoff"]);
    await watched.close();
  });
});

describe("a batch with one bad item", () => {
  it("commits the others; the bad one fails alone and changed nothing", async () => {
    const name = newTask();
    await schedule(plane, wide(name, 4));
    await schedule(plane, wide(name, 4));
    const agent = newAgent(plane);
    const tasks = await agent.poll(name);
    expect(tasks).toHaveLength(8);
    // The wire cannot carry it, the edge refuses it: only a bug brings a NUL this far. It is too
    // large for the page, in which the codec would escape it.
    const json = `"a\u0000${"b".repeat(1_000)}"`;
    const nul = { kind: "success", output: { kind: "json", json } } as const;
    const bad = tasks[5];
    const answers = await agent.complete(tasks, (task) => (task === bad ? nul : success));
    expect(answers.filter((answer) => answer === "accepted")).toHaveLength(7);
    expect(answers[5]).toBe("INTERNAL");
    if (!bad) throw new Error("eight tasks were due");
    expect(await agent.heartbeat([bad])).toEqual(["carry-on"]);
    expect(await agent.report(bad, success)).toBe("accepted");
  });
});

describe("a heartbeat", () => {
  it("that reports something is not answered while a pass holds its page", async () => {
    const name = newTask();
    await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    const task = await agent.take(name);
    const { runId, step, fence, secret } = tokenOf(task);
    const gate = gates.stopNext("advance");
    const ended = agent.report(task, success);
    await gate.reached;
    const answer = await other.store.heartbeat([
      {
        namespaceId: 1,
        session: agent.session,
        agentId: "a",
        agentVersion: "1",
        reports: [{ runId, step, fence, secret, progress: "half", details: null }],
      },
    ]);
    gate.open();
    await ended;
    expect(answer).toMatchObject({ answers: [[{ kind: "busy" }]], forgotten: [] });
    expect(await agent.heartbeat([task])).toEqual(["lease-lost"]);
  });

  it("waits for a pass that ends a silent lease: none ends that just got the answer to carry on", async () => {
    const name = newTask();
    const run = await schedule(plane, chain(name, 1));
    const agent = newAgent(plane);
    const task = await agent.take(name);
    const { runId, step, fence, secret } = tokenOf(task);
    await moveGrant(hand, runId, { step, to: Date.now() - 3_600_000 });
    const gate = gates.stopNext("advance");
    const event = {
      kind: "lease-timer",
      step,
      fence,
      lastHeartbeatAt: null,
      watchingSince: 0,
    } as const;
    const ended = plane.advance.submit(run, event);
    await gate.reached;
    const answered = other.store.heartbeat([
      {
        namespaceId: 1,
        session: agent.session,
        agentId: "a",
        agentVersion: "1",
        reports: [{ runId, step, fence, secret, progress: null, details: null }],
      },
    ]);
    await hand.untilWaiting("insert into drover.agent_session as s");
    gate.open();
    await ended;
    expect(await answered).toMatchObject({ answers: [[{ kind: "lease-lost" }]], forgotten: [] });
    expect((await historyOf(plane, run)).interventions.map(({ rule }) => rule)).toEqual(["lease"]);
  });
});
