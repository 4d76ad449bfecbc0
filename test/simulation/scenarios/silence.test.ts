/** Silent agents, and what may still happen to their tasks: races 1, 5 to 8 and 13 to 16. */
import { expect, test } from "vitest";
import { cancelled, failure, success, unknown } from "../../support/core-outcomes.ts";
import { flow, HEARTBEAT_MS, play } from "./stage.ts";

const ONE = flow({ a: {} });
const undo = { compensate: { task: "undo" } };

test("1: an agent that sends its heartbeats to a server that does not watch is never lost", () =>
  play(async ({ agent, other, schedule, inspect, pass }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    const heartbeats = one.startHeartbeats([task], 0.66 * HEARTBEAT_MS, { at: other() });
    await pass(4 * HEARTBEAT_MS);
    heartbeats.stop();
    expect(new Set(heartbeats.answers)).toEqual(new Set(["carry-on"]));
    await one.end(task, success());
    expect(await inspect(run)).toMatchObject({
      attempts: ["a perform 1/1 success"],
      interventions: [],
    });
  }));

test("1: an answered heartbeat outlives the server that answered it", () =>
  play(async ({ agent, other, watching, crash, schedule, inspect, at }) => {
    const run = await schedule(ONE, { at: watching() });
    const one = agent("one");
    const task = await one.take({ at: watching() });
    await at(2_500);
    expect(await one.heartbeat([task], { at: other() })).toEqual(["carry-on"]);
    crash(other());
    await at(2_500 + HEARTBEAT_MS - 100);
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    await one.end(task, success(), { at: watching() });
    expect((await inspect(run)).interventions).toEqual([]);
  }));

test("1: a cancel that one server accepted is received with the next heartbeat at another", () =>
  play(async ({ agent, client, other, watching, schedule, inspect }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take({ at: other() });
    expect((await client.cancel(run, "leave", { at: watching() })).kind).toBe("cancelled");
    expect(await one.heartbeat([task], { at: other() })).toEqual(["cancel"]);
    await one.end(task, { kind: "cancelled", noEffect: true });
    expect((await inspect(run)).run).toBe("CANCELLED CANCELLED_BY_USER");
  }));

test("5: a row that a server had locked when it died is found by the next scan of another", () =>
  play(async ({ agent, watching, other, faults, crash, schedule, inspect, at, now }) => {
    const here = other();
    const there = watching();
    faults.loseNotifications(true);
    const two = agent("two");
    await schedule(ONE, { at: there });
    await two.end(await two.take({ at: there }), success(), { at: there });
    const waiting = two.take({ at: there, waitMs: 5_000 });
    await at(2_100);
    const run = await schedule(ONE, { at: here });
    faults.scriptStore({ name: "claim", at: here, fate: "before-commit", backMs: 100 });
    void agent("one").poll({ at: here });
    await at(2_150);
    crash(here);
    const task = await waiting;
    expect(now()).toBeLessThan(3_200);
    await two.end(task, success(), { at: there });
    expect((await inspect(run)).attempts).toEqual(["a perform 1/1 success"]);
  }));

test("6: nothing is undone before the lease of a lost attempt has ended and settled", () =>
  play(async ({ agent, remote, schedule, inspect, at, now }) => {
    const run = await schedule(flow({ a: { ...undo }, b: {} }));
    const [one, two] = [agent("one", { tasks: ["a"] }), agent("two")];
    const lost = await one.take();
    const b = await two.take();
    await at(1_000);
    await two.end(b, failure("no", { permanent: true }));
    // It paused just before its remote call, and makes it after the end of its lease.
    await at(HEARTBEAT_MS + 500);
    expect((await inspect(run)).attempts).toContain("a perform 1/1 drover.lost");
    one.act(lost);
    expect((await two.poll({ waitMs: 300 })).tasks).toEqual([]);
    const task = await two.take({ waitMs: 2_000 });
    expect(task.token.task).toBe("compensate");
    expect(now()).toBeGreaterThan(HEARTBEAT_MS + 1_000);
    two.act(task);
    await two.end(task, success());
    expect((await inspect(run)).run).toBe("COMPENSATED STEP_FAILED");
    expect(remote.hasEffect(lost.task.idempotencyKey)).toBe(false);
  }));

