/** Handlers that ignore that they are to stop: what the server learns, and what the agent does. */
import { expect, test } from "vitest";
import { toDuration } from "../../../sdk/typescript/duration.ts";
import type { TaskContext } from "../../../sdk/typescript/handler.ts";
import { aGate, aTask, carryOn, givenAgent, givenServer } from "../../support/agent-script.ts";
import type { FakeServer } from "../../support/fake-server.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const cancelGraceMs = 4_000;
const answered = { answers: [{}] };

/** t1 ignores that it is cancelled, as it was just now, t2 works; both end when the test asks. */
async function deafBeside(server: FakeServer) {
  const clock = createManualClock();
  const gates = { t1: aGate<TaskContext>(), t2: aGate<TaskContext>() };
  const handlers = {
    "book-flight": (task: { readonly stepId: string }, context: TaskContext) => {
      const gate = task.stepId === "t1" ? gates.t1 : gates.t2;
      gate.begin(context);
      return gate.ended;
    },
  };
  const agent = givenAgent(server, {
    slots: 3,
    clock,
    grace: "1m",
    cancelGrace: cancelGraceMs,
    handlers,
  });
  (await server.poll.next()).answer({ tasks: [aTask("t1"), aTask("t2")] });
  const parked = await server.poll.next();
  const task = await gates.t1.started;
  await gates.t2.started;
  const cancel = { answer: { case: "cancel" as const, value: { within: toDuration(20_000) } } };
  server.heartbeat.always((heartbeat) => {
    const answers = heartbeat.request.reports.map(({ taskToken }) =>
      taskToken === "t1" ? cancel : carryOn,
    );
    heartbeat.answer({ answers });
  });
  clock.advance(3_000);
  if (!task.signal.aborted)
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
  return { agent, clock, parked, ...gates };
}

test("a handler that ignores its cancel ends the agent, and is reported once no other runs", async () => {
  const server = await givenServer();
  const { agent, clock, parked, t2 } = await deafBeside(server);
  clock.advance(cancelGraceMs);
  await parked.cancelled;
  t2.end("done");
  const first = await server.complete.next();
  expect(first.request.results.map(({ taskToken }) => taskToken)).toEqual(["t2"]);
  first.answer(answered);
  const last = await server.complete.next();
  expect(last.request.results[0]?.outcome?.kind).toMatchObject({
    case: "unknown",
    value: { code: "handler-lost" },
  });
  last.answer(answered);
  await expect(agent.done).rejects.toThrow("ignored for 4000 ms");
});

test("a lost handler that ends before its agent is reported as it ended", async () => {
  const server = await givenServer();
  const { agent, clock, parked, t1, t2 } = await deafBeside(server);
  clock.advance(cancelGraceMs);
  await parked.cancelled;
  t1.end("done");
  const first = await server.complete.next();
  expect(first.request.results.map(({ taskToken }) => taskToken)).toEqual(["t1"]);
  expect(first.request.results[0]?.outcome?.kind.case).toBe("success");
  first.answer(answered);
  t2.end("done");
  (await server.complete.next()).answer(answered);
  await expect(agent.done).rejects.toThrow("ignored for 4000 ms");
});

test("a handler that ignores the end of its agent is lost too", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const gate = aGate<TaskContext>();
  const handlers = {
    "book-flight": (_task: object, context: TaskContext) => {
      gate.begin(context);
      return gate.ended;
    },
  };
  const agent = givenAgent(server, { slots: 1, clock, cancelGrace: cancelGraceMs, handlers });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const { signal } = await gate.started;
  const stopped = expect(agent.stop()).rejects.toThrow("ignored for 4000 ms");
  await clock.armed(0);
  clock.advance(0);
  await clock.armed(cancelGraceMs);
  await expect.poll(() => signal.aborted, { interval: 1 }).toBe(true);
  server.heartbeat.always((heartbeat) =>
    heartbeat.answer({ answers: heartbeat.request.reports.map(() => carryOn) }),
  );
  clock.advance(cancelGraceMs);
  const report = await server.complete.next();
  expect(report.request.results[0]?.outcome?.kind).toMatchObject({
    case: "unknown",
    value: { code: "handler-lost" },
  });
  report.answer(answered);
  await stopped;
});
