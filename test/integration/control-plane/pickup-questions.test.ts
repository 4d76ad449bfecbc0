/** `on_pickup: escalate`: one question for a lane that no agent polls, however many tasks wait. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveTimers } from "../../support/pages.ts";
import {
  chain,
  gatedStore,
  historyOf,
  newAgent,
  newTask,
  openTwoServers,
  schedule,
  type TwoServers,
  wide,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

const gates = gatedStore();
const asks = { onPickup: "escalate", timeouts: { pickupMs: 1_000 } } as const;
let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers(gates.wrap));
});
afterAll(() => close?.());

type Run = Awaited<ReturnType<typeof schedule>>;

const due = (run: Run) => moveTimers(hand, run.runId);
/** Two runs of a task each, which should have been taken by now. */
async function twoDue(first: string, second: string): Promise<readonly [Run, Run]> {
  const one = await schedule(here, chain(first, 1, asks));
  const two = await schedule(here, chain(second, 1, asks));
  await Promise.all([one, two].map(due));
  return [one, two];
}

/** No agent has polled for it in time. */
const unpolled = (plane: TestPlane, run: Run, step = 0) =>
  plane.advance.submit(run, { kind: "ready-timer", step, fence: 1, polled: false });
const questions = async (...runs: readonly Run[]) => {
  const details = await Promise.all(runs.map((run) => historyOf(here, run)));
  return details.flatMap(({ escalations, run }) =>
    escalations.filter(({ closedAt }) => closedAt === null).map(({ n }) => ({ run, n })),
  );
};

describe("a lane that no agent polls", () => {
  it("is asked about once, though many of its tasks are due in one batch", async () => {
    const run = await schedule(here, wide(newTask(), 20, asks));
    await due(run);
    await Promise.all(Array.from({ length: 20 }, (_, step) => unpolled(here, run, step)));
    const { escalations, interventions } = await historyOf(here, run);
    expect(escalations).toHaveLength(1);
    expect(interventions.filter(({ did }) => did === "asked a person")).toHaveLength(1);
    expect(interventions).toHaveLength(20);
  });

  it("is asked about once, though two servers find its tasks at the same time", async () => {
    const task = newTask();
    const [one, two] = await twoDue(task, task);
    const gate = gates.stopNext("advance");
    const first = unpolled(here, one);
    await gate.reached;
    const second = unpolled(there, two);
    await hand.untilWaiting("pg_advisory_xact_lock");
    gate.open();
    await Promise.all([first, second]);
    expect(await questions(one, two)).toHaveLength(1);
  });

  it("has its other tasks taken once an agent is there, without an answer", async () => {
    const task = newTask();
    const [one, two] = await twoDue(task, task);
    await unpolled(here, one);
    await unpolled(here, two);
    expect((await newAgent(here).take(task)).runId).toBe(two.runId);
  });

  it("is asked about again when the answer has changed nothing", async () => {
    const task = newTask();
    const [one, two] = await twoDue(task, task);
    await unpolled(here, one);
    const [asked] = await questions(one);
    if (!asked) throw new Error("a person should be asked");
    const answer = { kind: "answer", answer: "fail", by: "ada", why: "", payload: null } as const;
    await here.scheduler.command(one, { ...answer, n: asked.n });
    await unpolled(here, two);
    expect(await questions(one, two)).toHaveLength(1);
  });

  it("does not concern another lane", async () => {
    const runs = await twoDue(newTask(), newTask());
    await Promise.all(runs.map((run) => unpolled(here, run)));
    expect(await questions(...runs)).toHaveLength(2);
  });
});
