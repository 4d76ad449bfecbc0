/** Tasks on their way to an agent and back: races 2, 3, 22, 24, 26 and 40. */
import { expect, test } from "vitest";
import { failure, released, success } from "../../support/core-outcomes.ts";
import { flow, HEARTBEAT_MS, play } from "./stage.ts";

const ONE = flow({ a: {} });
const TWO = flow({ a: {}, b: {} });

test("2: a heartbeat does not give back a task that it omits because its delivery is late", () =>
  play(async ({ agent, other, watching, schedule, inspect, pass }) => {
    const run = await schedule(TWO);
    const one = agent("one");
    const first = await one.take();
    const late = one.poll({ answer: 2_000 });
    await pass(500);
    for (const at of [other(), watching()]) {
      expect(await one.heartbeat([first], { at })).toEqual(["carry-on"]);
      expect((await agent("two").poll({ at })).tasks).toEqual([]);
    }
    const { tasks } = await late;
    expect(tasks).toHaveLength(1);
    expect((await one.report([first, ...tasks], success())).answers).toEqual(
      Array(2).fill("accepted"),
    );
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 success",
      "b perform 1/1 success",
    ]);
  }));

test("2: a finished task that is not listed any more is not given back before its report", () =>
  play(async ({ agent, other, schedule, inspect, pass }) => {
    const run = await schedule(TWO);
    const one = agent("one");
    const first = await one.take();
    const second = await one.take();
    const report = one.report(first, success(), { request: 2_000 });
    await pass(100);
    expect(await one.heartbeat([second], { at: other() })).toEqual(["carry-on"]);
    expect((await agent("two").poll()).tasks).toEqual([]);
    expect((await report).answers).toEqual(["accepted"]);
    await one.end(second, success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("2: two processes with one agent id do not give back each other's tasks", () =>
  play(async ({ agent, schedule, inspect }) => {
    const run = await schedule(TWO);
    const [one, two] = [agent("one", { id: "same" }), agent("two", { id: "same" })];
    const first = await one.take();
    const second = await two.take();
    expect(await one.heartbeat([first], { lost: [7, 8] })).toEqual(["carry-on"]);
    expect(await two.heartbeat([second], { lost: [7, 8] })).toEqual(["carry-on"]);
    // The number of a poll means nothing beside its session.
    expect(await two.heartbeat([second], { lost: [2] })).toEqual(["carry-on"]);
    await one.end(first, success());
    await two.end(second, success());
    expect((await inspect(run)).interventions).toEqual([]);
  }));

test("2: heartbeats that are split over several calls keep all their tasks", () =>
  play(async ({ agent, schedule, inspect, pass }) => {
    const run = await schedule(TWO);
    const one = agent("one");
    const { tasks } = await one.poll({ max: 2 });
    for (let heartbeat = 0; heartbeat < 6; heartbeat++) {
      await pass(HEARTBEAT_MS / 3);
      for (const task of tasks) expect(await one.heartbeat([task])).toEqual(["carry-on"]);
    }
    await one.end(tasks, success());
    expect((await inspect(run)).attempts).toHaveLength(2);
  }));

test("2: a task that a session omits from its complete list is lost, on another server too", () =>
  play(async ({ agent, other, schedule, inspect }) => {
    const run = await schedule(TWO);
    const one = agent("one");
    const first = await one.take();
    const second = await one.take();
    expect(await one.heartbeat([first], { at: other(), listsAllTo: 2 })).toEqual(["carry-on"]);
    const again = await agent("two").take();
    expect([again.token.step, again.token.fence]).toEqual([second.token.step, 2]);
    await one.end(first, success());
    await agent("three").end(again, success());
    expect(await inspect(run)).toMatchObject({
      run: "COMPLETED DONE",
      attempts: ["b perform 1/1 drover.lost", "a perform 1/1 success", "b perform 2/1 success"],
      interventions: ["forgotten b"],
    });
  }));

test("2: late, repeated and reordered lists forget no task that a poll has delivered since", () =>
  play(async ({ agent, other, watching, schedule, inspect, pass }) => {
    const run = await schedule(TWO);
    const one = agent("one");
    const first = await one.take();
    const late = [2_400, 1_500, 2_000].map((request) =>
      one.heartbeat([first], {
        request,
        listsAllTo: 1,
        at: request > 1_800 ? other() : watching(),
      }),
    );
    const second = await one.take();
    await pass(2_300);
    for (const heartbeat of late) expect(await heartbeat).toEqual(["carry-on"]);
    expect(await one.heartbeat([first, second], { listsAllTo: 2 })).toEqual([
      "carry-on",
      "carry-on",
    ]);
    await one.end([first, second], success());
    expect((await inspect(run)).interventions).toEqual([]);
  }));

test("2: a task granted while a list is in flight is not forgotten, also if its poll is lost", () =>
  play(async ({ agent, other, schedule, inspect, pass }) => {
    const run = await schedule(TWO);
    const one = agent("one");
    const first = await one.take();
    const polled = one.poll({ answer: 1_500 });
    await pass(200);
    for (const at of [other(), undefined, other()])
      expect(await one.heartbeat([first], { listsAllTo: 1, ...(at && { at }) })).toEqual([
        "carry-on",
      ]);
    // It gives up; what it reports of the poll before it is in the same heartbeat.
    const listing = { listsAllTo: 2, lost: [2], at: other() };
    expect(await one.heartbeat([first], listing)).toEqual(["carry-on"]);
    await polled;
    const again = await agent("two").take();
    expect([again.token.step, again.token.fence]).toEqual([1, 2]);
    await agent("two").end(again, success());
    await one.end(first, success());
    expect((await inspect(run)).attempts).toContain("b perform 1/1 undelivered");
    expect((await inspect(run)).interventions).toEqual(["delivery b"]);
  }));

test("2: the next poll of an idle agent gives back its lost poll, on another server too", () =>
  play(async ({ agent, watching, other, schedule, inspect }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const here = watching();
    const there = other();
    const gone = await one.poll({ at: here, answer: "lost", deadlineMs: 1_500 });
    expect(gone.code).toBe("DEADLINE_EXCEEDED");
    const task = await one.take({ at: there, lost: [gone.poll] });
    expect(task.token.fence).toBe(2);
    await one.end(task, success());
    expect(await inspect(run)).toMatchObject({
      attempts: ["a perform 1/1 undelivered", "a perform 2/1 success"],
      interventions: ["delivery a"],
    });
  }));

test("2: a heartbeat that was sent before the poll does not cover what the poll was granted", () =>
  play(async ({ agent, schedule, inspect }) => {
    const run = await schedule(TWO);
    const one = agent("one");
    const first = await one.take();
    const heartbeat = one.heartbeat([first], { request: 1_000 });
    const second = await one.take();
    expect(await heartbeat).toEqual(["carry-on"]);
    expect(await one.heartbeat([first, second])).toEqual(["carry-on", "carry-on"]);
    await one.end([first, second], success());
    expect((await inspect(run)).interventions).toEqual([]);
  }));

test("3: a poll whose caller goes while its claim is under way gives its task back at once", () =>
  play(async ({ agent, watching, other, faults, schedule, inspect, pass, at }) => {
    const run = await schedule(ONE, { at: other() });
    faults.scriptStore({ name: "claim", at: watching(), times: 1, backMs: 2_000 });
    await at(1_000);
    const gone = await agent("one").poll({ at: watching(), waitMs: 500, deadlineMs: 1_600 });
    expect(gone.code).toBe("DEADLINE_EXCEEDED");
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    // Its claim is known now, and no call has named it as lost.
    await pass(500);
    expect((await inspect(run)).steps).toEqual({ a: "READY" });
    const two = agent("two");
    await two.end(await two.take(), success());
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 undelivered",
      "a perform 2/1 success",
    ]);
  }));

test("3: an answer that is in flight when its caller gives up gives nothing back by itself", () =>
  play(async ({ agent, schedule, inspect, pass }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    const gone = await one.poll({ waitMs: 500, answer: 2_000, deadlineMs: 1_600 });
    expect(gone.code).toBe("DEADLINE_EXCEEDED");
    await pass(1_000);
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    const task = await one.take({ lost: [gone.poll] });
    await one.end(task, success());
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 undelivered",
      "a perform 2/1 success",
    ]);
  }));

