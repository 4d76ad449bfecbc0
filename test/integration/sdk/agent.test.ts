/** The runtime of an agent: tasks come in, handlers run, outcomes go out, and a stop drains. */
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { expect, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import {
  again,
  cannotTell,
  deferred,
  didNotHappen,
  happened,
} from "../../../sdk/typescript/answers.ts";
import type { Handler, Task } from "../../../sdk/typescript/handler.ts";
import { json } from "../../../sdk/typescript/payload.ts";
import {
  CancelledError,
  PermanentError,
  TransientError,
  UnknownError,
} from "../../../sdk/typescript/task-errors.ts";
import { aGate, aTask, givenAgent, givenServer, silentLog } from "../../support/agent-script.ts";

/** A server of the future may have more kinds. */
const kindOfLater = 99 as TaskKind;
const answered = { answers: [{}] };

test("an agent polls with its name, session, queues and tasks, and a deadline beyond its wait", async () => {
  const server = await givenServer();
  givenAgent(server, {
    id: "flights-1",
    queues: ["travel", { name: "rush", weight: 5 }],
    slots: 3,
    handlers: { "book-flight": () => null, "cancel-flight": () => null },
  });
  const { request } = await server.poll.next();
  expect(request.agent?.id).toBe("flights-1");
  expect(request.agent?.session).toHaveLength(16);
  expect(request.queues.map(({ name, weight }) => [name, weight])).toEqual([
    ["travel", 1],
    ["rush", 5],
  ]);
  expect(request.tasks).toEqual(["book-flight", "cancel-flight"]);
  expect(request).toMatchObject({ pollSeq: 1n, maxTasks: 3, lostPolls: [] });
});

test("a handler gets its task, and what it returns is reported as success", async () => {
  const server = await givenServer();
  const seen: Partial<Task>[] = [];
  givenAgent(server, {
    handlers: {
      "book-flight": (task) => {
        seen.push(task);
        return { seat: "12A", to: task.input() };
      },
    },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t1", { labels: { team: "blue" } })] });
  const { request } = await server.complete.next();
  expect(seen[0]).toMatchObject({
    name: "book-flight",
    kind: "perform",
    runId: "run-1",
    attempt: 1,
    idempotencyKey: "key-t1",
    fence: 1,
    labels: { team: "blue" },
  });
  expect(request.results).toHaveLength(1);
  expect(request.results[0]?.taskToken).toBe("t1");
  const outcome = request.results[0]?.outcome?.kind;
  const output = outcome?.case === "success" ? outcome.value.output?.body.value : null;
  expect(output).toBe('{"seat":"12A","to":{"to":"Lisbon"}}');
});

test("a compensate task gets the output and the key of what it undoes", async () => {
  const server = await givenServer();
  const undone = Promise.withResolvers<unknown>();
  givenAgent(server, {
    handlers: {
      "cancel-flight": (task) => {
        const seat = task.output((value) => String(value));
        undone.resolve([task.kind, seat, task.effectKey, task.lastDetails()]);
      },
    },
  });
  const task = aTask("u1", {
    kind: TaskKind.COMPENSATE,
    task: "cancel-flight",
    output: json("12A"),
    effectKey: "key-t1",
  });
  (await server.poll.next()).answer({ tasks: [task] });
  expect(await undone.promise).toEqual(["compensate", "12A", "key-t1", undefined]);
});

test.each([
  [
    "a TransientError as a failure to be retried",
    () => {
      throw new TransientError("rate limited", "busy", { retryAfter: "1.5s", noEffect: true });
    },
    {
      case: "failed",
      value: { code: "rate-limited", failureClass: 1, noEffect: true, retryAfter: { seconds: 1n } },
    },
  ],
  [
    "a TransientError whose time has passed as one to be retried at once",
    () => {
      throw new TransientError("busy", "busy", { retryAfter: -5_000 });
    },
    { case: "failed", value: { code: "busy", retryAfter: { seconds: 0n, nanos: 0 } } },
  ],
  [
    "a PermanentError as a failure for good",
    () => {
      throw new PermanentError("no-room", "fully booked");
    },
    { case: "failed", value: { code: "no-room", message: "fully booked", failureClass: 2 } },
  ],
  [
    "an UnknownError as unknown",
    () => {
      throw new UnknownError("broken-pipe", "the connection broke");
    },
    { case: "unknown", value: { code: "broken-pipe" } },
  ],
  [
    "an error that it did not name as unknown, since it may have come after the effect",
    () => {
      throw new TypeError("x is not a function");
    },
    {
      case: "unknown",
      value: { code: "unexpected-error", message: "TypeError: x is not a function" },
    },
  ],
  [
    "an input that its parser refuses as a failure for good",
    (task: Task) =>
      task.input(() => {
        throw new Error("no passport");
      }),
    { case: "failed", value: { code: "bad-input", failureClass: 2 } },
  ],
  [
    "a result without JSON form as a success whose output is lost, since the work was done",
    () => ({ big: 1n }),
    {
      case: "success",
      value: {
        outputProblem:
          "The handler's result cannot be sent: TypeError: Do not know how to serialize a BigInt",
      },
    },
  ],
  [
    "a result that no server takes as a success whose output is lost",
    () => "x".repeat(2 * 1024 * 1024),
    {
      case: "success",
      value: {
        outputProblem:
          "The output has 2097154 bytes, and none may have more than 2097152: keep it in object storage and return its address",
      },
    },
  ],
  [
    "a CancelledError as cancelled",
    () => {
      throw new CancelledError("stopped in time", { noEffect: true });
    },
    { case: "cancelled", value: { noEffect: true } },
  ],
  [
    "again as to be asked again later",
    () => again({ after: "1m30s" }),
    { case: "again", value: { after: { seconds: 90n } } },
  ],
  [
    "again at once as in a millisecond, the shortest that a server takes",
    () => again({ after: 0 }),
    { case: "again", value: { after: { seconds: 0n, nanos: 1_000_000 } } },
  ],
  ["deferred as an outcome that comes later", () => deferred(), { case: "deferred" }],
] as const)("an agent reports %s", async (_name, handler, expected) => {
  const server = await givenServer();
  givenAgent(server, { handlers: { "book-flight": handler } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const { request } = await server.complete.next();
  expect(request.results[0]?.outcome?.kind).toMatchObject(expected);
});

test("that a result cannot be sent is in the agent's own log as well", async () => {
  const server = await givenServer();
  const errors: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => void errors.push(message) };
  givenAgent(server, { log, handlers: { "book-flight": () => ({ big: 1n }) } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  await server.complete.next();
  expect(errors).toEqual([expect.stringContaining("The handler's result cannot be sent")]);
});

test("a busy agent takes its next task with the report of the last, in one call", async () => {
  const server = await givenServer();
  givenAgent(server, { slots: 1, handlers: { "book-flight": (task) => task.stepId } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const first = await server.complete.next();
  expect(first.request.next).toMatchObject({ pollSeq: 2n, maxTasks: 1, tasks: ["book-flight"] });
  first.answer({ ...answered, tasks: [aTask("t2")] });
  const second = await server.complete.next();
  expect(second.request.results[0]?.taskToken).toBe("t2");
  second.answer(answered);
  const poll = await server.poll.next();
  expect(poll.request.pollSeq).toBe(4n);
});

test("an agent asks for no more tasks than it has free slots", async () => {
  const server = await givenServer();
  const gate = aGate<void>();
  givenAgent(server, { slots: 3, handlers: { "book-flight": () => gate.ended } });
  const first = await server.poll.next();
  expect(first.request.maxTasks).toBe(3);
  first.answer({ tasks: [aTask("t1"), aTask("t2")] });
  const second = await server.poll.next();
  expect(second.request.maxTasks).toBe(1);
  gate.end(null);
  const report = await server.complete.next();
  expect(report.request.next?.maxTasks).toBeLessThanOrEqual(2);
});

test.each<[string, Handler, object]>([
  [
    "happened as a success with the output of the step",
    () => happened({ seat: "12A" }),
    { case: "success", value: { output: json({ seat: "12A" }) } },
  ],
  [
    "didNotHappen as a failure without effect",
    () => didNotHappen(),
    { case: "failed", value: { code: "did-not-happen", noEffect: true } },
  ],
  [
    "cannotTell as unknown, with what it says",
    () => cannotTell("the desk does not answer"),
    { case: "unknown", value: { code: "cannot-tell", message: "the desk does not answer" } },
  ],
  [
    "a lookup that returns nothing as unknown, never as happened",
    () => undefined,
    { case: "unknown", value: { code: "no-answer" } },
  ],
  [
    "a lookup that failed as a failure, which does not say that nothing happened",
    () => {
      throw new TransientError("busy", "all lines are busy");
    },
    { case: "failed", value: { code: "busy", noEffect: false } },
  ],
])("an agent that verifies reports %s", async (_name, handler, expected) => {
  const server = await givenServer();
  givenAgent(server, { handlers: { "find-flight": handler } });
  const task = aTask("v1", { kind: TaskKind.VERIFY, task: "find-flight" });
  (await server.poll.next()).answer({ tasks: [task] });
  const { request } = await server.complete.next();
  expect(request.results[0]?.outcome?.kind).toMatchObject(expected);
});

test("a verify task has the key of the effect, and what the lost attempt left behind", async () => {
  const server = await givenServer();
  const seen = Promise.withResolvers<unknown>();
  givenAgent(server, {
    handlers: {
      "find-flight": (task) => {
        seen.resolve([task.kind, task.effectKey, task.input(), task.lastDetails()]);
        return didNotHappen();
      },
    },
  });
  const task = aTask("v1", {
    kind: TaskKind.VERIFY,
    task: "find-flight",
    effectKey: "key-t1",
    lastDetails: json({ page: 3 }),
  });
  (await server.poll.next()).answer({ tasks: [task] });
  expect(await seen.promise).toEqual(["verify", "key-t1", { to: "Lisbon" }, { page: 3 }]);
});

test("a handler that defers has the token by which the outcome will come", async () => {
  const server = await givenServer();
  const sent = Promise.withResolvers<string>();
  givenAgent(server, {
    handlers: {
      "book-flight": (task) => {
        sent.resolve(task.callbackToken);
        return deferred();
      },
    },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t1", { callbackToken: "call-t1" })] });
  expect(await sent.promise).toBe("call-t1");
});

test("a task of a kind that this agent does not know is released", async () => {
  const server = await givenServer();
  givenAgent(server, { handlers: { "book-flight": () => null } });
  (await server.poll.next()).answer({ tasks: [aTask("t1", { kind: kindOfLater })] });
  const { request } = await server.complete.next();
  expect(request.results[0]?.outcome?.kind.case).toBe("released");
});

test("a stop cancels the poll, names it as lost, and ends the agent", async () => {
  const server = await givenServer();
  const agent = givenAgent(server, { handlers: { "book-flight": () => null } });
  const poll = await server.poll.next();
  const stopped = agent.stop();
  await poll.cancelled;
  const heartbeat = await server.heartbeat.next();
  expect(heartbeat.request).toMatchObject({ lostPolls: [1n], reports: [] });
  server.heartbeat.always((call) => call.answer({}));
  heartbeat.answer({});
  await stopped;
  await agent.done;
  await agent.stop();
});

test("a stop lets the running task finish, and releases one that arrives meanwhile", async () => {
  const server = await givenServer();
  const gate = aGate<string>();
  const started: string[] = [];
  const agent = givenAgent(server, {
    slots: 2,
    grace: "20s",
    handlers: {
      "book-flight": async ({ stepId }) => {
        started.push(stepId);
        if (stepId === "slow") {
          gate.begin(stepId);
          await gate.ended;
        }
      },
    },
  });
  (await server.poll.next()).answer({ tasks: [aTask("slow"), aTask("quick")] });
  await gate.started;
  // The report of the quick one carries a poll, which is answered only after the stop.
  const quick = await server.complete.next();
  const stopped = agent.stop();
  server.heartbeat.always((call) => call.answer({}));
  quick.answer({ ...answered, tasks: [aTask("late")] });
  const release = await server.complete.next();
  expect(release.request.results[0]).toMatchObject({
    taskToken: "late",
    outcome: { kind: { case: "released" } },
  });
  expect(release.request.next).toBeUndefined();
  release.answer(answered);
  gate.end(null);
  const slow = await server.complete.next();
  expect(slow.request.results[0]?.outcome?.kind.case).toBe("success");
  slow.answer(answered);
  await stopped;
  expect(started).toEqual(["slow", "quick"]);
});

test("a handler that does not finish within the grace is asked to stop, and reported unknown", async () => {
  const server = await givenServer();
  const gate = aGate<void>();
  const agent = givenAgent(server, {
    slots: 1,
    grace: 0,
    handlers: {
      "book-flight": (_task, { signal }) => {
        gate.begin();
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      },
    },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  await gate.started;
  const stopped = agent.stop();
  const report = await server.complete.next();
  expect(report.request.results[0]?.outcome?.kind).toMatchObject({
    case: "unknown",
    value: { code: "agent-stopped" },
  });
  report.answer(answered);
  await stopped;
});

test("wrong settings are refused at once, with the value", () => {
  const handlers = { "book-flight": () => null };
  const given = { address: "127.0.0.1:1", id: "a", handlers };
  expect(() => createAgent({ ...given, id: "not good" })).toThrow(/id is "not good"/);
  expect(() => createAgent({ ...given, slots: 0 })).toThrow(/slots is 0/);
  expect(() => createAgent({ ...given, handlers: {} })).toThrow(/number of handlers is 0/);
  expect(() => createAgent({ ...given, grace: "2d" })).toThrow(/grace is 2d; it must be 0s to 1d/);
  expect(() => createAgent({ ...given, grace: "long" })).toThrow(/"long" cannot be read/);
  expect(() => createAgent({ ...given, pollWait: 500 })).toThrow(/pollWait is 500; .* 1s to 1m/);
  expect(() => createAgent({ ...given, address: "http://x" })).toThrow(
    /"http:\/\/x" is not host:port/,
  );
});
