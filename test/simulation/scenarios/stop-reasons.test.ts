/** Numbers, stop reasons and the events that still count then: races 21, 27 and 31 to 33. */
import { expect, test } from "vitest";
import { cancelled, failure, released, success, unknown } from "../../support/core-outcomes.ts";
import type { ServerProcess } from "../server-process.ts";
import { flow, HEARTBEAT_MS, play, type Stage } from "./stage.ts";

const ONE = flow({ a: {} });
const undo = { compensate: { task: "undo" } };

test("21: fences count hand-outs and attempts count tries, whatever became of each", () =>
  play(async ({ agent, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: { ...undo }, b: { needs: ["a"] } }));
    const [one, two] = [agent("one"), agent("two")];
    const gone = await one.poll({ answer: "lost", deadlineMs: 1_200 });
    await one.end(await one.take({ lost: [gone.poll] }), released);
    await two.end(await two.take(), failure("busy"));
    await two.take({ waitMs: 2_000 });
    await pass(HEARTBEAT_MS + 100);
    await one.end(await one.take(), unknown(""));
    await one.end(await one.take({ waitMs: 3_000 }), success());
    await one.end(await one.take(), failure("no", { permanent: true }));
    await one.end(await one.take(), released);
    await two.end(await two.take(), failure("busy"));
    await one.end(await one.take({ waitMs: 3_000 }), success());
    expect(await inspect(run)).toMatchObject({
      run: "COMPENSATED STEP_FAILED",
      attempts: [
        "a perform 1/1 undelivered",
        "a perform 2/1 released",
        "a perform 3/1 busy",
        "a perform 4/2 drover.lost",
        "a perform 5/2 drover.unknown",
        "a perform 6/3 success",
        "b perform 1/1 no",
        "a compensate 7/1 released",
        "a compensate 8/1 busy",
        "a compensate 9/2 success",
      ],
    });
  }));

test("21: a task with which three agents in a row are lost is poison; a report starts anew", () =>
  play(async ({ agent, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: {} }));
    for (const name of ["one", "two"]) {
      await agent(name).take();
      await pass(HEARTBEAT_MS + 100);
    }
    const three = agent("three");
    await three.end(await three.take(), failure("busy"));
    for (const name of ["four", "five"]) {
      await agent(name).take({ waitMs: 3_000 });
      await pass(HEARTBEAT_MS + 100);
    }
    expect((await inspect(run)).steps).toEqual({ a: "READY" });
    await agent("six").take();
    await pass(HEARTBEAT_MS + 100);
    expect(await inspect(run)).toMatchObject({ run: "ESCALATED", questions: ["poison a"] });
  }));

