/** The helper for tests of handlers: a handler runs without a server, and its report is a value. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import {
  again,
  cannotTell,
  deferred,
  didNotHappen,
  happened,
} from "../../sdk/typescript/answers.ts";
import { aesGcmCodec } from "../../sdk/typescript/codec.ts";
import type { Handler } from "../../sdk/typescript/handler.ts";
import { defineTask } from "../../sdk/typescript/task-definition.ts";
import {
  CancelledError,
  PermanentError,
  TaskStopped,
  TransientError,
  UnknownError,
} from "../../sdk/typescript/task-errors.ts";
import { runHandler, startHandler } from "../../sdk/typescript/testing.ts";
import { handle } from "../../sdk/typescript/typed-handler.ts";
import { silentLog } from "../support/agent-script.ts";

const bookFlight: Handler = (task, context) => {
  const { to } = task.input((value) => ({ to: "", ...Object(value) }));
  context.progress({ fraction: 0.5 });
  context.details({ asked: to });
  if (task.attempt < 2)
    throw new TransientError("busy", "All lines are busy.", { retryAfter: "2s" });
  return { booking: `flight-to-${to}`, resumed: task.lastDetails() };
};

test("a handler returns what is reported", async () => {
  const details = { asked: "Lisbon" };
  const given = { input: { to: "Lisbon" }, attempt: 2, lastDetails: details };
  expect(await runHandler(bookFlight, given)).toEqual({
    kind: "success",
    output: { booking: "flight-to-Lisbon", resumed: details },
    progress: [{ fraction: 0.5 }],
    details: [details],
  });
});

test("a handler throws what is reported", async () => {
  expect(await runHandler(bookFlight, { input: { to: "Lisbon" } })).toMatchObject({
    kind: "failed",
    code: "busy",
    message: "All lines are busy.",
    transient: true,
    retryAfterMs: 2_000,
    noEffect: false,
    details: [{ asked: "Lisbon" }],
  });
  const failing = (error: Error) =>
    runHandler(() => {
      throw error;
    });
  expect(await failing(new PermanentError("full", "No seats.", { noEffect: true }))).toMatchObject({
    kind: "failed",
    transient: false,
    noEffect: true,
    retryAfterMs: null,
  });
  expect(await failing(new UnknownError("broken", "No answer."))).toMatchObject({
    kind: "unknown",
    code: "broken",
    message: "No answer.",
  });
  expect(await failing(new CancelledError("", { noEffect: true }))).toMatchObject({
    kind: "cancelled",
    noEffect: true,
  });
});

test("answers are values", async () => {
  expect(await runHandler(() => again({ after: "3s" }))).toMatchObject({
    kind: "again",
    afterMs: 3_000,
  });
  expect(await runHandler(() => deferred())).toMatchObject({ kind: "deferred" });
  const verify = (answer: unknown) => runHandler(() => answer, { kind: "verify" });
  expect(await verify(happened("it"))).toMatchObject({ kind: "success", output: "it" });
  expect(await verify(didNotHappen())).toMatchObject({ kind: "failed", noEffect: true });
  expect(await verify(cannotTell("no one knows"))).toMatchObject({ code: "cannot-tell" });
  expect(await verify(undefined)).toMatchObject({ kind: "unknown", code: "no-answer" });
});

const wait: Handler = (_task, { signal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

test("a handler that waits is stopped as an agent would stop it", async () => {
  const cancelled = startHandler(wait);
  cancelled.stop();
  expect(await cancelled.outcome()).toMatchObject({ kind: "cancelled", noEffect: false });
  const kinds = ["lease-lost", "lease-ended", "attempt-over", "agent-stopped"] as const;
  for (const kind of kinds) {
    const running = startHandler(wait);
    running.stop(kind);
    expect(await running.outcome()).toMatchObject({ kind: "unknown", code: kind });
  }
});

test("a handler whose input is checked first has started before it is stopped", async () => {
  const task = defineTask("wait", { input: (value) => String(value) });
  const running = startHandler(
    handle(task, (_task, context) => wait(_task, context)),
    { input: "7" },
  );
  running.stop();
  expect(await running.outcome()).toMatchObject({ kind: "cancelled" });
});

test("no time is left once the lease is lost, and the signal says why", async () => {
  const seen: unknown[] = [];
  const running = startHandler((_task, { signal, leftMs }) => {
    seen.push(leftMs() > 0);
    return new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => {
        seen.push(leftMs(), signal.reason);
        resolve();
      });
    });
  });
  running.stop("lease-lost");
  await running.outcome();
  expect(seen).toEqual([true, 0, expect.any(TaskStopped)]);
});

test("a handler is stopped at the end of the time that is left", async () => {
  const outcome = await runHandler(wait, { left: "20ms" });
  expect(outcome).toMatchObject({ kind: "unknown", code: "lease-ended" });
});

test("what is left out of the task is as in a first attempt", async () => {
  const seen = (given = {}) => runHandler((task) => ({ ...task }), given);
  expect(await seen()).toMatchObject({
    output: {
      name: "task",
      kind: "perform",
      runId: "run-1",
      stepId: "step-1",
      item: null,
      attempt: 1,
      fence: 1,
      idempotencyKey: "key-1",
      effectKey: "",
    },
  });
  expect(await seen({ kind: "compensate", item: 3, labels: { team: "a" } })).toMatchObject({
    output: { effectKey: "effect-1", item: 3, labels: { team: "a" } },
  });
});

test("an output that cannot be sent is the failure that the server makes of it", async () => {
  const outcome = await runHandler(() => ({ seats: 7n }), { log: silentLog });
  expect(outcome).toMatchObject({ kind: "failed", code: "drover.output", transient: false });
});

test("payloads go through the codec, and the log is the test's own", async () => {
  const lines: unknown[] = [];
  const log = { ...silentLog, info: (fields: object, text: string) => lines.push(fields, text) };
  const echo: Handler = (task, context) => {
    context.log.info({ seat: "12A" }, "booked");
    context.details("half");
    return task.input();
  };
  const codec = aesGcmCodec(randomBytes(32));
  const outcome = await runHandler(echo, { input: { to: "Rome" }, codec, log });
  expect(outcome).toMatchObject({ output: { to: "Rome" }, details: ["half"] });
  expect(lines).toEqual([{ run: "run-1", step: "step-1", attempt: 1, seat: "12A" }, "booked"]);
});