test("3: a server that dies between a claim's commit and its answer costs a poll and no try", () =>
  play(async ({ agent, watching, other, faults, crash, schedule, inspect, pass }) => {
    const here = watching();
    const there = other();
    const run = await schedule(ONE, { at: there });
    const one = agent("one");
    faults.scriptStore({ name: "claim", at: here, backMs: 300 });
    const gone = one.poll({ at: here, deadlineMs: 2_000 });
    await pass(100);
    crash(here);
    expect((await inspect(run)).steps).toEqual({ a: "LEASED" });
    const { poll } = await gone;
    const task = await one.take({ at: there, lost: [poll] });
    await one.end(task, success(), { at: there });
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 undelivered",
      "a perform 2/1 success",
    ]);
  }));

test("22: a repeated report repeats only its outcomes; the agent names its carried poll lost", () =>
  play(async ({ agent, other, schedule, inspect }) => {
    const run = await schedule(flow({ a: {}, b: { needs: ["a"] } }));
    const one = agent("one");
    const task = await one.take();
    const lost = await one.report(task, success(), { next: 1, answer: "lost" });
    expect(lost.code).toBe("DEADLINE_EXCEEDED");
    const again = await one.report(task, success(), { next: 1, at: other() });
    expect(again).toMatchObject({ answers: ["repeated"], tasks: [] });
    const next = await one.take({ lost: [lost.poll] });
    expect(next.token).toMatchObject({ step: 1, fence: 2 });
    expect((await one.report(task, failure("busy"))).answers).toEqual(["TASK_OVER"]);
    await one.end(next, success());
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 success",
      "b perform 1/1 undelivered",
      "b perform 2/1 success",
    ]);
  }));