test("27: final is final: a cancel of a run that has ended is refused and changes nothing", () =>
  play(async ({ agent, client, schedule, inspect }) => {
    const run = await schedule(flow({ a: { ...undo } }));
    const one = agent("one");
    await one.end(await one.take(), success());
    expect(await client.cancel(run, "undo")).toMatchObject({ kind: "refused" });
    expect((await one.poll()).tasks).toEqual([]);
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

/**
 * What is done to runs within the next 300 ms, and not reported by agents, shares one batch; and a
 * report of such a run goes with it.
 */
async function fillBatches(stage: Stage, at: ServerProcess): Promise<void> {
  // Two runs, since one run is in one batch at a time.
  const idle = flow({ idle: { task: "unserved" } });
  const runs = [await stage.schedule(idle, { at }), await stage.schedule(idle, { at })];
  stage.faults.scriptStore({ name: "advance", at, times: 2, backMs: 400 });
  for (const run of runs) {
    void stage.client.cancel(run, "leave", { at });
    await stage.pass(20);
  }
}

test("31: a report counts before a cancel of the same batch, whichever came first", () =>
  play(async (stage) => {
    const { agent, client, watching, schedule, inspect, pass } = stage;
    const at = watching();
    const run = await schedule(ONE, { at });
    const one = agent("one");
    const task = await one.take({ at });
    await fillBatches(stage, at);
    const answer = client.cancel(run, "undo", { at });
    await pass(50);
    const report = one.report(task, success(), { at });
    expect((await report).answers).toEqual(["accepted"]);
    expect(await answer).toMatchObject({ kind: "refused" });
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("31: after a cancel nothing is granted, and a heartbeat cancels what was granted", () =>
  play(async ({ agent, client, schedule, inspect }) => {
    const run = await schedule(flow({ a: {}, b: {}, c: { needs: ["a"] } }));
    const one = agent("one");
    const task = await one.take();
    expect((await client.cancel(run, "undo")).kind).toBe("cancelled");
    expect((await one.poll()).tasks).toEqual([]);
    expect(await one.heartbeat([task])).toEqual(["cancel"]);
    // A success that still comes counts, and makes nothing ready.
    await one.end(task, success());
    expect((await one.poll()).tasks).toEqual([]);
    expect(await inspect(run)).toMatchObject({
      run: "CANCELLED CANCELLED_BY_USER",
      steps: { a: "SUCCEEDED", b: "CANCELLED", c: "BLOCKED" },
    });
  }));

test("31: a cancel changes nothing while a run is undone, not even with effects left", () =>
  play(async ({ agent, client, schedule, inspect }) => {
    const run = await schedule(flow({ a: { ...undo }, b: { needs: ["a"] } }));
    const one = agent("one");
    await one.end(await one.take(), success());
    await one.end(await one.take(), failure("no", { permanent: true }));
    const back = await one.take();
    expect((await inspect(run)).run).toBe("COMPENSATING STEP_FAILED");
    expect((await client.cancel(run, "leave")).kind).toBe("cancelled");
    expect(await one.heartbeat([back])).toEqual(["carry-on"]);
    await one.end(back, success());
    expect((await inspect(run)).run).toBe("COMPENSATED STEP_FAILED");
  }));

test("31: a deadline that comes while a run stops gives it no other reason", () =>
  play(async ({ agent, client, schedule, inspect, at }) => {
    const run = await schedule(
      flow({ a: { timeouts: { cancelMs: 5_000 } } }, { timeoutMs: 3_000 }),
    );
    const one = agent("one");
    const task = await one.take();
    await at(2_000);
    await client.cancel(run, "leave");
    expect(await one.heartbeat([task])).toEqual(["cancel"]);
    await at(4_500);
    expect(await inspect(run)).toMatchObject({
      run: "STOPPING CANCELLED_BY_USER",
      interventions: [],
    });
    await one.end(task, cancelled({ noEffect: true }));
    expect((await inspect(run)).run).toBe("CANCELLED CANCELLED_BY_USER");
  }));

test("31: a deadline and a report in one batch: the report counts, and its success is undone", () =>
  play(async (stage) => {
    const { agent, watching, schedule, inspect, at } = stage;
    const here = watching();
    const steps = { a: { ...undo }, b: { needs: ["a"] } };
    const run = await schedule(flow(steps, { timeoutMs: 3_000 }), { at: here });
    const one = agent("one", { tasks: ["a", "undo"] });
    const task = await one.take({ at: here });
    await at(2_850);
    await fillBatches(stage, here);
    await at(3_100);
    await one.end(task, success(), { at: here });
    expect(await inspect(run)).toMatchObject({
      run: "COMPENSATING TIMED_OUT",
      steps: { a: "SUCCEEDED, undo READY", b: "CANCELLED" },
      interventions: ["deadline"],
    });
    await one.end(await one.take({ at: here }), success());
    expect((await inspect(run)).run).toBe("COMPENSATED TIMED_OUT");
  }));

test("32: a run in which one branch waits for a person runs on while another can move", () =>
  play(async ({ agent, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: {}, b: {}, c: { needs: ["a", "b"] } }));
    const busy = agent("busy", { tasks: ["b"] });
    const b = await busy.take();
    const heartbeats = busy.startHeartbeats([b], 1_000);
    const takers = ["one", "two", "three"].map((name) => agent(name, { tasks: ["a"] }));
    const tasks = [];
    for (const taker of takers) {
      tasks.push(await taker.take());
      await pass(HEARTBEAT_MS + 100);
    }
    expect(await inspect(run)).toMatchObject({ run: "RUNNING", questions: ["poison a"] });
    heartbeats.stop();
    await busy.end(b, success());
    expect((await inspect(run)).run).toBe("ESCALATED");
    // The answer to the question may still come from the agent itself.
    const last = tasks.at(-1);
    const taker = takers.at(-1);
    if (!last || !taker) throw new Error("no agent took the task");
    expect((await taker.report(last, success())).answers).toEqual(["accepted"]);
    const one = agent("last");
    await one.end(await one.take(), success());
    expect(await inspect(run)).toMatchObject({ run: "COMPLETED DONE", questions: [] });
  }));

test.each([
  { reported: "nothing of effects", noEffect: false, ends: "COMPENSATED CANCELLED_BY_USER" },
  { reported: "that it had no effect", noEffect: true, ends: "CANCELLED CANCELLED_BY_USER" },
])("33: a step whose agent stopped when asked to, and reported $reported", ({ noEffect, ends }) =>
  play(async ({ agent, client, schedule, inspect, worker, pass }) => {
    const run = await schedule(flow({ a: { ...undo } }));
    const one = agent("one");
    const task = await one.take();
    await client.cancel(run, "undo");
    await one.end(task, cancelled({ noEffect }));
    worker("worker");
    await pass(2_000);
    expect((await inspect(run)).run).toBe(ends);
  }),
);
