/** Client and agent against a real server: what a handler answers is what becomes of the step. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { again, cannotTell, deferred, didNotHappen } from "../../../sdk/typescript/answers.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import type { Handler } from "../../../sdk/typescript/handler.ts";
import { PermanentError, UnknownError } from "../../../sdk/typescript/task-errors.ts";
import type { StepSpec } from "../../../sdk/typescript/workflow.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(() => server.stop());

let queues = 0;

/** A client, and an agent with a queue of its own, on which its steps are. */
function given(handlers: Readonly<Record<string, Handler>>) {
  const { address } = server;
  const queue = `q${++queues}`;
  const client = createClient({ address });
  const agent = createAgent({ address, id: queue, queues: [queue], handlers, log: silentLog });
  agent.start();
  onTestFinished(async () => {
    await agent.stop();
    client.close();
  });
  const start = async (...steps: StepSpec[]) => {
    const own = steps.map((step) => ("task" in step ? { ...step, queue } : step));
    return (await client.schedule({ workflow: { workflow: "w", steps: own } })).runId;
  };
  return { client, start };
}

const retry = { initial: "1ms", jitter: 0 };

test("what did not happen is tried again, under the same key", async () => {
  const keys: string[] = [];
  const verified: string[] = [];
  const { client, start } = given({
    charge: (task, { details }) => {
      keys.push(task.idempotencyKey);
      if (keys.length > 1) return "charged";
      details({ asked: true });
      throw new UnknownError("broken-pipe", "the connection broke");
    },
    "find-charge": (task) => {
      verified.push(task.effectKey);
      return didNotHappen();
    },
  });
  const verify = { task: "find-charge" };
  const runId = await start({ id: "pay", task: "charge", effects: "verifiable", verify, retry });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  expect(verified).toEqual([keys[0]]);
  expect(new Set(keys).size).toBe(1);
  const { attempts } = await client.getRun(runId, { attempts: true });
  expect(attempts.map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ["PERFORM", "UNKNOWN"],
    ["VERIFY", "FAILURE"],
    ["PERFORM", "SUCCESS"],
  ]);
});

test("a verify that finds nothing out is asked again, and then a person, whose answer counts", async () => {
  const { client, start } = given({
    charge: () => {
      throw new UnknownError("broken-pipe", "the connection broke");
    },
    "find-charge": () => cannotTell("the desk is closed"),
  });
  const verify = { task: "find-charge", retry: { ...retry, attempts: 2 } };
  const runId = await start({ id: "pay", task: "charge", effects: "verifiable", verify });
  for await (const { run } of client.watchRun(runId)) if (run.state === "ESCALATED") break;
  const { escalations } = await client.escalations.list();
  const asked = escalations.find((one) => one.runId === runId);
  expect(asked).toMatchObject({ stepId: "pay", reason: "unverified", answer: null });
  const { escalation, step, attempts } = await client.escalations.get(runId, asked?.id ?? "");
  expect(escalation.answers).toContain("succeed");
  expect(step).toMatchObject({ id: "pay", state: "ESCALATED" });
  expect(attempts.filter(({ kind }) => kind === "VERIFY")).toMatchObject([
    { outcome: "UNKNOWN", failure: { code: "cannot-tell", message: "the desk is closed" } },
    { outcome: "UNKNOWN" },
  ]);
  const answer = { answer: "succeed", by: "ada", why: "seen on paper", payload: 7 } as const;
  const resolved = await client.escalations.resolve(runId, escalation.id, answer);
  expect(resolved).toMatchObject({ repeated: false, escalation: { answer: { by: "ada" } } });
  const repeated = await client.escalations.resolve(runId, escalation.id, answer);
  expect(repeated.repeated).toBe(true);
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  const { steps } = await client.getRun(runId);
  expect(steps[0]).toMatchObject({ state: "SUCCEEDED", output: 7 });
});

test("a task that is asked for again counts one attempt, and a slow service needs no agent", async () => {
  let polls = 0;
  const { client, start } = given({
    poll: () => (++polls < 4 ? again({ after: 1 }) : polls),
  });
  const runId = await start({ id: "wait", task: "poll" });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  const { steps } = await client.getRun(runId);
  expect(steps[0]).toMatchObject({ output: 4, attempt: 1 });
});

test("a deferred attempt that its service gave up is what that reports, and reported twice is once", async () => {
  const token = Promise.withResolvers<string>();
  const { client, start } = given({
    ship: (task) => {
      token.resolve(task.callbackToken);
      return deferred();
    },
  });
  const runId = await start({ id: "ship", task: "ship" });
  const error = new PermanentError("no-such-street", "The street is not on the map.");
  const callback = await token.promise;
  expect(await client.completeDeferred(callback, { error })).toEqual({ repeated: false });
  expect(await client.waitRun(runId)).toMatchObject({ state: "FAILED", reason: "STEP_FAILED" });
  expect(await client.completeDeferred(callback, { error })).toEqual({ repeated: true });
  const { steps } = await client.getRun(runId);
  expect(steps[0]?.error).toMatchObject({ code: "no-such-street", class: "PERMANENT" });
});

