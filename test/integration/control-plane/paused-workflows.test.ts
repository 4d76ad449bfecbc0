/**
 * Workflows that are paused, on a real database with two servers: a claim, a report or a Schedule
 * that is under way while the pause is written leaves nothing behind that could be handed out.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import {
  type Agent,
  gatedStore,
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
/** A task, and so a lane, and a workflow that no other test uses. */
let task: string;
let workflow: string;

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers(gates.wrap));
});
beforeEach(() => {
  task = newTask();
  workflow = `workflow-${task}`;
});
afterAll(() => close?.());

function steps(count: number): Definition {
  return {
    workflow,
    steps: Array.from({ length: count }, (_, no) => ({
      id: `s${no}`,
      needs: no === 0 ? [] : [`s${no - 1}`],
      task,
    })),
  };
}

const of = () => ({ namespaceId: here.namespace.id, workflow });
const pause = (plane: TestPlane) => plane.scheduler.pauseWorkflow(of(), "");
const resume = (plane: TestPlane) => plane.scheduler.resumeWorkflow(of());
const pollNow = (agent: Agent) => agent.poll(task, { waitMs: 0 });
const isWritten = () =>
  expect
    .poll(() => hand.query("select from drover.paused_workflow where name = $1", [workflow]), {
      interval: 5,
    })
    .toHaveLength(1);

describe("a pause of a workflow", () => {
  it("waits for a claim that was under way: its task was granted before the pause", async () => {
    const run = await schedule(here, steps(1));
    const gate = gates.stopNext("claim");
    const granted = newAgent(here).take(task);
    await gate.reached;
    const paused = pause(there);
    const isOver = settledOf(paused);
    await isWritten();
    expect(isOver()).toBe(false);
    gate.open();
    await paused;
    expect((await granted).runId).toBe(run.runId);
  });

  it("holds what a report under way makes ready without knowing of it", async () => {
    const run = await schedule(here, steps(2));
    const agent = newAgent(here);
    const first = await agent.take(task);
    const gate = gates.stopNext("advance");
    const reported = agent.report(first, success);
    await gate.reached;
    const paused = pause(there);
    await isWritten();
    gate.open();
    expect(await reported).toBe("accepted");
    await paused;
    expect(await pollNow(newAgent(here))).toEqual([]);
    expect(await stateOf(here, run)).toBe("RUNNING");
    const waiting = newAgent(here).take(task);
    await here.pollTick.runOnce();
    await resume(here);
    expect(await waiting).toMatchObject({ runId: run.runId, stepId: "s1" });
  });

  it("holds a run that a Schedule under way begins without knowing of it", async () => {
    await schedule(there, steps(1));
    const gate = gates.stopNext("schedule");
    const scheduled = schedule(here, steps(1));
    await gate.reached;
    const paused = pause(there);
    await isWritten();
    gate.open();
    await Promise.all([scheduled, paused]);
    expect(await pollNow(newAgent(here))).toEqual([]);
  });

  it("waits for no locked row: one that a pass holds is held when the pass is over", async () => {
    const run = await schedule(here, steps(1));
    await hand.query("begin");
    await hand.query("select from drover.ready where run_id = $1 for update", [run.runId]);
    const paused = pause(here);
    await isWritten();
    await hand.query("commit");
    await paused;
    expect(await pollNow(newAgent(here))).toEqual([]);
  });

  it("lets leased work finish, and the run end", async () => {
    const run = await schedule(here, steps(1));
    const agent = newAgent(here);
    const mine = await agent.take(task);
    await pause(here);
    expect(await agent.heartbeat([mine])).toEqual(["carry-on"]);
    expect(await agent.report(mine, success)).toBe("accepted");
    expect(await stateOf(here, run)).toBe("COMPLETED");
  });
});

describe("a resume that dies halfway", () => {
  it("is finished by housekeeping", async () => {
    const run = await schedule(here, steps(1));
    await pause(here);
    // The pause is gone, with the note of it, and its ready rows are not back.
    await hand.query("delete from drover.paused_workflow where name = $1", [workflow]);
    await hand.query(
      `insert into drover.pin_move (namespace_id, workflow, asked_at)
       values ($1, $2, now() - interval '61 seconds')`,
      [here.namespace.id, workflow],
    );
    expect(await pollNow(newAgent(here))).toEqual([]);
    await here.store.forgetOld(100);
    expect((await newAgent(here).take(task)).runId).toBe(run.runId);
    expect(await hand.query("select from drover.pin_move")).toEqual([]);
  });

  it("leaves a note, as a pause does, which is gone when all rows are moved", async () => {
    await schedule(here, steps(1));
    const gate = gates.stopNext("claim");
    const granted = newAgent(here).take(task);
    await gate.reached;
    const paused = pause(there);
    await isWritten();
    const notes = () => hand.query("select from drover.pin_move where workflow = $1", [workflow]);
    expect(await notes()).toHaveLength(1);
    gate.open();
    await granted;
    await paused;
    expect(await notes()).toEqual([]);
  });
});
