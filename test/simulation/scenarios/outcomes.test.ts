/** Outcomes of attempts, reported by any caller and however late: races 6 to 8, 19, 22, 24, 32. */
import { expect, test } from "vitest";
import {
  deferred,
  failure,
  nothingThere,
  released,
  success,
  unknown,
} from "../../support/core-outcomes.ts";
import { flow, HEARTBEAT_MS, play } from "./stage.ts";

const json = (text: string) => ({ kind: "json", json: text }) as const;
const undo = { compensate: { task: "undo" } };
/** The run has no input, so there is nothing to read it from. */
const UNREADABLE = json(`{"first":"\${input.list[0]}"}`);

test("6: a lost attempt settles before its verify, and is repeated if that finds nothing", () =>
  play(async ({ agent, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: { effects: "verifiable", verify: { task: "find" } } }));
    await agent("one").take();
    await pass(HEARTBEAT_MS + 100);
    const two = agent("two");
    // It settles for a second after its loss.
    expect((await two.poll({ waitMs: 500 })).tasks).toEqual([]);
    const verify = await two.take();
    expect(verify.token.task).toBe("verify");
    await two.end(verify, nothingThere);
    const again = await two.take();
    expect(again.token).toMatchObject({ task: "perform", fence: 2 });
    await two.end(again, success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("7: after a late success of a once step a person is asked if its effect is doubled", () =>
  play(async ({ agent, people, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: { effects: "once" }, b: { needs: ["a"] } }));
    const one = agent("one");
    const lost = await one.take();
    await pass(HEARTBEAT_MS + 2_000);
    expect((await inspect(run)).questions).toEqual(["unknown a"]);
    expect(await people.answer(run, 1, "retry")).toBe("done");
    const two = agent("two");
    await two.end(await two.take(), success());
    expect((await one.report(lost, success())).answers).toEqual(["LEASE_LOST"]);
    expect((await inspect(run)).questions).toEqual(["doubled a"]);
    expect(await people.answer(run, 2, "acknowledge")).toBe("done");
    await two.end(await two.take(), success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("8: each strategy has a key of its own, and what each has left is undone under it", () =>
  play(async ({ agent, schedule, inspect }) => {
    const vague = { fallback: [{ task: "other" }], retry: [{ attempts: 1 }], ...undo };
    const run = await schedule(flow({ a: vague, b: { needs: ["a"] } }));
    const one = agent("one");
    const first = await one.take();
    await one.end(first, unknown(""));
    const firstUndo = await one.take();
    await one.end(firstUndo, success());
    const second = await one.take();
    await one.end(second, success());
    const keys = [first, second].map(({ task }) => task.idempotencyKey);
    expect(keys).toEqual([`${run}/a/0`, `${run}/a/1`]);
    await one.end(await one.take(), failure("no", { permanent: true }));
    const secondUndo = await one.take();
    await one.end(secondUndo, success());
    const undone = [firstUndo, secondUndo].map(({ task }) => task.effectKey);
    expect(undone).toEqual(keys);
    expect((await inspect(run)).run).toBe("COMPENSATED STEP_FAILED");
  }));

test("8: what a person resolved as succeeded, and never had an input, is undone without one", () =>
  play(async ({ agent, people, client, schedule, inspect }) => {
    const run = await schedule(flow({ a: { input: UNREADABLE, ...undo }, b: { needs: ["a"] } }));
    expect((await inspect(run)).questions).toEqual(["expression a"]);
    expect(await people.answer(run, 1, "succeed")).toBe("done");
    await client.cancel(run, "undo");
    const one = agent("one");
    const task = await one.take();
    expect(task.token.task).toBe("compensate");
    expect(task.task.input).toBeUndefined();
    expect(task.task.effectKey).toBe(`${run}/a/0`);
    await one.end(task, success());
    expect((await inspect(run)).run).toBe("COMPENSATED CANCELLED_BY_USER");
  }));

test("19: a callback before the agent's report settles the step, and that report is a repeat", () =>
  play(async ({ agent, people, schedule, inspect }) => {
    const run = await schedule(flow({ a: {}, b: {} }));
    const one = agent("one");
    const task = await one.take();
    expect(await people.callBack(task, success())).toBe("done");
    expect((await inspect(run)).steps).toMatchObject({ a: "SUCCEEDED" });
    expect((await one.report(task, deferred)).answers).toEqual(["repeated"]);
    expect(await people.callBack(task, success())).toBe("repeated");
    await one.end(await one.take(), success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("19: a callback that comes after its deadline ends the verify which that began", () =>
  play(async ({ agent, people, schedule, inspect, pass }) => {
    const timeouts = { callbackMs: 1_000 };
    const steps = { a: { effects: "verifiable", verify: { task: "find" }, timeouts } } as const;
    const run = await schedule(flow(steps));
    const one = agent("one");
    const task = await one.take();
    await one.end(task, deferred);
    expect((await inspect(run)).steps).toEqual({ a: "WAITING" });
    await pass(1_200);
    const verify = await one.take({ waitMs: 2_000 });
    expect(verify.token.task).toBe("verify");
    expect(await people.callBack(task, success())).toBe("done");
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
    expect((await one.report(verify, nothingThere)).answers).toEqual(["LEASE_LOST"]);
  }));

test("22: a carried poll that fails before its report is committed costs a repeated report", () =>
  play(async ({ agent, schedule, faults, inspect, watching, pass }) => {
    const at = watching();
    const run = await schedule(flow({ a: {} }), { at });
    const [one, two] = [agent("one"), agent("two")];
    const task = await one.take({ at });
    const other = await schedule(flow({ a: {} }), { at });
    const taken = await two.take({ at });
    faults.scriptStore({ name: "advance", at, toMs: 400 });
    const reporting = one.report(task, success(), { at, next: 1 });
    await pass(20);
    // What the carried poll is granted meanwhile cannot be handed out: its rows cannot be read.
    faults.scriptStore({ name: "taskFacts", at, fate: "before-commit" });
    await two.end(taken, released, { at });
    await pass(100);
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    const { answers, poll } = await reporting;
    expect(answers).toEqual(["UNAVAILABLE"]);
    expect((await one.report(task, success(), { at })).answers).toEqual(["repeated"]);
    await one.end(await one.take({ at, lost: [poll] }), success(), { at });
    expect((await inspect(other)).run).toBe("COMPLETED DONE");
  }));

test("24: an input that cannot be made reaches no agent: a person is asked", () =>
  play(async ({ agent, people, schedule, inspect }) => {
    const run = await schedule(flow({ a: {}, b: { needs: ["a"], input: UNREADABLE } }));
    const one = agent("one");
    await one.end(await one.take(), success());
    expect(await inspect(run)).toMatchObject({ run: "ESCALATED", questions: ["expression b"] });
    expect((await one.poll()).tasks).toEqual([]);
    expect(await people.answer(run, 1, "skip")).toBe("done");
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("32: an answer to what a late report has closed is refused, and changes nothing", () =>
  play(async ({ agent, people, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: { effects: "once" } }));
    const one = agent("one");
    const task = await one.take();
    await pass(HEARTBEAT_MS + 2_000);
    expect((await inspect(run)).questions).toEqual(["unknown a"]);
    await one.end(task, success());
    expect(await people.answer(run, 1, "retry")).toMatch(/ESCALATION/);
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));
