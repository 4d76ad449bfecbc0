/** Partition owners, take-overs and notifications: races 20, 29, 30, 37, 43 and 45. */
import { expect, test } from "vitest";
import { failure, success } from "../../support/core-outcomes.ts";
import { flow, HEARTBEAT_MS, play } from "./stage.ts";

const ONE = flow({ a: {} });

test("20: what a killed server watched is watched again 4 s later, and a silent agent found", () =>
  play(async ({ agent, watching, other, crash, schedule, inspect, at, worker }) => {
    const here = watching();
    const there = other();
    const run = await schedule(ONE, { at: there });
    await agent("one").take({ at: there });
    await at(2_000);
    crash(here);
    await at(2_000 + 4_000);
    expect(watching()).toBe(there);
    await at(2_000 + 4_000 + HEARTBEAT_MS + 200);
    expect(await inspect(run)).toMatchObject({ steps: { a: "READY" }, interventions: ["lease a"] });
    worker("worker");
  }));

test("20: a server that was frozen within a batch changes nothing when it wakes", () =>
  play(async ({ agent, watching, other, faults, freeze, resumes, schedule, inspect, at }) => {
    const here = watching();
    const there = other();
    const run = await schedule(ONE, { at: there });
    const one = agent("one");
    const task = await one.take({ at: there });
    // It has seen that the lease is over, and is frozen before its transaction begins.
    faults.scriptStore({ name: "advance", at: here, toMs: 300 });
    await at(HEARTBEAT_MS + 150);
    freeze(here);
    await at(HEARTBEAT_MS + 4_500);
    expect(watching()).toBe(there);
    // The new owner counts silence from its take-over, so the lease holds.
    resumes(here);
    await at(HEARTBEAT_MS + 5_000);
    expect(await inspect(run)).toMatchObject({ steps: { a: "LEASED" }, interventions: [] });
    expect(await one.heartbeat([task], { at: here })).toEqual(["carry-on"]);
    await one.end(task, success(), { at: here });
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("20: a server that loses its session during a scan joins anew and takes its share again", () =>
  play(
    async ({ agent, servers, faults, schedule, inspect, at, worker }) => {
      const run = await schedule(ONE);
      await agent("one").take();
      await at(1_000);
      const [server] = servers;
      if (server) faults.scriptStore({ name: "poll", at: server, fate: "before-commit" });
      await at(3_000);
      worker("worker");
      await at(1_500 + 3 * HEARTBEAT_MS);
      expect(await inspect(run)).toMatchObject({
        run: "COMPLETED DONE",
        interventions: ["lease a"],
      });
    },
    { servers: 1 },
  ));

test("29: a caller that waits for the end of a run gets it within a second, from any server", () =>
  play(async ({ agent, client, watching, other, faults, schedule, at, now }) => {
    faults.loseNotifications(true);
    const run = await schedule(ONE, { at: other() });
    const one = agent("one");
    const task = await one.take({ at: other() });
    const ended = client.wait(run, 20_000, { at: watching() });
    await at(5_100);
    await one.end(task, success(), { at: other() });
    expect(await ended).toMatchObject({ kind: "read", run: { state: "COMPLETED" } });
    expect(now()).toBeLessThan(6_200);
  }));

test("30: after a quiet hour and without a notification a waiter gets work within a second", () =>
  play(async ({ agent, watching, other, faults, schedule, at, now }) => {
    faults.loseNotifications(true);
    await schedule(ONE, { at: other() });
    const one = agent("one");
    await one.end(await one.take(), success());
    const waiting = one.take({ at: watching(), waitMs: 30_000 });
    // In the middle of a poll, long before the next one runs.
    await at(1_815_000);
    await schedule(ONE, { at: other() });
    const task = await waiting;
    expect(now()).toBeLessThan(1_816_100);
    await one.end(task, success());
  }));

test("30: a notification wakes a waiter of another server at once", () =>
  play(async ({ agent, watching, other, schedule, at, now }) => {
    await schedule(ONE, { at: other() });
    const one = agent("one");
    await one.end(await one.take(), success());
    const waiting = one.take({ at: watching(), waitMs: 30_000 });
    await at(10_100);
    await schedule(ONE, { at: other() });
    const task = await waiting;
    expect(now()).toBeLessThan(10_150);
    await one.end(task, success());
  }));

test("30: a poll that does not wait queries once all the same, and gets what is ready", () =>
  play(async ({ agent, schedule, inspect }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const { tasks } = await one.poll({ waitMs: 0 });
    expect(tasks).toHaveLength(1);
    expect((await one.poll({ waitMs: 0 })).tasks).toEqual([]);
    await one.end(tasks, success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("30: a timer that is due before the next scan is handled when it comes", () =>
  play(async ({ agent, watching, schedule, at, now }) => {
    await schedule(flow({ a: { retry: [{ attempts: 2, initialMs: 100, jitter: 0 }] } }));
    const one = agent("one");
    const task = await one.take({ at: watching() });
    await at(4_100);
    await one.end(task, failure("busy"), { at: watching() });
    const again = await one.take({ at: watching(), waitMs: 3_000 });
    expect(now()).toBeLessThan(4_250);
    await one.end(again, success());
  }));

test("37: a batch that lost a deadlock is tried once more, and all in it succeed", () =>
  play(async ({ agent, faults, schedule, inspect }) => {
    const run = await schedule(flow({ a: {}, b: {}, c: {} }));
    const one = agent("one");
    const { tasks } = await one.poll({ max: 3 });
    faults.scriptStore({ name: "advance", fate: "repeatable" });
    expect((await one.report(tasks, success())).answers).toEqual(Array(3).fill("accepted"));
    expect((await inspect(run)).attempts).toHaveLength(3);
  }));

test("37: a batch that lost twice changed nothing, and its callers are asked to repeat", () =>
  play(async ({ agent, faults, schedule, inspect }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    faults.scriptStore({ name: "advance", fate: "repeatable", times: 2 });
    expect((await one.report(task, success())).answers).toEqual(["UNAVAILABLE"]);
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    expect((await one.report(task, success())).answers).toEqual(["accepted"]);
  }));

test("43: a server that stops watches its runs until its webhooks are answered", () =>
  play(
    async ({ agent, watching, schedule, inspect, stop, pass }) => {
      await schedule(flow({ a: { kind: "wait", forMs: 10 } }));
      const run = await schedule(flow({ a: { kind: "wait", forMs: 4_000 } }));
      // The end of the first one is being published.
      await pass(2_500);
      const stopped = stop(watching());
      await pass(3_000);
      expect((await inspect(run)).run).toBe("COMPLETED DONE");
      await stopped;
      expect((await agent("one").poll()).tasks).toEqual([]);
    },
    { webhookMs: 9_000 },
  ));

test("43: a clean stop answers parked polls, hands over what it watched, and takes no lease", () =>
  play(async ({ agent, watching, other, stop, start, schedule, inspect, at, now }) => {
    const here = watching();
    const there = other();
    const run = await schedule(flow({ a: {}, b: { needs: ["a"] } }), { at: here });
    const one = agent("one");
    const task = await one.take({ at: here });
    const parked = agent("two", { tasks: ["b"] }).poll({ at: here, waitMs: 20_000 });
    await at(2_000);
    const stopped = stop(here);
    expect(await parked).toMatchObject({ code: "ok", tasks: [] });
    await stopped;
    expect(now()).toBeLessThan(2_100);
    expect((await one.poll({ at: here })).code).toBe("UNAVAILABLE");
    await at(2_900);
    expect(await one.heartbeat([task], { at: there })).toEqual(["carry-on"]);
    // Its partitions were handed over, and are not taken from a dead server after 3 s.
    await at(3_200);
    expect(watching()).toBe(there);
    await at(5_500);
    await one.end(task, success(), { at: there });
    await one.end(await one.take({ at: there }), success(), { at: there });
    expect(await inspect(run)).toMatchObject({ run: "COMPLETED DONE", interventions: [] });
    start(here);
  }));

test("43: a clean stop finishes what is in flight before it ends", () =>
  play(async ({ agent, watching, other, faults, stop, schedule, inspect, pass }) => {
    const here = watching();
    const there = other();
    const run = await schedule(flow({ a: {}, b: {} }), { at: there });
    const one = agent("one");
    const first = await one.take({ at: here });
    const second = await one.take({ at: here });
    faults.scriptStore({ name: "advance", at: here, backMs: 500 });
    faults.scriptStore({ name: "heartbeat", at: here, backMs: 500 });
    const report = one.report(first, success(), { at: here });
    const heartbeat = one.heartbeat([second], { at: here });
    await pass(100);
    const stopped = stop(here);
    await pass(1);
    expect((await one.report(second, success(), { at: here })).code).toBe("UNAVAILABLE");
    expect((await report).answers).toEqual(["accepted"]);
    expect(await heartbeat).toEqual(["carry-on"]);
    await stopped;
    await one.end(second, success(), { at: there });
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("45: with a store that is slow to commit, batches become larger, not more", () =>
  play(async ({ client, faults, watching, at, now, worker, pass }) => {
    const here = watching();
    faults.scriptStore({ name: "schedule", times: 3, backMs: 300 });
    await at(1_000);
    const before = faults.sent("schedule");
    const runs = Array.from({ length: 600 }, () => client.schedule(ONE, { at: here }));
    const answers = await Promise.all(runs);
    expect(answers.every(({ kind }) => kind === "scheduled")).toBe(true);
    // The first call has a batch to itself, the next batch is as full as one may be, the last has
    // the rest.
    expect(faults.sent("schedule") - before).toBeLessThanOrEqual(4);
    expect(now()).toBeLessThan(2_500);
    worker("worker");
    await pass(20_000);
  }));
