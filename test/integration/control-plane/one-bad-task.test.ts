/**
 * One task of a claim cannot be made. It ends alone, and a person is asked; the other tasks of the
 * claim are delivered.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import {
  chain,
  historyOf,
  newAgent,
  newTask,
  openTwoServers,
  schedule,
  stateOf,
  success,
  type TwoServers,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

const HEALTHY = 5;
let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers());
});
afterAll(() => close?.());

/** One run that can be spoilt, and healthy ones that the same claim takes. */
async function beside(task: string, bad: Definition, json = "{}") {
  const odd = await schedule(here, bad, { input: { kind: "json", json } });
  const healthy = await Promise.all(
    Array.from({ length: HEALTHY }, () => schedule(here, chain(task, 1))),
  );
  return { odd, healthy };
}

/** On a server that has cached nothing of these runs. */
async function workThrough(task: string): Promise<readonly string[]> {
  const agent = newAgent(there);
  const tasks = await agent.poll(task, { maxTasks: 10 });
  expect(tasks).toHaveLength(HEALTHY);
  return agent.complete(tasks, success);
}

describe("a claim with one task that cannot be made", () => {
  it("delivers the others, and asks a person about the one whose input fails", async () => {
    const task = newTask();
    const input = { kind: "json", json: `{"v":"\${input.x.y}"}` } as const;
    const bad = { ...chain(task, 1, { input }), workflow: "odd-input" };
    const { odd, healthy } = await beside(task, bad, '{"x":{"y":1}}');
    await hand.query(`update drover.run set input_json = '{"x":{}}' where id = $1`, [odd.runId]);
    expect(await workThrough(task)).toEqual(Array(HEALTHY).fill("accepted"));
    for (const run of healthy) expect(await stateOf(here, run)).toBe("COMPLETED");
    await expect.poll(() => stateOf(here, odd)).toBe("ESCALATED");
    const { escalations, interventions, attempts } = await historyOf(here, odd);
    expect(escalations).toMatchObject([{ reason: "expression", code: "drover.expression" }]);
    expect(interventions.map(({ rule }) => rule)).toEqual(["delivery"]);
    expect(attempts.map(({ outcome }) => outcome.kind)).toEqual(["unsent"]);
  });

  it("delivers the others of a run whose stored definition cannot be read", async () => {
    const task = newTask();
    const workflow = `odd-${task}`;
    const { odd, healthy } = await beside(task, { ...chain(task, 1), workflow });
    await hand.query(`update drover.definition set body = $2 where body like $1`, [
      `%${workflow}%`,
      JSON.stringify({ workflow }),
    ]);
    expect(await workThrough(task)).toEqual(Array(HEALTHY).fill("accepted"));
    for (const run of healthy) expect(await stateOf(here, run)).toBe("COMPLETED");
    // Nothing can be decided about it: it keeps its lease, and is not handed out again.
    expect(await stateOf(here, odd)).toBe("RUNNING");
    expect((await hand.leases()).filter(({ run_id }) => run_id === odd.runId)).toHaveLength(1);
  });
});
