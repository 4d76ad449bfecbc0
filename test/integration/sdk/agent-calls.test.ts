/**
 * Calls that go wrong: polls that are lost, reports that are repeated, a server that comes back.
 */
import { hostname } from "node:os";
import { setImmediate as immediate } from "node:timers/promises";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import { expect, test } from "vitest";
import type { Handler } from "../../../sdk/typescript/handler.ts";
import { aGate, aTask, givenAgent, givenServer } from "../../support/agent-script.ts";
import { status } from "../../support/fake-server.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const unavailable = 14;
const invalidArgument = 3;
const failedPrecondition = 9;
const resourceExhausted = 8;
const answered = { answers: [{}] };

test("each poll states the process of the agent, and for how long its session exists", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const handlers = { "book-flight": () => null };
  givenAgent(server, { clock, pollWait: "20s", slots: 7, handlers });
  const process = { host: hostname(), pid: globalThis.process.pid, capacity: 7 };
  const first = await server.poll.next();
  expect(first.request.process).toMatchObject({ ...process, runningFor: { seconds: 0n } });
  clock.advance(20_000);
  first.answer({});
  const { request } = await server.poll.next();
  expect(request.process).toMatchObject({ ...process, runningFor: { seconds: 20n } });
});

test("a lost poll is named in each later poll until 30 s after the end of its wait", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  givenAgent(server, { clock, pollWait: "20s", handlers: { "book-flight": () => null } });
  (await server.poll.next()).fail(unavailable);
  await clock.armed(1_000);
  clock.advance(1_000);
  const second = await server.poll.next();
  expect(second.request).toMatchObject({ pollSeq: 2n, lostPolls: [1n] });
  clock.advance(20_000);
  second.answer({});
  const third = await server.poll.next();
  expect(third.request).toMatchObject({ pollSeq: 3n, lostPolls: [1n] });
  clock.advance(28_999);
  third.answer({});
  const fourth = await server.poll.next();
  expect(fourth.request.lostPolls).toEqual([1n]);
  clock.advance(1_000);
  fourth.answer({});
  expect((await server.poll.next()).request.lostPolls).toEqual([]);
});

test("a lost poll is named in heartbeats too", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<void>();
  givenAgent(server, { clock, slots: 1, handlers: { "book-flight": () => gate.ended } });
  (await server.poll.next()).fail(unavailable);
  await clock.armed(1_000);
  clock.advance(1_000);
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  await clock.armed(3_000);
  clock.advance(3_000);
  expect((await server.heartbeat.next()).request.lostPolls).toEqual([1n]);
  gate.end(null);
});

test("a heartbeat lists all that the polls before the one under way have brought", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<void>();
  const started: string[] = [];
  const handler: Handler = ({ runId }) => {
    started.push(runId);
    return gate.ended;
  };
  givenAgent(server, { clock, slots: 2, handlers: { "book-flight": handler } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const second = await server.poll.next();
  await clock.armed(3_000);
  clock.advance(3_000);
  const heartbeat = await server.heartbeat.next();
  expect(heartbeat.request).toMatchObject({ listsAllTo: 1n, reports: [{ taskToken: "t1" }] });
  heartbeat.answer({ answers: [{}] });
  second.answer({ tasks: [aTask("t2")] });
  await expect.poll(() => started.length).toBe(2);
  clock.advance(3_000);
  expect((await server.heartbeat.next()).request).toMatchObject({
    listsAllTo: 2n,
    reports: [{ taskToken: "t1" }, { taskToken: "t2" }],
  });
  gate.end(null);
});

test("a poll that the server itself refused is not named as lost", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  givenAgent(server, { clock, handlers: { "book-flight": () => null } });
  (await server.poll.next()).fail(5, "NAMESPACE_NOT_FOUND");
  await clock.armed(1_000);
  clock.advance(1_000);
  expect((await server.poll.next()).request.lostPolls).toEqual([]);
});

test("a busy server is asked again after the time that it names", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  givenAgent(server, { clock, handlers: { "book-flight": () => null } });
  (await server.poll.next()).fail(resourceExhausted, "OVERLOADED", 4_000);
  await clock.armed(4_000);
  clock.advance(4_000);
  expect((await server.poll.next()).request).toMatchObject({ pollSeq: 2n, lostPolls: [] });
});

