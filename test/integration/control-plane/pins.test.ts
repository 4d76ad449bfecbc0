/**
 * Pins of agent versions, on a real database with two servers: once a pin is acknowledged no agent
 * of another version gets such a task, whatever calls are in flight, and what is unpinned is
 * for all again.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Definition, StepRules } from "../../../server/core/definition/definition.ts";
import { eventOf } from "../../../server/supervisor/due-events.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveTimers } from "../../support/pages.ts";
import {
  type Agent,
  gatedStore,
  historyOf,
  newAgent,
  newTask,
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
/** A queue, a task and a workflow that no other test uses. */
let task: string;
let queue: string;
let workflow: string;

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers(gates.wrap));
});
beforeEach(() => {
  task = newTask();
  queue = `queue-${task}`;
  workflow = `workflow-${task}`;
});
afterAll(() => close?.());

function steps(count: number, more: Partial<StepRules> = {}): Definition {
  return {
    workflow,
    steps: Array.from({ length: count }, (_, no) => ({
      id: `s${no}`,
      needs: no === 0 ? [] : [`s${no - 1}`],
      task,
      queue,
      ...more,
    })),
  };
}

const of = (version = 0) => ({ namespaceId: here.namespace.id, queue, workflow, version });
const pin = (plane: TestPlane, agentVersion: string, version = 0) =>
  plane.scheduler.pinQueue(of(version), agentVersion);
const unpin = (plane: TestPlane, version = 0) => plane.scheduler.unpinQueue(of(version));
const ofVersion = (plane: TestPlane, version: string) => newAgent(plane, undefined, { version });
/** What it gets at once, by step or run. */
const pollNow = (agent: Agent, any = false) => agent.poll(any ? "" : task, { queue, waitMs: 0 });
const take = (agent: Agent, any = false) => agent.take(any ? "" : task, { queue });

/** The workflow is known, and has a run. */
async function startRun(length = 1, more: Partial<StepRules> = {}) {
  const run = await schedule(here, steps(length, more));
  return { run, runId: run.runId };
}

const isPinned = () =>
  expect
    .poll(() => hand.query("select from drover.version_pin where workflow = $1", [workflow]), {
      interval: 5,
    })
    .toHaveLength(1);

describe("a pin", () => {
  it("gives what is ready, and what becomes so, to agents of its version alone", async () => {
    const { runId } = await startRun();
    await pin(there, "2");
    await here.circuits.runOnce();
    const later = await startRun();
    expect(await pollNow(newAgent(here))).toEqual([]);
    expect(await pollNow(newAgent(here), true)).toEqual([]);
    const got = await pollNow(ofVersion(here, "2"));
    expect(got.map((one) => one.runId)).toEqual([runId, later.runId]);
  });

  it("keeps nothing else from any agent, also not from agents of its version", async () => {
    await startRun();
    await pin(here, "2");
    const other = () => schedule(here, { ...steps(1), workflow: `${workflow}-other` });
    const one = await other();
    const two = await other();
    expect((await take(newAgent(here))).runId).toBe(one.runId);
    const got = await pollNow(ofVersion(here, "2"), true);
    expect(got.map(({ runId }) => runId)).toContain(two.runId);
    expect(got).toHaveLength(2);
  });

  it("lets an agent finish what it has; the next step is for the version", async () => {
    const { run } = await startRun(2);
    const agent = newAgent(here);
    const mine = await take(agent);
    await pin(here, "2");
    expect(await agent.heartbeat([mine])).toEqual(["carry-on"]);
    expect(await agent.report(mine, success)).toBe("accepted");
    expect(await pollNow(agent)).toEqual([]);
    const next = ofVersion(here, "2");
    expect(await next.report(await take(next), success)).toBe("accepted");
    expect(await stateOf(here, run)).toBe("COMPLETED");
  });

  it("of a version goes before that of every version", async () => {
    const one = steps(1);
    const definitionId = await here.store.internDefinition(here.namespace.id, one);
    await here.store.registerWorkflow({
      namespaceId: here.namespace.id,
      name: workflow,
      definitionId,
      keepDefault: false,
    });
    await pin(here, "new");
    await pin(here, "old", 1);
    const first = await schedule(here, one);
    const second = await schedule(here, steps(2));
    await here.circuits.runOnce();
    expect((await pollNow(ofVersion(here, "old"))).map(({ runId }) => runId)).toEqual([
      first.runId,
    ]);
    expect((await pollNow(ofVersion(here, "new"))).map(({ runId }) => runId)).toEqual([
      second.runId,
    ]);
  });

  it("hands a successor to an agent that waits in the commit that makes it ready", async () => {
    await startRun(2);
    await pin(here, "2");
    const agent = ofVersion(here, "2");
    const first = await take(agent);
    const waiting = take(ofVersion(here, "2"));
    await here.pollTick.runOnce();
    await agent.report(first, success);
    expect(await waiting).toMatchObject({ runId: first.runId, stepId: "s1" });
  });

  it("is known within a second to polls that wait on another server, of one task or of any", async () => {
    for (const any of [false, true]) {
      const waiting = take(ofVersion(there, "2"), any);
      await there.pollTick.runOnce();
      await startRun();
      await pin(here, "2");
      const run = await schedule(here, steps(1));
      await there.circuits.runOnce();
      await waiting;
      const got = await take(ofVersion(here, "2"));
      expect([got.workflow, got.runId <= run.runId]).toEqual([workflow, true]);
      await unpin(here);
      task = newTask();
      queue = `queue-${task}`;
    }
  });

  it("is for agents of its version also where the task is new to the queue", async () => {
    await startRun();
    await pin(here, "2");
    const fresh = { ...steps(1), steps: [{ id: "f", needs: [], task: `${task}-fresh`, queue }] };
    const run = await schedule(here, fresh);
    const waiting = ofVersion(there, "2").take(`${task}-fresh`, { queue });
    await there.circuits.runOnce();
    expect((await waiting).runId).toBe(run.runId);
  });

  it("and a pause of the workflow hold together, whichever goes first", async () => {
    const { runId } = await startRun();
    const paused = { namespaceId: here.namespace.id, workflow };
    await here.scheduler.pauseWorkflow(paused, "");
    await pin(there, "2");
    await here.circuits.runOnce();
    expect(await pollNow(ofVersion(here, "2"))).toEqual([]);
    await there.scheduler.resumeWorkflow(paused);
    expect(await pollNow(newAgent(here))).toEqual([]);
    expect((await take(ofVersion(here, "2"))).runId).toBe(runId);
  });
});

