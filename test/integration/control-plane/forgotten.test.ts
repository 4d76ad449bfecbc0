/**
 * A session states that it lists all tasks of its polls up to one. A task that it omits is
 * forgotten, on whatever server it reports this, however late, and however often.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestPlane } from "../../support/control-plane.ts";
import {
  chain,
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

const gates = gatedStore();
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];

beforeAll(async () => {
  ({ here, there, close } = await openTwoServers(gates.wrap));
});
afterAll(() => close?.());

async function outcomesOf(run: Awaited<ReturnType<typeof schedule>>): Promise<readonly string[]> {
  return (await historyOf(here, run)).attempts.map(({ outcome }) => outcome.kind);
}

describe("a task that a list of all leaves out", () => {
  it("ends as lost, and counts, whichever server is notified", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    await agent.take(name, { pollSeq: 1 });
    await through(there, agent).heartbeat([], [], 1);
    const again = await newAgent(there).take(name);
    expect([again.fence, again.attempt]).toEqual([2, 1]);
    const { attempts, interventions } = await historyOf(here, run);
    expect(attempts).toMatchObject([{ outcome: { kind: "unknown", code: "drover.lost" } }]);
    expect(interventions.map(({ rule }) => rule)).toEqual(["forgotten"]);
  });

  it("is lost once, though the list is repeated on both servers at the same time", async () => {
    const name = newTask();
    const run = await schedule(here, wide(name, 2));
    const agent = newAgent(here);
    const [retained] = await agent.poll(name, { pollSeq: 1, maxTasks: 2 });
    if (!retained) throw new Error("two tasks were due");
    const lists = [agent, through(there, agent), agent, through(there, agent)];
    await Promise.all(lists.map((one) => one.heartbeat([retained], [], 1)));
    const again = await newAgent(here).take(name);
    for (const one of lists) await one.heartbeat([retained], [], 1);
    expect(await newAgent(there).report(again, success)).toBe("accepted");
    expect(await agent.report(retained, success)).toBe("accepted");
    expect(await outcomesOf(run)).toEqual(["unknown", "success", "success"]);
    expect(await stateOf(here, run)).toBe("COMPLETED");
  });
});

describe("a task that is in flight to its agent", () => {
  it("is not forgotten while the poll that brought it is not answered", async () => {
    const name = newTask();
    const run = await schedule(here, wide(name, 2));
    const agent = newAgent(here);
    const [first] = await agent.poll(name, { pollSeq: 1, maxTasks: 1 });
    if (!first) throw new Error("two tasks were due");
    const gate = gates.stopNext("claim");
    const polled = agent.poll(name, { pollSeq: 2, maxTasks: 1 });
    await gate.reached;
    const before = through(there, agent).heartbeat([first], [], 1);
    gate.open();
    await before;
    const [second] = await polled;
    if (!second) throw new Error("the second task did not come");
    // Sent before the answer came, and late: it is about the first poll alone.
    for (const one of [agent, through(there, agent), agent]) await one.heartbeat([first], [], 1);
    expect(await agent.heartbeat([first, second], [], 2)).toEqual(["carry-on", "carry-on"]);
    expect(await agent.complete([first, second], success)).toEqual(["accepted", "accepted"]);
    expect(await outcomesOf(run)).toEqual(["success", "success"]);
  });

  it("is given back and not counted where that poll is called lost", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    await agent.poll(name, { pollSeq: 1 });
    await through(there, agent).heartbeat([], [1], 7);
    await expect.poll(() => outcomesOf(run)).toHaveLength(1);
    const again = await newAgent(here).take(name);
    expect([again.fence, again.attempt]).toEqual([2, 1]);
    expect(await outcomesOf(run)).toEqual(["undelivered"]);
  });

  it("is given back though it was granted after the lost polls were queried", async () => {
    const name = newTask();
    const run = await schedule(there, chain(name, 1));
    const agent = newAgent(here);
    const gate = gates.stopNext("claim");
    const polled = agent.poll(name, { pollSeq: 1 });
    await gate.reached;
    // Nothing is granted yet, so nothing is given back; the list comes after the claim.
    const listed = through(there, agent).heartbeat([], [1], 1);
    gate.open();
    await Promise.all([listed, polled]);
    await through(there, agent).heartbeat([], [1], 1);
    // A heartbeat does not wait for it, and these servers get no messages from each other.
    await expect.poll(() => outcomesOf(run)).toHaveLength(1);
    await newAgent(here).take(name);
    expect(await outcomesOf(run)).toEqual(["undelivered"]);
  });
});

describe("a task whose report is under way", () => {
  it("is settled by the report, whether or not a list without it comes first", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const task = await agent.take(name, { pollSeq: 1 });
    await Promise.all([agent.report(task, success), through(there, agent).heartbeat([], [], 1)]);
    await agent.heartbeat([], [], 1);
    expect(await stateOf(here, run)).toBe("COMPLETED");
  });
});
