/** Calls that are repeated because their outcome is unknown: races 23 and 35. */
import { expect, test } from "vitest";
import { success } from "../../support/core-outcomes.ts";
import { flow, play } from "./stage.ts";

const ONE = flow({ a: {} });

test("23: a Schedule that was committed and whose answer was lost is one run when repeated", () =>
  play(async ({ client, watching, other, faults, schedule, worker, pass, inspect }) => {
    faults.scriptStore({ name: "schedule", fate: "after-commit" });
    const order = { key: "k", mark: "run-k" };
    const first = await client.schedule(ONE, { ...order, at: watching() });
    expect(first).toEqual({ kind: "unknown", code: "UNAVAILABLE" });
    const second = await client.schedule(ONE, { ...order, at: other() });
    expect(second).toMatchObject({ kind: "scheduled", created: false });
    const run = await schedule(ONE, order);
    expect(second).toMatchObject({ runId: run });
    worker("worker");
    await pass(2_000);
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("23: a Schedule whose commit did not count is stored when it is repeated", () =>
  play(async ({ client, faults, worker, pass }) => {
    faults.scriptStore({ name: "schedule", fate: "before-commit" });
    const order = { key: "k", mark: "run-k" };
    expect((await client.schedule(ONE, order)).kind).toBe("unknown");
    expect(await client.schedule(ONE, order)).toMatchObject({ kind: "scheduled", created: true });
    worker("worker");
    await pass(2_000);
  }));

test("23: a report whose commit counted and whose answer was lost is answered as repeated", () =>
  play(async ({ agent, watching, other, faults, schedule, inspect }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    faults.scriptStore({ name: "advance", fate: "after-commit" });
    expect((await one.report(task, success(), { at: other() })).answers).toEqual(["UNAVAILABLE"]);
    expect((await one.report(task, success(), { at: watching() })).answers).toEqual(["repeated"]);
    expect((await inspect(run)).attempts).toEqual(["a perform 1/1 success"]);
  }));

test("23: a server that can ask what became of its commit answers with the truth", () =>
  play(async ({ agent, faults, schedule, inspect, client, worker, pass }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    faults.scriptStore({ name: "advance", fate: "after-commit, found-out" });
    expect((await one.report(task, success())).answers).toEqual(["accepted"]);
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
    faults.scriptStore({ name: "schedule", fate: "before-commit, known" });
    expect(await client.schedule(ONE)).toMatchObject({ kind: "scheduled", created: true });
    worker("worker");
    await pass(2_000);
  }));

test("23: a claim whose outcome is unknown costs a poll and no try", () =>
  play(async ({ agent, watching, other, faults, schedule, inspect }) => {
    const run = await schedule(ONE, { at: other() });
    faults.scriptStore({ name: "claim", at: watching(), fate: "after-commit" });
    const one = agent("one");
    const failed = await one.poll({ at: watching(), waitMs: 3_000 });
    expect(failed.code).toBe("UNAVAILABLE");
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    const task = await one.take({ at: other(), lost: [failed.poll] });
    await one.end(task, success());
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 undelivered",
      "a perform 2/1 success",
    ]);
  }));

test("23: a cancel whose answer was lost is accepted again, and done once", () =>
  play(async ({ client, watching, other, faults, schedule, inspect }) => {
    const run = await schedule(ONE);
    faults.scriptStore({ name: "advance", fate: "after-commit" });
    expect((await client.cancel(run, "undo", { at: watching() })).kind).toBe("unknown");
    expect((await client.cancel(run, "undo", { at: other() })).kind).toBe("cancelled");
    expect((await inspect(run)).run).toBe("CANCELLED CANCELLED_BY_USER");
  }));

test("35: the same request with its labels in another order is the same run", () =>
  play(async ({ client, servers, worker, pass }) => {
    const order = { key: "k", mark: "run-k" };
    const answers = [];
    for (const labels of [
      { city: "Bern", team: "red" },
      { team: "red", city: "Bern" },
    ])
      for (const at of servers) answers.push(await client.schedule(ONE, { ...order, labels, at }));
    const created = answers.map((one) => (one.kind === "scheduled" ? one.created : one.kind));
    expect(created).toEqual([true, false, false, false]);
    worker("worker");
    await pass(2_000);
  }));

test("35: a repeated request stays the same when the default version has changed in between", () =>
  play(async ({ client, schedule, inspect, worker, pass }) => {
    const order = { key: "k", mark: "run-k" };
    const latest = { name: "test", version: 0 };
    expect(await client.register(ONE)).toMatchObject({ version: 1, created: true });
    const run = await schedule(latest, order);
    expect(await client.register(flow({ a: {}, b: {} }))).toMatchObject({ version: 2 });
    expect(await client.schedule(latest, order)).toMatchObject({ runId: run, created: false });
    const next = await schedule(latest);
    worker("worker");
    await pass(2_000);
    expect((await inspect(run)).steps).toEqual({ a: "SUCCEEDED" });
    expect((await inspect(next)).steps).toEqual({ a: "SUCCEEDED", b: "SUCCEEDED" });
  }));

test("35: a version that is named is another request than the default that it is", () =>
  play(async ({ client, schedule, worker, pass }) => {
    await client.register(ONE);
    await schedule({ name: "test", version: 1 }, { key: "k", mark: "run-k" });
    const other = await client.schedule({ name: "test", version: 0 }, { key: "k" });
    expect(other).toMatchObject({ kind: "refused", reason: "KEY_REUSED" });
    worker("worker");
    await pass(2_000);
  }));