describe("a pin that is taken back", () => {
  it("gives what waits for its version to any agent at once", async () => {
    const { runId } = await startRun();
    await pin(here, "2");
    const waiting = take(newAgent(here));
    await here.pollTick.runOnce();
    await unpin(here);
    expect((await waiting).runId).toBe(runId);
  });

  it("gives it to an agent that waits on another server within a poll tick", async () => {
    const { runId } = await startRun();
    await pin(here, "2");
    const waiting = take(newAgent(there));
    await unpin(here);
    await there.pollTick.runOnce();
    expect((await waiting).runId).toBe(runId);
  });

  it("leaves to the pin of every version what that one keeps", async () => {
    const definitionId = await here.store.internDefinition(here.namespace.id, steps(1));
    await here.store.registerWorkflow({
      namespaceId: here.namespace.id,
      name: workflow,
      definitionId,
      keepDefault: false,
    });
    const { runId } = await startRun();
    await pin(here, "new");
    await pin(here, "old", 1);
    await unpin(here, 1);
    expect(await pollNow(newAgent(here))).toEqual([]);
    expect((await take(ofVersion(here, "new"))).runId).toBe(runId);
  });
});

describe("what is under way while a pin is written", () => {
  it("is waited for if it is a claim: its task was granted before the pin", async () => {
    const { runId } = await startRun();
    const gate = gates.stopNext("claim");
    const granted = take(newAgent(here));
    await gate.reached;
    const pinned = pin(there, "2");
    const isOver = settledOf(pinned);
    await isPinned();
    expect(isOver()).toBe(false);
    gate.open();
    await pinned;
    expect((await granted).runId).toBe(runId);
  });

  it("is moved if a report makes it ready without knowing of the pin", async () => {
    const { runId } = await startRun(2);
    const agent = newAgent(here);
    const first = await take(agent);
    const gate = gates.stopNext("advance");
    const reported = agent.report(first, success);
    await gate.reached;
    const pinned = pin(there, "2");
    await isPinned();
    gate.open();
    expect(await reported).toBe("accepted");
    await pinned;
    expect(await pollNow(newAgent(here))).toEqual([]);
    await here.circuits.runOnce();
    expect(await take(ofVersion(here, "2"))).toMatchObject({ runId, stepId: "s1" });
  });

  it("is moved if a Schedule begins a run without knowing of the pin", async () => {
    await schedule(there, steps(1));
    const gate = gates.stopNext("schedule");
    const scheduled = schedule(here, steps(1));
    await gate.reached;
    const pinned = pin(there, "2");
    await isPinned();
    gate.open();
    await Promise.all([scheduled, pinned]);
    expect(await pollNow(newAgent(here))).toEqual([]);
    await here.circuits.runOnce();
    expect(await pollNow(ofVersion(here, "2"))).toHaveLength(2);
  });

  it("is moved back if a report puts it where the pin was, which is taken back", async () => {
    const { runId } = await startRun(2);
    await pin(here, "2");
    const agent = ofVersion(here, "2");
    const first = await take(agent);
    const gate = gates.stopNext("advance");
    const reported = agent.report(first, success);
    await gate.reached;
    const unpinned = unpin(there);
    await expect
      .poll(() => hand.query("select from drover.version_pin where workflow = $1", [workflow]))
      .toEqual([]);
    gate.open();
    await Promise.all([reported, unpinned]);
    expect(await take(newAgent(here))).toMatchObject({ runId, stepId: "s1" });
  });

  it("waits for no locked row: one that a pass holds is moved when the pass is over", async () => {
    const { runId } = await startRun();
    await hand.query("begin");
    await hand.query("select from drover.ready where run_id = $1 for update", [runId]);
    const pinned = pin(here, "2");
    await isPinned();
    await hand.query("commit");
    await pinned;
    expect(await pollNow(newAgent(here))).toEqual([]);
  });

  it("is waited for if it makes a lane that the class of the pin is to have too", async () => {
    await startRun();
    const fresh = `${task}-fresh`;
    await hand.query("begin");
    await hand.query(`insert into drover.lane (namespace_id, queue, task) values ($1, $2, $3)`, [
      here.namespace.id,
      queue,
      fresh,
    ]);
    const pinned = pin(here, "2");
    const classes = () => hand.query("select from drover.version_class where queue = $1", [queue]);
    await expect.poll(classes, { interval: 5 }).toHaveLength(1);
    await hand.query("commit");
    await pinned;
    const lanes = await hand.query<{ task: string }>(
      "select task from drover.version_lane where queue = $1 order by task",
      [queue],
    );
    expect(lanes.map((lane) => lane.task)).toEqual([task, fresh]);
  });
});

