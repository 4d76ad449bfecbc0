/** Runs that wait for their time, for each other, for people and signals: races 11 to 31. */
import { expect, test } from "vitest";
import { failure, success } from "../../support/core-outcomes.ts";
import type { ScriptedAgent } from "./scripted-agent.ts";
import { flow, play } from "./stage.ts";

const ONE = flow({ a: {} });
const FLOW_OF_TWO = flow({ a: {}, b: { needs: ["a"] } });
const one = (policy: "queue" | "refuse" | "cancel-oldest") => ({
  concurrency: { key: "customer-7", limit: 1, policy },
});

async function perform(agent: ScriptedAgent): Promise<void> {
  await agent.end(await agent.take(), success());
}

test("11: a freed permit reaches the run that waits for it though the server dies in between", () =>
  play(async ({ agent, schedule, watching, other, faults, crash, inspect, pass }) => {
    const here = watching();
    const there = other();
    const first = await schedule(ONE, { ...one("queue"), at: there });
    const second = await schedule(ONE, { ...one("queue"), at: there });
    const worker = agent("worker");
    const task = await worker.take({ at: there });
    expect((await inspect(second)).run).toBe("PENDING");
    // It is written with the end of the first, and its server crashes before it publishes.
    faults.scriptStore({ name: "advance", at: there, backMs: 100 });
    const report = worker.report(task, success(), { at: there, deadlineMs: 400 });
    await pass(20);
    crash(there);
    expect((await inspect(first)).run).toBe("COMPLETED DONE");
    expect((await report).answers).toEqual([expect.stringMatching(/UNAVAILABLE|DEADLINE/)]);
    await pass(2_000);
    expect((await inspect(second)).run).toBe("RUNNING");
    const next = await worker.take({ at: here });
    await worker.end(next, success(), { at: here });
    expect((await inspect(second)).run).toBe("COMPLETED DONE");
  }));

test("11: a run that a newer one of its key replaces is undone before that begins", () =>
  play(async ({ agent, schedule, inspect, pass }) => {
    const steps = { a: { compensate: { task: "undo" } }, b: { needs: ["a"] } };
    const old = await schedule(flow(steps), one("queue"));
    const worker = agent("worker");
    await perform(worker);
    const newer = await schedule(ONE, one("cancel-oldest"));
    await pass(500);
    expect((await inspect(old)).run).toBe("COMPENSATING CANCELLED_BY_NEWER");
    expect((await inspect(newer)).run).toBe("PENDING");
    const undo = await worker.take();
    expect(undo.token).toMatchObject({ runId: old, task: "compensate" });
    await worker.end(undo, success());
    await perform(worker);
    expect((await inspect(old)).run).toBe("COMPENSATED CANCELLED_BY_NEWER");
    expect((await inspect(newer)).run).toBe("COMPLETED DONE");
  }));

test("16: a run that is to start later is PENDING, begins in time, and not before", () =>
  play(async ({ agent, client, schedule, inspect, startsIn, pass }) => {
    const run = await schedule(ONE, { startAt: startsIn(3_000) });
    const other = await schedule(ONE, { startAt: startsIn(3_000) });
    expect((await inspect(run)).run).toBe("PENDING");
    const worker = agent("worker");
    expect((await worker.poll({ waitMs: 2_000 })).tasks).toEqual([]);
    expect((await client.cancel(other, "undo")).kind).toBe("cancelled");
    await pass(1_500);
    await perform(worker);
    expect(await inspect(run)).toMatchObject({ run: "COMPLETED DONE", interventions: ["start"] });
    expect((await inspect(other)).run).toBe("CANCELLED NEVER_STARTED");
  }));

