/**
 * Finished results are retained: a refusal of a whole Complete says nothing about its results.
 */
import { setImmediate as immediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { toDuration } from "../../../sdk/typescript/duration.ts";
import { aGate, aTask, givenAgent, givenServer } from "../../support/agent-script.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const unauthenticated = 16;
const permissionDenied = 7;
const unimplemented = 12;
const resourceExhausted = 8;
const notFound = 5;
const invalidArgument = 3;
const answered = { answers: [{}] };

const refusals: readonly (readonly [number, string | undefined])[] = [
  [unauthenticated, "TOKEN_REQUIRED"],
  [permissionDenied, "NOT_ALLOWED"],
  [permissionDenied, undefined],
  [unimplemented, undefined],
  [resourceExhausted, undefined],
  [notFound, "NAMESPACE_NOT_FOUND"],
  [invalidArgument, undefined],
  [invalidArgument, "MALFORMED_MESSAGE"],
];

test.each(refusals)(
  "a success is repeated as it is after a Complete that was refused with code %i, %s",
  async (code, reason) => {
    const server = await givenServer();
    givenAgent(server, { slots: 1, handlers: { "book-flight": () => ({ seat: "12A" }) } });
    (await server.poll.next()).answer({ tasks: [aTask("t1")] });
    const first = await server.complete.next();
    for (let refused = first, tries = 0; tries < 3; tries += 1) {
      refused.fail(code, reason);
      refused = await server.complete.next();
      expect(refused.request.results).toEqual(first.request.results);
      if (tries === 2) refused.answer(answered);
    }
    await server.poll.next();
  },
);

test("a report of a refused call is given up when the lease of its task has ended", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  givenAgent(server, { clock, slots: 1, handlers: { "book-flight": () => null } });
  (await server.poll.next()).answer({ tasks: [aTask("t1")] });
  const first = await server.complete.next();
  clock.advance(8_999);
  first.fail(unauthenticated, "TOKEN_REQUIRED");
  const poll = await server.poll.next();
  await clock.armed(100);
  clock.advance(100);
  const last = await server.complete.next();
  expect(last.request.results).toEqual(first.request.results);
  last.fail(unauthenticated, "TOKEN_REQUIRED");
  poll.answer({ tasks: [aTask("t2")] });
  await clock.armed(200);
  clock.advance(200);
  const next = await server.complete.next();
  expect(next.request.results.map(({ taskToken }) => taskToken)).toEqual(["t2"]);
});

test("reports of a refused call are repeated alone, so that none keeps the others waiting", async () => {
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
  both.fail(resourceExhausted);
  await clock.armed(100);
  clock.advance(100);
  const alone = await server.complete.next();
  expect(alone.request.results.map(({ taskToken }) => taskToken)).toEqual(["t1"]);
  const other = await server.complete.next();
  expect(other.request.results.map(({ taskToken }) => taskToken)).toEqual(["t2"]);
});

const calm = {
  leaseFor: toDuration(60_000),
  attemptFor: toDuration(90_000),
  heartbeatInterval: toDuration(60_000),
};

test("an agent that stops keeps its reports as long as their leases last", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const agent = givenAgent(server, { clock, slots: 1, handlers: { "book-flight": () => "done" } });
  (await server.poll.next()).answer({ tasks: [aTask("t1", calm)] });
  const first = await server.complete.next();
  server.heartbeat.always((heartbeat) => heartbeat.answer({}));
  let isDone = false;
  void agent.stop().then(() => {
    isDone = true;
  });
  // By then it waits for its last reports alone.
  await immediate();
  let refused = first;
  // 11 s together: each is when the next repeat is due.
  for (const restMs of [100, 200, 400, 800, 1_600, 3_200, 5_000]) {
    refused.fail(unauthenticated, "TOKEN_REQUIRED");
    await clock.armed(restMs);
    clock.advance(restMs);
    refused = await server.complete.next();
    expect(refused.request.results).toEqual(first.request.results);
    expect(isDone).toBe(false);
  }
  refused.answer(answered);
  await agent.done;
});

test("an agent that stops gives its reports up when their leases have ended", async () => {
  const server = await givenServer();
  const clock = createManualClock();
  const agent = givenAgent(server, { clock, slots: 1, handlers: { "book-flight": () => "done" } });
  (await server.poll.next()).answer({ tasks: [aTask("t1", calm)] });
  await server.complete.next();
  const beganMs = clock.monotonicMs();
  let endedMs: number | null = null;
  void agent.stop().then(() => {
    endedMs = clock.monotonicMs();
  });
  while (endedMs === null) {
    await immediate();
    clock.advance(500);
  }
  expect(endedMs - beganMs).toBeGreaterThanOrEqual(60_000);
});