describe("a change of pins whose server dies in the middle", () => {
  /** The change is written, with the note that rows are to be moved, and none is. */
  const leave = async (change: string) => {
    await hand.query(change, [queue]);
    await hand.query(
      `insert into drover.pin_move (namespace_id, workflow, asked_at)
       values ($1, $2, now() - interval '2 minutes')`,
      [here.namespace.id, workflow],
    );
  };
  const housekeeping = async () => {
    await here.store.forgetOld(100);
    expect(await hand.query("select from drover.pin_move")).toEqual([]);
  };

  it("is finished by housekeeping: what it has taken back is for all", async () => {
    const { runId } = await startRun();
    await pin(here, "2");
    await leave("delete from drover.version_pin where queue = $1");
    expect(await pollNow(newAgent(here))).toEqual([]);
    await housekeeping();
    expect((await take(newAgent(here))).runId).toBe(runId);
  });

  it("is finished by housekeeping: what it has pinned is for the version", async () => {
    const { runId } = await startRun();
    await pin(here, "3");
    await pin(here, "2");
    await leave(`update drover.version_pin set class = 3 - class where queue = $1`);
    await housekeeping();
    expect(await pollNow(newAgent(here))).toEqual([]);
    expect(await pollNow(ofVersion(here, "2"))).toEqual([]);
    expect((await take(ofVersion(here, "3"))).runId).toBe(runId);
  });
});

describe("the pickup watch", () => {
  it("names the version that no agent has, and asks about it beside the rest of the task", async () => {
    const asks = { onPickup: "escalate", timeouts: { pickupMs: 1_000 } } as const;
    const free = await schedule(here, { ...steps(1, asks), workflow: `${workflow}-free` });
    const { run } = await startRun(1, asks);
    await pin(here, "2.1");
    for (const one of [free, run]) {
      await moveTimers(hand, one.runId);
      const { due } = await here.store.dueRows([one.partition], 500);
      const row = due.find(({ runId }) => runId === one.runId);
      if (!row) throw new Error("the ready row should be due");
      await here.advance.submit(one, eventOf(row, 0));
    }
    const questions = await Promise.all([free, run].map((one) => historyOf(here, one)));
    const messages = questions.map(({ escalations }) => escalations.map(({ message }) => message));
    expect(messages).toEqual([
      [expect.stringContaining(`no agent polls queue "${queue}"`)],
      [expect.stringContaining(`no agent of version "2.1" polls queue "${queue}"`)],
    ]);
  });
});
