/**
 * The end of a lease revokes nothing by itself: a report counts while its attempt is current.
 * Fences grow by one with each hand-out and are never reused, whatever the outcome of the attempt
 * before.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestPlane } from "../../support/control-plane.ts";
import { moveTimers } from "../../support/pages.ts";
import {
  busy,
  chain,
  historyOf,
  lose,
  newAgent,
  newTask,
  openTwoServers,
  schedule,
  stateOf,
  success,
  type TwoServers,
  through,
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

const other = { ...success, output: { kind: "json", json: '{"ok":2}' } } as const;

describe("a report of an attempt that was lost", () => {
  it("settles its step while no other task of it was handed out, on any server", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 2));
    const agent = newAgent(here);
    const task = await agent.take(name);
    await lose(here, hand, task);
    expect(
      await hand.query("select from drover.ready where run_id = $1", [run.runId]),
    ).toHaveLength(1);
    expect(await through(there, agent).report(task, success)).toBe("accepted");
    const { attempts, steps } = await historyOf(here, run);
    expect(attempts.map(({ fence, outcome }) => [fence, outcome.kind])).toEqual([[1, "success"]]);
    expect([steps.get(0)?.forward.kind, steps.get(1)?.forward.kind]).toEqual([
      "SUCCEEDED",
      "READY",
    ]);
  });

  it("is answered the same when it is repeated, and refused when its outcome differs", async () => {
    const name = newTask();
    await schedule(here, chain(name, 2));
    const agent = newAgent(here);
    const task = await agent.take(name);
    await lose(here, hand, task);
    expect(await agent.report(task, success)).toBe("accepted");
    expect(await agent.report(task, success)).toBe("repeated");
    expect(await through(there, agent).report(task, success)).toBe("repeated");
    expect(await agent.report(task, other)).toBe("TASK_OVER");
    expect(await agent.report(task, busy)).toBe("TASK_OVER");
  });

  it("changes nothing once another task was handed out, and is stored as evidence", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 2));
    const lost = newAgent(here);
    const next = newAgent(here);
    const task = await lost.take(name);
    await lose(here, hand, task);
    const again = await next.take(name);
    expect(await lost.report(task, success)).toBe("LEASE_LOST");
    expect(await lost.report(task, success)).toBe("LEASE_LOST");
    expect(await next.heartbeat([again])).toEqual(["carry-on"]);
    expect(await next.report(again, success)).toBe("accepted");
    const { attempts } = await historyOf(here, run);
    expect(attempts.map(({ kind, fence, outcome }) => [kind, fence, outcome.kind]).sort()).toEqual([
      ["late", 1, "success"],
      ["perform", 1, "unknown"],
      ["perform", 2, "success"],
    ]);
  });

  it("of a final run is stored, with an intervention that records it", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const lost = newAgent(here);
    const next = newAgent(here);
    const task = await lost.take(name);
    await lose(here, hand, task);
    await next.report(await next.take(name), success);
    expect(await stateOf(here, run)).toBe("COMPLETED");
    expect(await lost.report(task, success)).toBe("LEASE_LOST");
    const { interventions } = await historyOf(here, run);
    expect(interventions.map(({ rule }) => rule).sort()).toEqual(["late-effect", "lease"]);
  });
});

describe("a report that was accepted", () => {
  it("is found again after the run has ended, by its attempt row alone", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const task = await agent.take(name);
    expect(await agent.report(task, success)).toBe("accepted");
    expect(await stateOf(here, run)).toBe("COMPLETED");
    expect(await through(there, agent).report(task, success)).toBe("repeated");
    expect(await through(there, agent).report(task, other)).toBe("TASK_OVER");
  });

  it("counts once when it reaches two servers at the same time", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const task = await agent.take(name);
    const answers = await Promise.all([
      agent.report(task, success),
      through(there, agent).report(task, success),
      agent.report(task, success),
    ]);
    expect(answers.sort()).toEqual(["accepted", "repeated", "repeated"]);
    expect((await historyOf(here, run)).attempts).toHaveLength(1);
  });

  it("is one of two when two report different outcomes at the same time", async () => {
    const name = newTask();
    await schedule(here, chain(name, 2));
    const agent = newAgent(here);
    const task = await agent.take(name);
    const answers = await Promise.all([
      agent.report(task, success),
      through(there, agent).report(task, other),
    ]);
    expect(answers.sort()).toEqual(["TASK_OVER", "accepted"]);
  });
});

describe("a token", () => {
  it("of another secret, or of a fence that was never handed out, is no task", async () => {
    const name = newTask();
    await schedule(here, chain(name, 1));
    const agent = newAgent(here);
    const task = await agent.take(name);
    const forged = (change: (bytes: Buffer) => void) => {
      const bytes = Buffer.from(task.token, "base64url");
      change(bytes);
      return { ...task, token: bytes.toString("base64url") };
    };
    const otherSecret = forged((bytes) => bytes.writeUInt8(bytes.readUInt8(30) ^ 1, 30));
    const nextFence = forged((bytes) => bytes.writeInt32BE(2, 24));
    expect(await agent.report(otherSecret, success)).toBe("TASK_NOT_FOUND");
    expect(await agent.report(nextFence, success)).toBe("TASK_NOT_FOUND");
    expect(await agent.heartbeat([otherSecret, nextFence])).toEqual(["lease-lost", "lease-lost"]);
    expect(await agent.report(task, success)).toBe("accepted");
  });
});

describe("fences", () => {
  it("grow by one with each hand-out, through releases, lost polls, losses and retries", async () => {
    const name = newTask();
    const run = await schedule(here, chain(name, 1, { retry: [{ initialMs: 0 }] }));
    const seen: [fence: number, attempt: number][] = [];
    let polls = 0;
    const agents = [newAgent(here), newAgent(there), newAgent(here), newAgent(there)];
    const take = async (at: number, lostPolls: readonly number[] = []) => {
      polls += 1;
      await here.pollTick.runOnce();
      const [task] = await (agents[at]?.poll(name, { pollSeq: polls, lostPolls }) ?? []);
      if (!task) throw new Error("the step should be ready");
      seen.push([task.fence, task.attempt]);
      return task;
    };
    await agents[0]?.report(await take(0), { kind: "released" });
    await take(1);
    await take(1, [2]);
    await lose(here, hand, await take(1, [3]));
    await agents[2]?.report(await take(2), busy);
    const backoff = { kind: "due-timer", step: 0, on: "backoff" } as const;
    await moveTimers(hand, run.runId);
    await here.advance.submit(run, backoff);
    await agents[3]?.report(await take(3), success);
    expect(seen).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 1],
      [5, 1],
      [6, 2],
    ]);
    const { attempts } = await historyOf(here, run);
    expect(attempts.map(({ fence }) => fence).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });
});