test("17: what a timer makes ready in a pause is held, and handed out on resume", () =>
  play(async ({ agent, people, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: {}, b: {} }));
    const [worker, busy] = [agent("worker", { tasks: ["a"] }), agent("busy", { tasks: ["b"] })];
    await worker.end(await worker.take(), failure("busy"));
    const b = await busy.take();
    expect(await people.pause(run)).toBe("done");
    await pass(2_000);
    expect(await inspect(run)).toMatchObject({ run: "PAUSED", steps: { a: "HELD" } });
    expect((await worker.poll()).tasks).toEqual([]);
    // The outside world does not pause.
    await busy.end(b, success());
    expect((await inspect(run)).steps).toMatchObject({ b: "SUCCEEDED" });
    expect(await people.resume(run)).toBe("done");
    await perform(worker);
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("17: the deadline of a run is suspended while it is paused", () =>
  play(async ({ agent, people, schedule, inspect, pass }) => {
    const run = await schedule(flow({ a: {} }, { timeoutMs: 5_000 }));
    await pass(2_000);
    await people.pause(run);
    await pass(20_000);
    await people.resume(run);
    await pass(2_000);
    await perform(agent("worker"));
    expect(await inspect(run)).toMatchObject({ run: "COMPLETED DONE", interventions: [] });
  }));

test("25: no more runs of a key begin than its limit, whichever servers take them", () =>
  play(async ({ agent, schedule, watching, other, inspect, pass }) => {
    const scheduled = [watching(), other(), watching(), other()].map((at) =>
      schedule(ONE, { concurrency: { key: "k", limit: 2, policy: "queue" }, at }),
    );
    const runs = await Promise.all(scheduled);
    const states = async () => (await Promise.all(runs.map(inspect))).map(({ run }) => run).sort();
    expect(await states()).toEqual(["PENDING", "PENDING", "RUNNING", "RUNNING"]);
    const worker = agent("worker");
    await perform(worker);
    await pass(100);
    expect(await states()).toEqual(["COMPLETED DONE", "PENDING", "RUNNING", "RUNNING"]);
    for (const _ of [1, 2, 3]) await perform(worker);
    expect(new Set(await states())).toEqual(new Set(["COMPLETED DONE"]));
  }));

test("25: a run that does not wait is refused, stores nothing, and may be asked for again", () =>
  play(async ({ agent, client, schedule, inspect }) => {
    const first = await schedule(ONE, one("queue"));
    const order = { ...one("refuse"), key: "k", mark: "again" };
    expect(await client.schedule(ONE, order)).toMatchObject({ reason: "CONCURRENCY_LIMIT" });
    const worker = agent("worker");
    await perform(worker);
    expect((await inspect(first)).run).toBe("COMPLETED DONE");
    expect(await client.schedule(ONE, order)).toMatchObject({ kind: "scheduled", created: true });
    await perform(worker);
  }));

test("27: a rerun is a new run that reuses what succeeded, and the old run stays as it ended", () =>
  play(async ({ agent, people, schedule, inspect }) => {
    const run = await schedule(flow({ a: {}, b: { needs: ["a"], onFailure: "fail" } }));
    const worker = agent("worker");
    await perform(worker);
    await worker.end(await worker.take(), failure("no", { permanent: true }));
    expect((await inspect(run)).run).toBe("FAILED STEP_FAILED");
    const again = await people.doAgain(run, "once-more");
    expect(await people.doAgain(run, "once-more")).toBe(again);
    const task = await worker.take();
    expect(task.token).toMatchObject({ runId: again, step: 1 });
    await worker.end(task, success());
    expect((await inspect(again)).run).toBe("COMPLETED DONE");
    expect((await inspect(run)).run).toBe("FAILED STEP_FAILED");
  }));

test("27: an open run is not rerun, and a compensated run is rerun only from its start", () =>
  play(async ({ agent, people, client, schedule, inspect }) => {
    const steps = { a: { compensate: { task: "undo" } }, b: { needs: ["a"] } };
    const run = await schedule(flow(steps));
    expect(await people.doAgain(run, "early")).toBe("RUN_STATE");
    const worker = agent("worker");
    await perform(worker);
    await client.cancel(run, "undo");
    await perform(worker);
    expect((await inspect(run)).run).toBe("COMPENSATED CANCELLED_BY_USER");
    const again = await people.doAgain(run, "anew", "");
    for (const _ of [1, 2]) await perform(worker);
    expect((await inspect(again)).run).toBe("COMPLETED DONE");
  }));

test("28: an early signal is stored, and its repeat after a lost answer adds no second one", () =>
  play(async ({ agent, people, schedule, inspect, watching, other }) => {
    const run = await schedule(
      flow({
        a: {},
        go: { needs: ["a"], kind: "signal", name: "go" },
        more: { needs: ["go"], kind: "signal", name: "go" },
      }),
    );
    const lost = { at: other(), answer: "lost", deadlineMs: 500 } as const;
    expect(await people.signal(run, "go", "first", lost)).toBe("unknown");
    expect(await people.signal(run, "go", "first", { at: watching() })).toBe("repeated");
    await perform(agent("worker"));
    expect((await inspect(run)).steps).toMatchObject({ go: "SUCCEEDED", more: "WAITING" });
    expect(await people.signal(run, "go", "second")).toBe("done");
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
    expect(await people.signal(run, "go", "third")).toBe("RUN_STATE");
  }));

test("31: a step that fails for good in a paused run is the stop reason once that is resumed", () =>
  play(async ({ agent, people, schedule, inspect }) => {
    const run = await schedule(FLOW_OF_TWO);
    const worker = agent("worker");
    const task = await worker.take();
    await people.pause(run);
    await worker.end(task, failure("no", { permanent: true }));
    expect((await inspect(run)).run).toBe("PAUSED STEP_FAILED");
    await people.resume(run);
    expect((await inspect(run)).run).toBe("FAILED STEP_FAILED");
  }));