test("24: a claim whose facts cannot be read afterwards gives its task back at once", () =>
  play(async ({ agent, faults, schedule, inspect }) => {
    const run = await schedule(ONE);
    const [one, two] = [agent("one"), agent("two")];
    // The first task of a run that the server knows needs no facts.
    await one.end(await one.take(), released);
    faults.scriptStore({ name: "taskFacts", fate: "before-commit" });
    expect((await two.poll()).code).toBe("UNAVAILABLE");
    await two.end(await two.take(), success());
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 released",
      "a perform 2/1 unsent",
      "a perform 3/1 success",
    ]);
  }));

test("26: an agent gets only the tasks that it performs, whatever other agents wait for", () =>
  play(async ({ agent, schedule, inspect }) => {
    const run = await schedule(flow({ fly: {}, sleep: {} }));
    const sleeper = agent("sleeper", { tasks: ["sleep"] });
    const flier = agent("flier", { tasks: ["fly"] });
    const bed = await sleeper.poll({ max: 5 });
    expect(bed.tasks.map(({ task }) => task.task)).toEqual(["sleep"]);
    const seat = await flier.poll({ max: 5 });
    expect(seat.tasks.map(({ task }) => task.task)).toEqual(["fly"]);
    await sleeper.end(bed.tasks, success());
    await flier.end(seat.tasks, success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));

test("26: a lost task is reserved for another session for 2 s, then any agent may have it", () =>
  play(async ({ agent, schedule, inspect, at }) => {
    const run = await schedule(ONE);
    const one = agent("one");
    await at(1_000);
    await one.take({ waitMs: 0 });
    await at(1_000 + HEARTBEAT_MS + 500);
    expect((await inspect(run)).steps).toEqual({ a: "READY" });
    expect((await one.poll({ waitMs: 1_000 })).tasks).toEqual([]);
    const again = await one.take({ waitMs: 2_500 });
    expect(again.token.fence).toBe(2);
    await one.end(again, success());
    expect((await inspect(run)).attempts).toEqual([
      "a perform 1/1 drover.lost",
      "a perform 2/1 success",
    ]);
  }));

test("40: a waiter with capacity for one gets one task, however many batches find one for it", () =>
  play(async ({ agent, client, schedule, inspect, pass, faults }) => {
    const one = agent("one", { tasks: ["x"] });
    const chain = await schedule(flow({ w: {}, x: { needs: ["w"] } }));
    const first = await agent("two", { tasks: ["w"] }).take();
    const parked = one.poll({ waitMs: 3_000 });
    await pass(100);
    // A pass and a Schedule make its lane ready in the same millisecond.
    faults.scriptStore({ name: "advance", backMs: 50 });
    const [, scheduled] = await Promise.all([
      agent("two").report(first, success()),
      client.schedule(flow({ x: {} })),
    ]);
    const { tasks } = await parked;
    expect(tasks).toHaveLength(1);
    const other = await one.take();
    await one.end([...tasks, other], success());
    expect((await inspect(chain)).attempts).toContain("x perform 1/1 success");
    expect(scheduled.kind).toBe("scheduled");
  }));

test("40: a waiter that a failed batch had reserved is served before the next poll tick", () =>
  play(async ({ agent, watching, other, client, faults, schedule, inspect, at, now }) => {
    const here = watching();
    const there = other();
    const one = agent("one", { tasks: ["x"] });
    const x = flow({ x: {} });
    await schedule(x, { at: there });
    await one.end(await one.take({ at: here }), success(), { at: here });
    const parked = one.poll({ at: here, waitMs: 5_000 });
    await at(2_100);
    // This batch holds the waiter until 2,500; meanwhile its lane gets a row from elsewhere.
    faults.scriptStore({ name: "schedule", at: here, fate: "repeatable", backMs: 400 });
    faults.scriptStore({ name: "schedule", at: here, fate: "repeatable", toMs: 200 });
    const failed = client.schedule(x, { at: here, key: "k" });
    await at(2_200);
    const run = await schedule(x, { at: there });
    const { tasks } = await parked;
    expect(tasks.map(({ token }) => token.runId)).toEqual([run]);
    expect(now()).toBeLessThan(2_600);
    expect((await failed).kind).toBe("unknown");
    await one.end(tasks, success());
    expect((await inspect(run)).run).toBe("COMPLETED DONE");
  }));
