/** Heartbeats, cancels and the end of leases, on a clock that only the test moves. */
import { create } from "@bufbuild/protobuf";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { expect, test } from "vitest";
import { again } from "../../../sdk/typescript/answers.ts";
import { toDuration } from "../../../sdk/typescript/duration.ts";
import type { TaskContext } from "../../../sdk/typescript/handler.ts";
import { json } from "../../../sdk/typescript/payload.ts";
import { TaskStopped } from "../../../sdk/typescript/task-errors.ts";
import { aGate, aTask, carryOn, givenAgent, givenServer } from "../../support/agent-script.ts";
import type { FakeServer } from "../../support/fake-server.ts";
import { createManualClock } from "../../support/manual-clock.ts";

/** One task of a handler that waits; it throws what its signal is aborted with. */
async function aRunningTask(server: FakeServer, waitedMs = 0, given = {}) {
  const clock = createManualClock();
  const gate = aGate<TaskContext>();
  const agent = givenAgent(server, {
    slots: 1,
    clock,
    handlers: {
      "book-flight": (_task, context) => {
        gate.begin(context);
        const aborted = new Promise((_resolve, reject) => {
          context.signal.addEventListener("abort", () => reject(context.signal.reason));
        });
        return Promise.race([gate.ended, aborted]);
      },
    },
  });
  const poll = await server.poll.next();
  clock.advance(waitedMs);
  poll.answer({ tasks: [aTask("t1", given)], waited: toDuration(waitedMs) });
  return { agent, clock, context: await gate.started, end: gate.end };
}

function stopKind(signal: AbortSignal): string | null {
  return signal.reason instanceof TaskStopped ? signal.reason.kind : null;
}

test("heartbeats go out by themselves as often as the task asks, and never move progress", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  for (let count = 0; count < 5; count += 1) {
    clock.advance(3_000);
    const heartbeat = await server.heartbeat.next();
    expect(heartbeat.request.reports).toHaveLength(1);
    expect(heartbeat.request.reports[0]?.taskToken).toBe("t1");
    expect(heartbeat.request.reports[0]?.progress).toBeUndefined();
    expect(heartbeat.request.reports[0]?.details).toBeUndefined();
    heartbeat.answer({ answers: [carryOn] });
    // The renewal has been read when the lease is long again.
    await expect.poll(() => context.leftMs(), { interval: 1 }).toBe(9_000);
  }
  expect(context.signal.aborted).toBe(false);
});

test("progress and details go out once, with the next heartbeat, and not again", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  context.progress({ fraction: 0.25 });
  context.progress({ fraction: 0.5 });
  context.details({ page: 7 });
  clock.advance(0);
  const heartbeat = await server.heartbeat.next();
  expect(heartbeat.request.reports[0]).toMatchObject({
    progress: { kind: { case: "fraction", value: 0.5 } },
    details: json({ page: 7 }),
  });
  heartbeat.answer({ answers: [carryOn] });
  await expect.poll(() => context.leftMs(), { interval: 1 }).toBe(9_000);
  clock.advance(3_000);
  const next = await server.heartbeat.next();
  expect(next.request.reports[0]?.progress).toBeUndefined();
  expect(next.request.reports[0]?.details).toBeUndefined();
});

test("details that no heartbeat has carried go out before what ended without success is reported", async () => {
  const server = await givenServer();
  const { context, end } = await aRunningTask(server);
  context.details({ page: 7 });
  end(again({ after: "1s" }));
  const heartbeat = await server.heartbeat.next();
  expect(heartbeat.request.reports).toMatchObject([
    { taskToken: "t1", details: json({ page: 7 }) },
  ]);
  heartbeat.answer({ answers: [carryOn] });
  const report = await server.complete.next();
  expect(report.request.results[0]?.outcome?.kind.case).toBe("again");
});

test("details that cannot be sent do not hold up the report", async () => {
  const server = await givenServer();
  const { context, end } = await aRunningTask(server);
  context.details({ page: 7 });
  end(again({ after: "1s" }));
  (await server.heartbeat.next()).fail(14, "STORE_UNAVAILABLE");
  const report = await server.complete.next();
  expect(report.request.results[0]?.outcome?.kind.case).toBe("again");
});

test("a handler can wait until its details are stored, through calls that fail", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  const stored: boolean[] = [];
  server.heartbeat.always((heartbeat) => {
    const isFirst = stored.length === 0;
    stored.push(heartbeat.request.reports[0]?.details !== undefined);
    if (isFirst) heartbeat.fail(14, "STORE_UNAVAILABLE");
    else heartbeat.answer({ answers: [carryOn] });
  });
  context.details({ page: 7 });
  let isStored = false;
  void context.stored().then(() => {
    isStored = true;
  });
  await expect
    .poll(() => {
      clock.advance(100);
      return isStored;
    })
    .toBe(true);
  expect(stored.slice(1)).toContain(true);
});

test("a handler that waits for its details to be stored stops with its task", async () => {
  const server = await givenServer();
  const { context } = await aRunningTask(server);
  context.details({ page: 7 });
  const stored = context.stored();
  const value = { within: toDuration(2_000) };
  (await server.heartbeat.next()).answer({ answers: [{ answer: { case: "cancel", value } }] });
  await expect(stored).rejects.toMatchObject({ kind: "cancelled" });
});

test("newer details wait for the heartbeat that carries older ones", async () => {
  const server = await givenServer();
  const { clock, context, end } = await aRunningTask(server);
  context.details({ page: 7 });
  clock.advance(0);
  const older = await server.heartbeat.next();
  context.details({ page: 8 });
  end(again({ after: "1s" }));
  older.answer({ answers: [carryOn] });
  const newer = await server.heartbeat.next();
  expect(newer.request.reports).toMatchObject([{ details: json({ page: 8 }) }]);
  newer.answer({ answers: [carryOn] });
  expect((await server.complete.next()).request.results).toHaveLength(1);
});

