/** The handler of the http agent, where the order of its calls matters. */
import { expect, test } from "vitest";
import { createHttpHandler } from "../../../agents/http/handler.ts";
import { hostsOf } from "../../../agents/http/hosts.ts";
import { createSecrets } from "../../../agents/secrets.ts";
import type { Task, TaskContext } from "../../../sdk/typescript/handler.ts";
import { CancelledError, TaskStopped } from "../../../sdk/typescript/task-errors.ts";
import { silentLog } from "../../support/agent-script.ts";
import { freeAddress } from "../../support/free-address.ts";
import { answerJson, startHttpService } from "../../support/http-service.ts";
import { until } from "../../support/until.ts";

function aTask(input: object, given: Partial<Task> = {}): Task {
  return {
    name: "http",
    kind: "perform",
    queue: "default",
    runId: "r",
    stepId: "s",
    item: null,
    attempt: 1,
    workflow: "w",
    workflowVersion: 0,
    idempotencyKey: "r/s/0",
    effectKey: "",
    callbackToken: "c",
    fence: 1,
    labels: {},
    input: () => input,
    output: () => undefined,
    lastDetails: () => undefined,
    ...given,
  };
}

/** A handler that may call the origin, and a context whose calls are recorded. */
function given(origin: string, stored: () => Promise<void> = () => Promise.resolve()) {
  const settings = { agent: "a", hosts: [{ origin, addresses: ["127.0.0.1"] }] };
  const secrets = createSecrets({});
  const handler = createHttpHandler({
    settings,
    hosts: hostsOf(settings),
    secrets,
    nowMs: () => 0,
  });
  const details: unknown[] = [];
  const stop = new AbortController();
  const context: TaskContext = {
    signal: stop.signal,
    leftMs: () => 1_000,
    progress: () => undefined,
    details: (value) => details.push(value),
    stored,
    log: silentLog,
  };
  return { handle: (task: Task) => handler(task, context), details, stop };
}

const accepting = () =>
  startHttpService((_request, response) => answerJson(response, 202, {}, { location: "/jobs/1" }));

test("the address of accepted work is stored before the task is given away", async () => {
  const { origin } = await accepting();
  const isStored = Promise.withResolvers<void>();
  const { handle, details } = given(origin, () => isStored.promise);
  let answer: unknown = null;
  const done = Promise.resolve(handle(aTask({ method: "POST", url: origin }))).then((found) => {
    answer = found;
  });
  await until("the address is passed on", () => details[0] ?? null);
  expect(details).toEqual([{ poll: `${origin}/jobs/1`, key: "r/s/0" }]);
  // A turn of the event loop would be enough for an answer that waits for nothing.
  await new Promise(setImmediate);
  expect(answer).toBeNull();
  isStored.resolve();
  await done;
  expect(answer).toMatchObject({ kind: { case: "again" } });
});

test("a task that must stop before its address is stored is not given away as if it were", async () => {
  const { origin } = await accepting();
  const stopped = new TaskStopped("lease-lost");
  const { handle, stop } = given(origin, () => {
    stop.abort(stopped);
    return Promise.reject(stopped);
  });
  await expect(handle(aTask({ method: "POST", url: origin }))).rejects.toBe(stopped);
});

test("what was cancelled before anything was sent states that nothing exists, at the first hand-out", async () => {
  const origin = `http://${await freeAddress()}`;
  const input = { method: "POST", url: origin };
  const first = given(origin);
  first.stop.abort(new TaskStopped("cancelled"));
  const cancelled = await Promise.resolve(first.handle(aTask(input))).catch((error) => error);
  expect(cancelled).toBeInstanceOf(CancelledError);
  expect(cancelled).toMatchObject({ noEffect: true });
  const later = given(origin);
  later.stop.abort(new TaskStopped("cancelled"));
  const repeated = later.handle(aTask(input, { fence: 2 }));
  await expect(repeated).rejects.toBe(later.stop.signal.reason);
});

test("a service that is down had no effect; after an earlier hand-out that is not certain", async () => {
  const origin = `http://${await freeAddress()}`;
  const { handle } = given(origin);
  const failure = { code: "connection-refused", name: "TransientError" };
  const input = { method: "POST", url: origin };
  await expect(handle(aTask(input))).rejects.toMatchObject({ ...failure, noEffect: true });
  const again = handle(aTask(input, { fence: 2 }));
  await expect(again).rejects.toMatchObject({ ...failure, noEffect: false });
});