test("a handler that sends heartbeats and does not move is stopped, and the next one resumes", async () => {
  const seen: unknown[] = [];
  const { client, start } = given({
    encode: (task, { signal, progress, details }) => {
      seen.push(task.lastDetails());
      if (task.attempt > 1) return "encoded";
      progress({ counter: 1 });
      details({ frame: 1 });
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const timeouts = { heartbeat: "2s", stall: "1s" };
  const runId = await start({ id: "encode", task: "encode", timeouts, retry });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  expect(seen).toEqual([undefined, { frame: 1 }]);
  const { attempts, interventions } = await client.getRun(runId, {
    attempts: true,
    interventions: true,
  });
  expect(attempts).toMatchObject([
    { outcome: "UNKNOWN", failure: { code: "drover.stalled" } },
    { outcome: "SUCCESS" },
  ]);
  expect(interventions.map(({ rule }) => rule)).toContain("stall");
});

test("an agent that takes task after task beside a long one forgets none of them", async () => {
  const gate = Promise.withResolvers<void>();
  const { client, start } = given({ quick: () => "done", slow: () => gate.promise });
  const timeouts = { heartbeat: "2s" };
  const slow = await start({ id: "slow", task: "slow", timeouts });
  const ids: string[] = [];
  // Its lease is 2 s long: so much later only heartbeats can have extended it.
  const until = performance.now() + 2_500;
  while (performance.now() < until) {
    const runId = await start({ id: "quick", task: "quick", timeouts });
    ids.push(runId);
    await client.waitRun(runId);
  }
  gate.resolve();
  await client.waitRun(slow);
  for (const runId of [slow, ...ids]) {
    const { attempts, interventions } = await client.getRun(runId, {
      attempts: true,
      interventions: true,
    });
    expect(attempts).toMatchObject([{ outcome: "SUCCESS" }]);
    expect(interventions).toEqual([]);
  }
});

test("a paused run stores what comes from outside, and continues when it is resumed", async () => {
  const { client, start } = given({ tell: () => "sent" });
  const runId = await start(
    { id: "release", approval: { approvers: ["finance"], need: 2 } },
    { id: "paid", signal: "paid" },
    { id: "tell", task: "tell", needs: ["release", "paid"] },
  );
  expect(await client.pauseRun(runId, { reason: "stocktaking" })).toMatchObject({
    state: "PAUSED",
  });
  await client.signal(runId, "paid", { id: "p1", payload: { amount: 7 } });
  expect(await client.signal(runId, "paid", { id: "p1" })).toEqual({ id: "p1", repeated: true });
  const decision = "approve";
  for (const approver of ["ada", "bob"])
    await client.decide(runId, "release", { decision, approver, roles: ["finance"] });
  const waiting = await client.getRun(runId, { signals: true, decisions: true, settings: true });
  expect(waiting.run.state).toBe("PAUSED");
  expect(waiting.signals).toMatchObject([{ id: "p1", payload: { amount: 7 }, takenBy: "paid" }]);
  expect(waiting.decisions.map(({ approver, approved }) => [approver, approved])).toEqual([
    ["ada", true],
    ["bob", true],
  ]);
  expect(waiting.settings).toContainEqual({
    stepId: "",
    field: "timeout",
    value: "7d",
    source: "DEFAULT",
  });
  expect(waiting.steps.map(({ kind }) => kind)).toEqual(["APPROVAL", "SIGNAL", "TASK"]);
  await client.resumeRun(runId);
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
});

test("the items of a map are listed page by page, and those alone that failed", async () => {
  const { client, start } = given({
    ship: (task) => {
      if ((task.item ?? 0) % 3 === 0)
        throw new PermanentError("no-such-street", `none for ${task.item}`);
      return task.input();
    },
  });
  const queue = `q${queues}`;
  const runId = await start({ id: "ship", map: { over: "7", task: "ship", queue, tolerate: 3 } });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  const { steps } = await client.getRun(runId);
  expect(steps).toMatchObject([
    { id: "ship", output: { counts: { total: 7, succeeded: 4, failed: 3, skipped: 0 } } },
  ]);
  const first = await client.listItems(runId, "ship", { pageSize: 4 });
  expect(first.items).toMatchObject([
    { id: "ship[0]", state: "FAILED", error: { message: "none for 0" } },
    { id: "ship[1]", state: "SUCCEEDED", output: 1 },
    { id: "ship[2]", state: "SUCCEEDED", output: 2 },
    { id: "ship[3]", state: "FAILED" },
  ]);
  const pageToken = first.nextPageToken;
  const last = await client.listItems(runId, "ship", { pageSize: 4, pageToken });
  expect(last.items.map(({ id }) => id)).toEqual(["ship[4]", "ship[5]", "ship[6]"]);
  expect(last.nextPageToken).toBe("");

  const states = ["FAILED"] as const;
  const failed = await client.listItems(runId, "ship", { states, pageSize: 2 });
  expect(failed.items.map(({ id }) => id)).toEqual(["ship[0]", "ship[3]"]);
  const rest = { states, pageSize: 2, pageToken: failed.nextPageToken };
  expect((await client.listItems(runId, "ship", rest)).items).toMatchObject([{ id: "ship[6]" }]);
  await expect(client.listItems(runId, "ship", { pageToken })).resolves.toBeTruthy();
  await expect(client.listItems(runId, "ship", { states, pageToken })).rejects.toThrow(
    expect.objectContaining({ reason: "PAGE_TOKEN_INVALID" }),
  );
  await expect(client.listItems(runId, "shop")).rejects.toThrow(/has no step "shop".*"ship"/);
});