test("progress of a heartbeat that was not answered is sent again", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  context.progress({ counter: 3 });
  clock.advance(1_000);
  (await server.heartbeat.next()).fail(14, "STORE_UNAVAILABLE");
  await clock.armed(500);
  clock.advance(500);
  const again = await server.heartbeat.next();
  expect(again.request.reports[0]?.progress?.kind).toEqual({ case: "counter", value: 3n });
});

test("details that are refused are dropped, and the heartbeat is repeated without them", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  context.details("much too much");
  clock.advance(1_000);
  const error = create(StatusSchema, { code: 3, message: "too large" });
  (await server.heartbeat.next()).answer({
    answers: [{ answer: { case: "error", value: error } }],
  });
  await clock.armed(500);
  clock.advance(500);
  expect((await server.heartbeat.next()).request.reports[0]?.details).toBeUndefined();
});

test("a cancel reaches the handler's signal, and its AbortError is reported as cancelled", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  clock.advance(3_000);
  const value = { within: toDuration(2_000) };
  (await server.heartbeat.next()).answer({ answers: [{ answer: { case: "cancel", value } }] });
  const report = await server.complete.next();
  expect(stopKind(context.signal)).toBe("cancelled");
  expect(report.request.results[0]?.outcome?.kind.case).toBe("cancelled");
});

test("a handler that is asked to cancel and ends well is reported as success", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<TaskContext>();
  givenAgent(server, {
    clock,
    handlers: {
      "book-flight": async (_task, context) => {
        gate.begin(context);
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
        return "done after all";
      },
    },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  await gate.started;
  clock.advance(3_000);
  const value = { within: toDuration(2_000) };
  (await server.heartbeat.next()).answer({ answers: [{ answer: { case: "cancel", value } }] });
  const report = await server.complete.next();
  expect(report.request.results[0]?.outcome?.kind.case).toBe("success");
});

test("a lost lease stops the handler, ends the heartbeats, and is still reported as evidence", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  clock.advance(3_000);
  const lost = { answer: { case: "leaseLost" as const, value: {} } };
  (await server.heartbeat.next()).answer({ answers: [lost] });
  const report = await server.complete.next();
  expect(stopKind(context.signal)).toBe("lease-lost");
  expect(report.request.results[0]?.outcome?.kind).toMatchObject({
    case: "unknown",
    value: { code: "lease-lost" },
  });
});

test("a lease that is not renewed ends by the agent's own clock", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  clock.advance(8_999);
  expect(context.signal.aborted).toBe(false);
  clock.advance(1);
  expect(stopKind(context.signal)).toBe("lease-ended");
  const report = await server.complete.next();
  expect(report.request.results[0]?.outcome?.kind).toMatchObject({
    case: "unknown",
    value: { code: "lease-ended" },
  });
});

test("a lease counts from the sending of the poll, plus what the server waited", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server, 20_000);
  expect(context.leftMs()).toBe(9_000);
  clock.advance(8_999);
  expect(context.signal.aborted).toBe(false);
});

test("a server that claims to have waited longer than the call took is not believed", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<TaskContext>();
  givenAgent(server, {
    clock,
    handlers: {
      "book-flight": (_task, context) => {
        gate.begin(context);
        return gate.ended;
      },
    },
  });
  (await server.poll.next()).answer({ tasks: [aTask("t1")], waited: toDuration(60_000) });
  const context = await gate.started;
  expect(context.leftMs()).toBe(9_000);
  gate.end(null);
});

test("a renewal counts from the sending of the heartbeat", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  clock.advance(3_000);
  const heartbeat = await server.heartbeat.next();
  clock.advance(2_000);
  heartbeat.answer({ answers: [carryOn] });
  await expect.poll(() => context.leftMs(), { interval: 1 }).toBe(7_000);
});

test("a heartbeat that is not answered does not hold up the next", async () => {
  const server = await givenServer();
  const { clock, context } = await aRunningTask(server);
  clock.advance(3_000);
  await server.heartbeat.next();
  clock.advance(3_000);
  (await server.heartbeat.next()).answer({ answers: [carryOn] });
  await expect.poll(() => context.leftMs(), { interval: 1 }).toBe(9_000);
});

test("the time of the attempt ends it, whatever the heartbeats report", async () => {
  const server = await givenServer();
  server.heartbeat.always((heartbeat) => heartbeat.answer({ answers: [carryOn] }));
  const { clock, context } = await aRunningTask(server, 0, { attemptFor: toDuration(5_000) });
  clock.advance(5_000);
  expect(stopKind(context.signal)).toBe("attempt-over");
  const report = await server.complete.next();
  expect(report.request.results[0]?.outcome?.kind).toMatchObject({
    case: "unknown",
    value: { code: "attempt-over" },
  });
});

test("a task is listed in heartbeats until its report is answered", async () => {
  const server = await givenServer();
  const { clock, end } = await aRunningTask(server);
  end("done");
  const report = await server.complete.next();
  clock.advance(3_000);
  const heartbeat = await server.heartbeat.next();
  expect(heartbeat.request.reports.map((item) => item.taskToken)).toEqual(["t1"]);
  heartbeat.answer({ answers: [carryOn] });
  report.answer({ answers: [{}], tasks: [aTask("t2")] });
  // t2 has come with the answer to t1, which the agent no longer holds then.
  await server.complete.next();
  clock.advance(3_000);
  const later = await server.heartbeat.next();
  expect(later.request.reports.map((item) => item.taskToken)).toEqual(["t2"]);
});