test("7: a report after the end of its lease settles the step if no other agent was given it", () =>
  play(async ({ agent, schedule, inspect, at }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    await at(HEARTBEAT_MS + 1_000);
    expect((await inspect(run)).steps).toEqual({ a: "READY" });
    expect((await one.report(task, success())).answers).toEqual(["accepted"]);
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
    expect((await agent("two").poll({ waitMs: 3_000 })).tasks).toEqual([]);
  }));

test("7: a report after the next hand-out changes nothing, and is stored as evidence", () =>
  play(async ({ agent, schedule, inspect, at }) => {
    const run = await schedule(ONE);
    const [one, two] = [agent("one"), agent("two")];
    const task = await one.take();
    await at(HEARTBEAT_MS + 1_000);
    const again = await two.take();
    expect((await one.report(task, success())).answers).toEqual(["LEASE_LOST"]);
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    await two.end(again, failure("broken", { permanent: true }));
    expect(await inspect(run)).toMatchObject({ run: "FAILED STEP_FAILED", steps: { a: "FAILED" } });
    expect((await inspect(run)).attempts).toContain("a late 1/1 success");
  }));

test("7: a late report of a poisoned task answers the question, and the run continues", () =>
  play(async ({ agent, schedule, inspect, pass, worker }) => {
    const run = await schedule(flow({ a: {}, b: { needs: ["a"] } }));
    const takers = ["one", "two", "three"].map((name) => agent(name, { tasks: ["a"] }));
    for (const [index, taker] of takers.entries()) {
      const task = await taker.take();
      expect(task.token.fence).toBe(index + 1);
      await pass(HEARTBEAT_MS + 500);
      if (index < 2) continue;
      expect(await inspect(run)).toMatchObject({ run: "ESCALATED", questions: ["poison a"] });
      expect((await taker.report(task, success())).answers).toEqual(["accepted"]);
    }
    expect(await inspect(run)).toMatchObject({ run: "RUNNING", questions: [] });
    worker("worker");
    await pass(3_000);
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("8: a step that failed for good is undone too if an earlier try may have had an effect", () =>
  play(async ({ agent, remote, schedule, inspect }) => {
    const run = await schedule(flow({ a: { ...undo } }));
    const one = agent("one");
    const first = await one.take();
    one.act(first);
    await one.end(first, unknown(""));
    const second = await one.take({ waitMs: 2_000 });
    expect(second.task.idempotencyKey).toBe(first.task.idempotencyKey);
    await one.end(second, failure("no", { permanent: true }));
    const back = await one.take();
    expect(back.task.effectKey).toBe(first.task.idempotencyKey);
    one.act(back);
    await one.end(back, success());
    expect(await inspect(run)).toMatchObject({
      run: "COMPENSATED STEP_FAILED",
      steps: { a: "FAILED, undo DONE" },
    });
    expect(remote.hasEffect(first.task.idempotencyKey)).toBe(false);
  }));

test("8: an agent's report that a try had no effect is stored beside its later failure", () =>
  play(async ({ agent, schedule, inspect, at }) => {
    const run = await schedule(flow({ a: { ...undo, timeouts: { attemptMs: 1_000 } }, b: undo }));
    const [one, two] = [agent("one", { tasks: ["a"] }), agent("two", { tasks: ["b", "undo"] })];
    const first = await one.take();
    const b = await two.take();
    await two.end(b, success());
    await one.end(first, unknown(""));
    const a = await one.take({ waitMs: 2_000 });
    await at(2_000);
    expect(await one.heartbeat([a])).toEqual(["cancel"]);
    await one.end(a, cancelled({ noEffect: true }));
    await one.end(a, failure("busy"));
    const again = await one.take({ waitMs: 3_000 });
    await one.end(again, failure("no", { permanent: true }));
    const back = await two.take();
    expect(back.token).toMatchObject({ step: 1, task: "compensate" });
    await two.end(back, success());
    expect(await inspect(run)).toMatchObject({
      run: "COMPENSATED STEP_FAILED",
      steps: { a: "FAILED", b: "SUCCEEDED, undo DONE" },
    });
  }));

test("13: a timer that passed while the store was away is handled once it is back", () =>
  play(async ({ agent, storeAway, schedule, inspect, at, worker }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    await one.end(await one.take(), failure("busy"));
    await at(200);
    storeAway(true);
    await at(6_000);
    expect((await inspect(run)).steps).toEqual({ a: "BACKOFF" });
    storeAway(false);
    worker("worker");
    await at(12_000);
    expect(await inspect(run)).toMatchObject({
      run: "COMPLETED DONE",
      interventions: ["backoff a"],
    });
  }));

test("13: a timer that a report elsewhere has set is found by the scan of every second", () =>
  play(async ({ agent, other, schedule, inspect, at, pass }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    await at(3_000 - 1_950);
    await one.end(task, failure("busy"), { at: other() });
    await pass(500 + 1_050);
    expect((await inspect(run)).steps).toEqual({ a: "READY" });
    await one.end(await one.take(), success());
  }));

test("14: a backlog before agents that poll is no alarm, however long it waits", () =>
  play(async ({ agent, schedule, inspect, at }) => {
    const pickup = { timeouts: { pickupMs: 1_000 } };
    const run = await schedule(flow({ a: pickup, b: pickup, c: pickup }));
    const one = agent("one");
    for (let step = 1; step <= 3; step++) {
      const task = await one.take({ waitMs: 1_500 });
      await at(2_500 * step);
      await one.end(task, success());
    }
    expect(await inspect(run)).toMatchObject({ run: "COMPLETED DONE", interventions: [] });
  }));

test("14: an outage that lasts longer than `pickup` is no alarm either", () =>
  play(async ({ agent, storeAway, schedule, inspect, at }) => {
    const one = agent("one");
    expect((await one.poll({ waitMs: 1_500 })).tasks).toEqual([]);
    const run = await schedule(flow({ a: {}, b: { timeouts: { pickupMs: 1_000 } } }));
    const first = await one.take();
    const parked = one.poll({ max: 0 });
    await at(3_000);
    storeAway(true);
    await at(10_000);
    storeAway(false);
    await at(12_000);
    const { tasks } = await parked;
    const rest = tasks.length > 0 ? tasks : [await one.take()];
    await one.end([first, ...rest], success());
    expect((await inspect(run)).interventions.filter((one) => one.startsWith("pickup"))).toEqual(
      [],
    );
  }));

test("14: a task that no agent polls for raises the alarm again and again, and waits", () =>
  play(async ({ agent, schedule, inspect, at }) => {
    const run = await schedule(flow({ a: { timeouts: { pickupMs: 1_000 } } }));
    await at(3_500);
    expect(await inspect(run)).toMatchObject({
      run: "RUNNING",
      interventions: ["pickup a", "pickup a", "pickup a"],
    });
    const one = agent("one");
    await one.end(await one.take(), success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("15: an outage that lasts longer than a heartbeat costs no lease of an agent that lives", () =>
  play(async ({ agent, storeAway, schedule, inspect, at }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    const heartbeats = one.startHeartbeats([task], HEARTBEAT_MS / 3);
    await at(1_500);
    storeAway(true);
    await at(1_500 + 3 * HEARTBEAT_MS);
    storeAway(false);
    await at(1_500 + 6 * HEARTBEAT_MS);
    heartbeats.stop();
    expect(new Set(heartbeats.answers)).toEqual(new Set(["carry-on", "UNAVAILABLE"]));
    await one.end(task, success());
    expect(await inspect(run)).toMatchObject({
      attempts: ["a perform 1/1 success"],
      interventions: [],
    });
  }));

test("15: an agent that stays silent after an outage is found a heartbeat after it", () =>
  play(async ({ agent, storeAway, schedule, inspect, at, worker }) => {
    const run = await schedule(ONE);
    await agent("one").take();
    await at(1_500);
    storeAway(true);
    await at(10_000);
    storeAway(false);
    await at(10_000 + HEARTBEAT_MS - 50);
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    worker("worker");
    await at(10_000 + 3 * HEARTBEAT_MS);
    expect(await inspect(run)).toMatchObject({ run: "COMPLETED DONE", interventions: ["lease a"] });
  }));

test.each([
  { way: "ahead", byMs: 30_000 },
  { way: "back", byMs: -30_000 },
])("15: a database clock that jumps $way costs no lease of an agent that lives", ({ byMs }) =>
  play(async ({ agent, jumpClock, schedule, inspect, at }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    const heartbeats = one.startHeartbeats([task], HEARTBEAT_MS / 3);
    await at(2_900);
    jumpClock(byMs);
    await at(2_900 + 3 * HEARTBEAT_MS);
    heartbeats.stop();
    expect(new Set(heartbeats.answers)).toEqual(new Set(["carry-on"]));
    await one.end(task, success());
    expect(await inspect(run)).toMatchObject({
      attempts: ["a perform 1/1 success"],
      interventions: [],
    });
  }),
);

test("15: after a clock jump back a silent agent is found by the new time, a heartbeat later", () =>
  play(async ({ agent, jumpClock, schedule, inspect, at, worker }) => {
    const run = await schedule(ONE);
    await agent("one").take();
    await at(1_000);
    jumpClock(-1_800);
    await at(1_000 + HEARTBEAT_MS + 2_500);
    expect((await inspect(run)).interventions).toEqual(["lease a"]);
    worker("worker");
  }));

test("15: servers that were all down count silence from their return", () =>
  play(async ({ agent, servers, crash, start, schedule, inspect, at }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    await at(1_000);
    for (const server of servers) crash(server);
    await at(1_000 + 3 * HEARTBEAT_MS);
    for (const server of servers) start(server);
    await at(1_000 + 4 * HEARTBEAT_MS - 200);
    expect(await one.heartbeat([task])).toEqual(["carry-on"]);
    await one.end(task, success());
    expect(await inspect(run)).toMatchObject({
      attempts: ["a perform 1/1 success"],
      interventions: [],
    });
  }));

test("15: a partition that is taken again while a scan is under way is watched from then on", () =>
  play(
    async ({ agent, faults, schedule, inspect, pass }) => {
      const run = await schedule(ONE);
      const one = agent("one");
      const task = await one.take();
      const observations = faults.sent("dueRows");
      faults.scriptStore({ name: "dueRows", backMs: 1_700 });
      while (faults.sent("dueRows") === observations) await pass(5);
      // During this scan the session breaks, and the partition is taken again within a second.
      faults.scriptStore({ name: "poll", fate: "before-commit" });
      await pass(HEARTBEAT_MS + 1_000);
      expect(await one.heartbeat([task])).toEqual(["carry-on"]);
      await one.end(task, success());
      expect((await inspect(run)).interventions).toEqual([]);
    },
    { servers: 1 },
  ));

test("16: an agent that sends heartbeats and ignores a cancel does not block its run", () =>
  play(async ({ agent, client, schedule, inspect, pass }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const task = await one.take();
    const heartbeats = one.startHeartbeats([task], 500);
    await client.cancel(run, "undo");
    await pass(4_500);
    heartbeats.stop();
    expect(new Set(heartbeats.answers)).toEqual(new Set(["cancel", "lease-lost"]));
    expect(await inspect(run)).toMatchObject({
      run: "CANCELLED CANCELLED_BY_USER",
      attempts: ["a perform 1/1 drover.timeout"],
    });
  }));

test("16: an agent whose heartbeats no longer name its task does not block its run", () =>
  play(async ({ agent, client, schedule, inspect, at }) => {
    const two = await schedule(flow({ b: {} }));
    const one = agent("one");
    const other = await one.take();
    const run = await schedule(ONE);
    await one.take();
    const heartbeats = one.startHeartbeats([other], 500);
    await at(1_000);
    await client.cancel(run, "leave");
    await at(1_000 + HEARTBEAT_MS + 1_500);
    expect((await inspect(run)).run).toBe("CANCELLED CANCELLED_BY_USER");
    heartbeats.stop();
    expect((await one.report(other, success())).answers).toEqual(["accepted"]);
    expect((await inspect(two)).interventions).toEqual([]);
  }));
