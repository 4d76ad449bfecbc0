/** The client: what it sends, what it makes of the answers, and when it asks again. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ConcurrencyPolicy,
  RunReason,
  RunSchema,
  RunState,
  StepSchema,
  StepState,
} from "@drover/proto/drover/v1/run_pb.ts";
import { OnFailure } from "@drover/proto/drover/v1/workflow_pb.ts";
import { expect, onTestFinished, test } from "vitest";
import { DroverCallError } from "../../../sdk/typescript/call-error.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import type { Duration } from "../../../sdk/typescript/duration.ts";
import { durationMs } from "../../../sdk/typescript/duration.ts";
import { json } from "../../../sdk/typescript/payload.ts";
import type { ScheduleSpec } from "../../../sdk/typescript/schedule-spec.ts";
import { givenServer } from "../../support/agent-script.ts";

const unavailable = 14;

async function givenClient(patience: Duration = "30s") {
  const server = await givenServer();
  const client = createClient({ address: server.address, namespace: "acme", patience });
  onTestFinished(() => client.close());
  return { server, client };
}

function aRun(version: bigint, state: RunState) {
  return create(RunSchema, { runId: "run-1", version, state, createdTime: timestampFromMs(5_000) });
}

test("a workflow written as an object arrives as a definition, with what is left out left out", async () => {
  const { server, client } = await givenClient();
  const registered = client.registerWorkflow({
    workflow: "book-holiday",
    timeout: "1h30m",
    steps: [
      {
        id: "flight",
        task: "book-flight",
        queue: "travel",
        retry: [{ on: ["rate-limited"], attempts: 10, initial: "2s", max: "2m" }, { attempts: 5 }],
        timeouts: { heartbeat: 10_000, attempt: "2m" },
        compensate: "cancel-flight",
        onFailure: "compensate",
      },
      { id: "hotel", needs: ["flight"], task: "book-hotel", input: { stars: 4 } },
    ],
  });
  const call = await server.registerWorkflow.next();
  const { source, namespace } = call.request;
  if (source.case !== "definition") throw new Error(`The source is ${source.case}.`);
  const { timeout, steps } = source.value;
  expect(namespace).toBe("acme");
  expect(timeout?.seconds).toBe(5_400n);
  expect(steps[0]).toMatchObject({
    kind: { case: "task", value: { name: "book-flight", queue: "travel" } },
    retry: [{ on: ["rate-limited"], attempts: 10, initial: { seconds: 2n } }, { attempts: 5 }],
    timeouts: { heartbeat: { seconds: 10n }, attempt: { seconds: 120n } },
    compensate: { task: "cancel-flight" },
    onFailure: OnFailure.COMPENSATE,
  });
  expect(steps[0]?.input).toBeUndefined();
  expect(steps[1]).toMatchObject({ needs: ["flight"], input: json({ stars: 4 }) });
  expect(steps[1]?.compensate).toBeUndefined();
  expect(steps[1]?.timeouts).toBeUndefined();
  call.answer({ name: "book-holiday", version: 3, created: true });
  expect(await registered).toEqual({ name: "book-holiday", version: 3, created: true });
});

test("a workflow written as text is sent as it is", async () => {
  const { server, client } = await givenClient();
  const registered = client.registerWorkflow("workflow: w\n", { keepDefault: true });
  const call = await server.registerWorkflow.next();
  expect(call.request).toMatchObject({
    source: { case: "text", value: "workflow: w\n" },
    keepDefault: true,
  });
  call.answer({ name: "w", version: 1 });
  expect((await registered).created).toBe(false);
});

test("a run is scheduled under a key of its own, and a repeat is the same request", async () => {
  const { server, client } = await givenClient();
  const scheduled = client.schedule({ workflow: "w", input: { to: "Lisbon" }, labels: { a: "b" } });
  const first = await server.schedule.next();
  expect(first.request.key).not.toBe("");
  expect(first.request.target).toMatchObject({
    case: "workflow",
    value: { name: "w", version: 0 },
  });
  first.fail(unavailable, "STORE_UNAVAILABLE", 1);
  const second = await server.schedule.next();
  expect(second.request).toEqual(first.request);
  second.answer({ runId: "run-1", created: true });
  expect(await scheduled).toEqual({ runId: "run-1", created: true, key: first.request.key });
});

test("a key of the caller is used", async () => {
  const { server, client } = await givenClient();
  server.schedule.always((call) => call.answer({ runId: call.request.key }));
  expect((await client.schedule({ workflow: "w", key: "order-7" })).runId).toBe("order-7");
});

test("a run may begin later, share a concurrency key, and name who is notified of its end", async () => {
  const { server, client } = await givenClient();
  const startTime = new Date("2026-03-01T08:00:00Z");
  const asked = async (spec: Omit<ScheduleSpec, "workflow">) => {
    const scheduled = client.schedule({ workflow: "w", ...spec });
    const call = await server.schedule.next();
    call.answer({ runId: "run-1" });
    await scheduled;
    return call.request;
  };
  expect(await asked({ startTime, notify: "ops" })).toMatchObject({
    startTime: timestampFromDate(startTime),
    notify: { hook: "ops", url: "" },
  });
  expect(
    await asked({
      concurrency: { key: "customer-17" },
      notify: { hook: "ops", url: "https://there.com/in" },
    }),
  ).toMatchObject({
    concurrency: { key: "customer-17", limit: 0, policy: ConcurrencyPolicy.QUEUE },
    notify: { hook: "ops", url: "https://there.com/in" },
  });
  expect(
    (await asked({ concurrency: { key: "k", limit: 3, policy: "cancel-oldest" } })).concurrency,
  ).toMatchObject({ limit: 3, policy: ConcurrencyPolicy.CANCEL_OLDEST });
});

test("a run that has not started has when it does, and what it shares", async () => {
  const { server, client } = await givenClient();
  const got = client.getRun("run-1");
  const concurrency = { key: "k", limit: 2, policy: ConcurrencyPolicy.REFUSE };
  const run = { runId: "run-1", startTime: timestampFromMs(9_000), concurrency };
  (await server.getRun.next()).answer({ run });
  expect((await got).run).toMatchObject({
    startTime: new Date(9_000),
    concurrency: { key: "k", limit: 2, policy: "REFUSE" },
  });
});

test("a definite refusal is thrown at once, with reason, message and metadata", async () => {
  const { server, client } = await givenClient();
  const run = client.getRun("run-9");
  (await server.getRun.next()).fail(5, "RUN_NOT_FOUND");
  const error = await run.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DroverCallError);
  expect(error).toMatchObject({ code: "NOT_FOUND", reason: "RUN_NOT_FOUND", retryAfterMs: null });
});

test("a server that stays away is given up when patience ends", async () => {
  const { server, client } = await givenClient(300);
  server.stop();
  await expect(client.getRun("run-1")).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("an aborted call rejects with the reason of its signal", async () => {
  const { server, client } = await givenClient();
  const controller = new AbortController();
  const waiting = client.waitRun("run-1", { signal: controller.signal });
  const call = await server.waitRun.next();
  controller.abort(new Error("changed my mind"));
  await expect(waiting).rejects.toThrow("changed my mind");
  await call.cancelled;
});

test("getRun reads names, times and payloads", async () => {
  const { server, client } = await givenClient();
  const details = client.getRun({ key: "order-7" }, { attempts: true });
  const call = await server.getRun.next();
  expect(call.request).toMatchObject({
    run: { ref: { case: "key", value: "order-7" } },
    includeAttempts: true,
    includeInterventions: false,
  });
  const step = { id: "flight", state: StepState.SUCCEEDED, output: json({ seat: "12A" }) };
  const run = { ...aRun(4n, RunState.COMPLETED), reason: RunReason.DONE };
  const warning = { stepId: "mail", code: "no-ink", message: "dry" };
  call.answer({ run, steps: [create(StepSchema, step)], warnings: [warning] });
  const { run: read, steps, warnings } = await details;
  expect(read).toMatchObject({ state: "COMPLETED", reason: "DONE", ended: true, input: undefined });
  expect(read.createdTime).toEqual(new Date(5_000));
  expect(steps[0]).toMatchObject({ state: "SUCCEEDED", output: { seat: "12A" }, error: null });
  expect(warnings).toEqual([warning]);
});

test("listRuns sends filter and order, and returns a page", async () => {
  const { server, client } = await givenClient();
  const page = client.listRuns({ states: ["RUNNING"], labels: { a: "b" }, order: "oldest-first" });
  const call = await server.listRuns.next();
  expect(call.request).toMatchObject({
    filter: { states: [RunState.RUNNING], labels: { a: "b" } },
    order: 2,
  });
  call.answer({ runs: [aRun(1n, RunState.RUNNING)], nextPageToken: "more" });
  expect(await page).toMatchObject({ runs: [{ state: "RUNNING" }], nextPageToken: "more" });
});

test("waitRun asks again until the run has ended, also across failures", async () => {
  const { server, client } = await givenClient();
  const ended = client.waitRun("run-1");
  (await server.waitRun.next()).answer({ run: aRun(1n, RunState.RUNNING), ended: false });
  (await server.waitRun.next()).fail(unavailable);
  (await server.waitRun.next()).answer({ run: aRun(2n, RunState.COMPENSATED), ended: true });
  expect((await ended).state).toBe("COMPENSATED");
});

test("watchRun continues after a break from the last version that it saw, to the end of the run", async () => {
  const { server, client } = await givenClient();
  const states: string[] = [];
  const watching = (async () => {
    for await (const { run } of client.watchRun("run-1")) states.push(run.state);
  })();
  const first = await server.watchRun.next();
  expect(first.request.afterVersion).toBe(0n);
  first.send({ run: aRun(7n, RunState.RUNNING) });
  await expect.poll(() => states, { interval: 1 }).toEqual(["RUNNING"]);
  first.fail(unavailable);
  const second = await server.watchRun.next();
  expect(second.request.afterVersion).toBe(7n);
  second.send({ run: aRun(9n, RunState.COMPLETED) });
  second.end();
  await watching;
  expect(states).toEqual(["RUNNING", "COMPLETED"]);
});

test("who leaves the loop of watchRun ends the call", async () => {
  const { server, client } = await givenClient();
  const left = (async () => {
    for await (const _ of client.watchRun("run-1")) break;
  })();
  const call = await server.watchRun.next();
  call.send({ run: aRun(1n, RunState.RUNNING) });
  await left;
  await call.cancelled;
});

test("cancelRun answers what becomes of the work, and why", async () => {
  const { server, client } = await givenClient();
  const cancelled = client.cancelRun("run-1", { undo: "leave", reason: "no longer wanted" });
  const call = await server.cancelRun.next();
  expect(call.request).toMatchObject({ undo: 2, reason: "no longer wanted" });
  call.answer({ run: aRun(3n, RunState.STOPPING) });
  expect((await cancelled).state).toBe("STOPPING");
});

test.each([
  [250, 250],
  ["250ms", 250],
  ["30s", 30_000],
  ["1.5s", 1_500],
  ["2m", 120_000],
  ["1h30m", 5_400_000],
  ["7d", 604_800_000],
])("the duration %s is %i ms", (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

test.each(["", "30", "-1s", "s", "1s1h", "soon"])('the duration "%s" is refused', (text) => {
  expect(() => durationMs(text)).toThrow(RangeError);
});
