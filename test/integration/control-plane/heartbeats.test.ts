/**
 * Heartbeats belong to the session and are durable when answered: what one server received, another
 * one's supervisor knows, and a cancel arrives wherever the agent sends one.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveGrant } from "../../support/pages.ts";
import {
  chain,
  historyOf,
  newAgent,
  newTask,
  openTwoServers,
  schedule,
  stateOf,
  type TwoServers,
  through,
  tokenOf,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers());
});
afterAll(() => close?.());

/**
 * The first timer of the lease was due long ago, and the supervisor has watched for longer still.
 */
async function scanLate(plane: TestPlane, task: HandedTask): Promise<void> {
  const { runId, step, fence } = tokenOf(task);
  await moveGrant(hand, runId, { step, to: Date.now() - 3_600_000 });
  const partition = Number.parseInt(runId.slice(-2), 16);
  const event = {
    kind: "lease-timer",
    step,
    fence,
    lastHeartbeatAt: null,
    watchingSince: 0,
  } as const;
  await plane.advance.submit({ runId, partition }, event);
}

describe("a heartbeat", () => {
  it("through one server keeps the lease that another one watches", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const task = await agent.take(name);
    expect(await through(there, agent).heartbeat([task])).toEqual(["carry-on"]);
    await scanLate(here, task);
    expect((await historyOf(here, run)).interventions).toEqual([]);
    const [lease] = await hand.query<{ later: boolean }>(
      "select next_check_at > now() as later from drover.lease_view where run_id = $1",
      [run.runId],
    );
    expect(lease).toEqual({ later: true });
  });

  it("that never came ends the lease, whichever server scans", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const task = await agent.take(name);
    await scanLate(there, task);
    expect((await historyOf(here, run)).interventions.map(({ rule }) => rule)).toEqual(["lease"]);
    expect(await agent.heartbeat([task])).toEqual(["lease-lost"]);
  });

  it("learns at one server of a cancel that was asked for at another", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const task = await agent.take(name);
    await here.scheduler.command(run, { kind: "cancel", undo: true, note: "" });
    expect(await stateOf(there, run)).toBe("STOPPING");
    expect(await through(there, agent).heartbeat([task])).toEqual(["cancel"]);
    // From now on no heartbeat extends the lease.
    expect(await agent.heartbeat([task])).toEqual(["cancel"]);
    await agent.report(task, { kind: "cancelled", noEffect: true });
    expect(await stateOf(there, run)).toBe("CANCELLED");
  });

  it("of another session keeps nothing", async () => {
    const name = newTask();
    await schedule(here, chain(name, 1));
    const task = await newAgent(here).take(name);
    expect(await newAgent(here).heartbeat([task])).toEqual(["lease-lost"]);
  });
});