test("a poll whose answer the client's own library refuses is named as lost", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  givenAgent(server, { clock, handlers: { "book-flight": () => null } });
  // As gRPC reports an answer over its receive limit: without a message of the server.
  (await server.poll.next()).fail(resourceExhausted);
  await clock.armed(1_000);
  clock.advance(1_000);
  expect((await server.poll.next()).request.lostPolls).toEqual([1n]);
});

test("a poll that was carried by a report is named as lost if the queue was full", async () => {
  const server = await givenServer();
  givenAgent(server, { slots: 1, handlers: { "book-flight": () => null } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const report = await server.complete.next();
  expect(report.request.next?.pollSeq).toBe(2n);
  report.fail(resourceExhausted, "OVERLOADED", 1);
  expect((await server.poll.next()).request).toMatchObject({ pollSeq: 3n, lostPolls: [2n] });
});

test("a report is repeated with the very same outcome until it is answered", async () => {
  const server = await givenServer();
  givenAgent(server, { slots: 1, handlers: { "book-flight": () => ({ seat: "12A" }) } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const first = await server.complete.next();
  first.fail(unavailable, "STORE_UNAVAILABLE");
  const second = await server.complete.next();
  expect(second.request.results).toEqual(first.request.results);
  second.fail(unavailable);
  const third = await server.complete.next();
  expect(third.request.results).toEqual(first.request.results);
  third.answer({ answers: [{ repeated: true }] });
  await server.poll.next();
});

test("the carried poll of an unanswered report is lost, and the repeat carries another one", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  givenAgent(server, { clock, slots: 1, handlers: { "book-flight": () => null } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const first = await server.complete.next();
  expect(first.request.next?.pollSeq).toBe(2n);
  first.fail(unavailable);
  const poll = await server.poll.next();
  expect(poll.request).toMatchObject({ pollSeq: 3n, lostPolls: [2n] });
  poll.answer({ tasks: [] });
});

test("a report that comes too late, or is over, is dropped", async () => {
  const server = await givenServer();
  givenAgent(server, { slots: 2, handlers: { "book-flight": () => null } });
  (await server.poll.next()).answer({ tasks: [aTask("t1"), aTask("t2")] });
  server.complete.always((call) => {
    const answers = call.request.results.map(({ taskToken }) => ({
      status: status(failedPrecondition, taskToken === "t1" ? "LEASE_LOST" : "TASK_OVER"),
    }));
    call.answer({ answers });
  });
  const poll = await server.poll.next();
  expect(poll.request.maxTasks).toBeGreaterThan(0);
});

test("an output that the server refuses is reported as a success whose output is lost", async () => {
  const server = await givenServer();
  givenAgent(server, { slots: 1, handlers: { "book-flight": () => "far too long" } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const path = "results[0].outcome.success.output";
  const refusal = { status: status(invalidArgument, "PAYLOAD_TOO_LARGE", undefined, path) };
  (await server.complete.next()).answer({ answers: [refusal] });
  const second = await server.complete.next();
  expect(second.request.results[0]).toMatchObject({
    taskToken: "t1",
    outcome: {
      kind: {
        case: "success",
        value: { outputProblem: "The output was refused: it is what the script refuses" },
      },
    },
  });
});

test("a lonely report goes out at once, and what ends meanwhile goes with the next call", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<void>();
  givenAgent(server, {
    clock,
    slots: 100,
    handlers: { "book-flight": ({ stepId }) => (stepId === "t0" ? null : gate.ended) },
  });
  const tokens = Array.from({ length: 40 }, (_, index) => `t${index}`);
  (await server.poll.next()).answer({ tasks: tokens.map((token) => aTask(token)) });
  const lonely = await server.complete.next();
  expect(lonely.request.results.map((result) => result.taskToken)).toEqual(["t0"]);
  gate.end(null);
  // Until then a slow call may hold them up.
  await clock.armed(250);
  lonely.answer(answered);
  const gathered = await server.complete.next();
  expect(gathered.request.results.map((result) => result.taskToken)).toEqual(tokens.slice(1));
  gathered.answer({ answers: tokens.slice(1).map(() => ({})) });
});

test("a call that is not answered for 250 ms holds up no other", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<void>();
  givenAgent(server, {
    clock,
    slots: 2,
    handlers: { "book-flight": ({ stepId }) => (stepId === "t0" ? null : gate.ended) },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t0"), aTask("t1")] });
  await server.complete.next();
  gate.end(null);
  await clock.armed(250);
  clock.advance(250);
  const next = await server.complete.next();
  expect(next.request.results.map((result) => result.taskToken)).toEqual(["t1"]);
});

test("an idle agent has one poll, and a busy one another that its reports carry", async () => {
  const server = await givenServer();
  const gate = aGate<void>();
  givenAgent(server, {
    slots: 10,
    handlers: { "book-flight": ({ stepId }) => (stepId === "t1" ? null : gate.ended) },
  });
  const idle = await server.poll.next();
  expect(idle.request.maxTasks).toBe(10);
  idle.answer({ tasks: [aTask("t1"), aTask("t2")] });
  const own = await server.poll.next();
  const report = await server.complete.next();
  expect([own.request.maxTasks, report.request.next?.maxTasks]).toEqual([8, 1]);
  // The one is answered, and the other waits.
  report.answer({ ...answered, tasks: [aTask("t3")] });
  own.answer({ tasks: [aTask("t4")] });
  expect((await server.poll.next()).request.maxTasks).toBe(7);
  gate.end(null);
});

test("the poll of an agent's own has one of several slots that reports make free", async () => {
  const server = await givenServer();
  const gate = aGate<void>();
  givenAgent(server, { slots: 3, handlers: { "book-flight": () => gate.ended } });
  (await server.poll.next()).answer({ tasks: [aTask("t1"), aTask("t2"), aTask("t3")] });
  gate.end(null);
  const own = await server.poll.next();
  const report = await server.complete.next();
  expect(report.request.results).toHaveLength(3);
  expect([own.request.maxTasks, report.request.next?.maxTasks]).toEqual([1, 2]);
});

test("polls under way never ask for more tasks together than there are free slots", async () => {
  const server = await givenServer();
  const slots = 4;
  let asked = 0;
  let taken = 0;
  let most = 0;
  let given = 0;
  const handler: Handler = async ({ stepId }) => {
    for (let turn = 0; turn < Number(stepId) % 4; turn++) await immediate();
    taken -= 1;
  };
  givenAgent(server, { slots, handlers: { "book-flight": handler } });
  /** Tasks for a poll, a few turns after it came. */
  const tasksFor = async (maxTasks: number): Promise<Task[]> => {
    asked += maxTasks;
    most = Math.max(most, asked + taken);
    for (let turn = 0; turn < given % 3; turn++) await immediate();
    const count = Math.min(maxTasks, 1 + (given % 3));
    asked -= maxTasks;
    taken += count;
    return Array.from({ length: count }, () => aTask(String(given++)));
  };
  server.poll.always(async (poll) => {
    poll.answer({ tasks: await tasksFor(poll.request.maxTasks) });
  });
  server.complete.always(async (call) => {
    const { results, next } = call.request;
    const tasks = next ? await tasksFor(next.maxTasks) : [];
    call.answer({ answers: results.map(() => ({})), tasks });
  });
  await expect.poll(() => given, { timeout: 20_000 }).toBeGreaterThan(300);
  expect(most).toBe(slots);
});

test("one report that spoils a whole call is found by sending each alone", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<void>();
  givenAgent(server, {
    clock,
    slots: 3,
    handlers: { "book-flight": ({ stepId }) => (stepId === "t0" ? null : gate.ended) },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t0"), aTask("t1"), aTask("t2")] });
  (await server.complete.next()).answer(answered);
  gate.end(null);
  const both = await server.complete.next();
  expect(both.request.results).toHaveLength(2);
  both.fail(invalidArgument, "INVALID_REQUEST", undefined, "results[1].outcome");
  const alone = await server.complete.next();
  expect(alone.request.results).toHaveLength(1);
});

test("an agent outlives a restart of the server: it reports, and polls again", async () => {
  const server = await givenServer();
  const gate = aGate<void>();
  givenAgent(server, {
    slots: 2,
    handlers: {
      "book-flight": () => {
        gate.begin();
        return gate.ended;
      },
    },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  await gate.started;
  const parked = await server.poll.next();
  expect(parked.request.pollSeq).toBe(2n);
  server.stop();
  gate.end("done meanwhile");
  const revived = await givenServer(server.port);
  revived.heartbeat.always((heartbeat) => heartbeat.answer({}));
  const report = await revived.complete.next();
  expect(report.request.results[0]?.taskToken).toBe("t1");
  report.answer(answered);
  const poll = await revived.poll.next();
  expect(poll.request.lostPolls).toContain(2n);
});
