/** The calls of a client about a run that has started, each as it is sent and as it is repeated. */
import { Buffer } from "node:buffer";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  EscalationAnswerSchema,
  EscalationSchema,
  RunSchema,
  RunState,
} from "@drover/proto/drover/v1/run_pb.ts";
import {
  BulkKind,
  DecisionKind,
  RerunVersion,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass } from "@drover/proto/drover/v1/task_pb.ts";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { bytes, json } from "../../../sdk/typescript/payload.ts";
import { PermanentError, TransientError } from "../../../sdk/typescript/task-errors.ts";
import { givenServer } from "../../support/agent-script.ts";

const unavailable = 14;

async function givenClient() {
  const server = await givenServer();
  const client = createClient({ address: server.address, namespace: "acme" });
  onTestFinished(() => client.close());
  return { server, client };
}

function aRun(state: RunState) {
  return create(RunSchema, { runId: "run-1", state });
}

test("a signal is sent under an id of its own, and a repeat is the same signal", async () => {
  const { server, client } = await givenClient();
  const sent = client.signal("run-1", "paid", { payload: { amount: 7 } });
  const first = await server.signal.next();
  expect(first.request).toMatchObject({
    namespace: "acme",
    run: { ref: { case: "runId", value: "run-1" } },
    name: "paid",
    payload: json({ amount: 7 }),
  });
  expect(first.request.signalId).not.toBe("");
  first.fail(unavailable, "STORE_UNAVAILABLE", 1);
  const second = await server.signal.next();
  expect(second.request).toEqual(first.request);
  second.answer({ repeated: true });
  expect(await sent).toEqual({ id: first.request.signalId, repeated: true });
});

test("an id of the caller is used, and a signal need not carry anything", async () => {
  const { server, client } = await givenClient();
  const sent = client.signal({ key: "order-7" }, "paid", { id: "payment-1" });
  const call = await server.signal.next();
  expect(call.request.signalId).toBe("payment-1");
  expect(call.request.payload).toBeUndefined();
  call.answer({});
  expect(await sent).toEqual({ id: "payment-1", repeated: false });
});

test("decide sends who decides what, and why", async () => {
  const { server, client } = await givenClient();
  const decided = client.decide("run-1", "release", {
    decision: "reject",
    approver: "ada",
    roles: ["finance"],
    comment: "too dear",
    form: { limit: 3 },
  });
  const call = await server.decide.next();
  expect(call.request).toMatchObject({
    stepId: "release",
    decision: DecisionKind.REJECT,
    approver: "ada",
    roles: ["finance"],
    comment: "too dear",
    form: json({ limit: 3 }),
  });
  call.answer({ run: aRun(RunState.STOPPING), repeated: false });
  expect(await decided).toMatchObject({ run: { state: "STOPPING" }, repeated: false });
});

test("a run is paused and resumed, with the reason", async () => {
  const { server, client } = await givenClient();
  const paused = client.pauseRun("run-1", { reason: "the desk is closed" });
  const pause = await server.pauseRun.next();
  expect(pause.request.reason).toBe("the desk is closed");
  pause.answer({ run: aRun(RunState.PAUSED) });
  expect((await paused).state).toBe("PAUSED");
  const resumed = client.resumeRun("run-1");
  const resume = await server.resumeRun.next();
  expect(resume.request).toMatchObject({ run: { ref: { value: "run-1" } }, reason: "" });
  resume.answer({ run: aRun(RunState.RUNNING) });
  expect((await resumed).state).toBe("RUNNING");
});

test.each([
  [
    "a success with its output",
    { output: "12A" },
    { case: "success", value: { output: json("12A") } },
  ],
  ["a success without output", undefined, { case: "success", value: {} }],
  [
    "a failure that will pass",
    { error: new TransientError("busy", "try later", { retryAfter: "2s" }) },
    {
      case: "failed",
      value: { code: "busy", failureClass: FailureClass.TRANSIENT, retryAfter: { seconds: 2n } },
    },
  ],
  [
    "a failure that will not",
    { error: new PermanentError("declined", "no funds", { noEffect: true }) },
    {
      case: "failed",
      value: { code: "declined", failureClass: FailureClass.PERMANENT, noEffect: true },
    },
  ],
] as const)("a deferred attempt ends by its token, as %s", async (_name, outcome, expected) => {
  const { server, client } = await givenClient();
  const ended = client.completeDeferred("token-1", outcome);
  const call = await server.completeDeferred.next();
  expect(call.request).toMatchObject({ callbackToken: "token-1", outcome: expected });
  call.answer({ repeated: false });
  expect(await ended).toEqual({ repeated: false });
});

const escalation = create(EscalationSchema, {
  id: "2",
  runId: "run-1",
  workflow: "holiday",
  stepId: "hotel",
  reason: "unverified",
  answers: ["succeed", "fail"],
});

test("escalations are listed page by page", async () => {
  const { server, client } = await givenClient();
  const page = client.escalations.list({ includeClosed: true, pageSize: 10, pageToken: "p2" });
  const call = await server.listEscalations.next();
  expect(call.request).toMatchObject({
    namespace: "acme",
    includeClosed: true,
    pageSize: 10,
    pageToken: "p2",
  });
  call.answer({ escalations: [escalation], nextPageToken: "p3" });
  expect(await page).toMatchObject({
    escalations: [{ id: "2", runId: "run-1", reason: "unverified", answer: null }],
    nextPageToken: "p3",
  });
});

test("an escalation is read with what led to it", async () => {
  const { server, client } = await givenClient();
  const details = client.escalations.get("run-1", "2");
  const call = await server.getEscalation.next();
  expect(call.request).toMatchObject({ run: { ref: { value: "run-1" } }, escalationId: "2" });
  call.answer({
    escalation,
    run: aRun(RunState.ESCALATED),
    step: { id: "hotel", verifies: 5 },
    attempts: [{ stepId: "hotel", n: 1 }],
  });
  expect(await details).toMatchObject({
    escalation: { answers: ["succeed", "fail"] },
    run: { state: "ESCALATED" },
    step: { id: "hotel", verifies: 5 },
    attempts: [{ n: 1 }],
  });
});

test("an escalation is answered with who answers, why, and what goes with it", async () => {
  const { server, client } = await givenClient();
  const resolved = client.escalations.resolve("run-1", "2", {
    answer: "succeed",
    by: "ada",
    why: "the hotel confirmed by phone",
    payload: bytes(Buffer.from("B7"), "text/plain"),
  });
  const call = await server.resolveEscalation.next();
  expect(call.request).toMatchObject({
    escalationId: "2",
    answer: "succeed",
    by: "ada",
    why: "the hotel confirmed by phone",
    payload: { contentType: "text/plain" },
  });
  const answer = { answer: "succeed", by: "ada", byVerified: false, why: "by phone" };
  call.answer({
    escalation: { ...escalation, answers: [], answer: create(EscalationAnswerSchema, answer) },
    run: aRun(RunState.RUNNING),
    repeated: true,
  });
  expect(await resolved).toMatchObject({
    escalation: { answers: [], answer },
    run: { state: "RUNNING" },
    repeated: true,
  });
});

test("an escalation is claimed and given back, by whom, and although another has it", async () => {
  const { server, client } = await givenClient();
  const claimed = client.escalations.claim("run-1", "2", { by: "ada" });
  const claim = await server.claimEscalation.next();
  expect(claim.request).toMatchObject({
    namespace: "acme",
    run: { ref: { value: "run-1" } },
    escalationId: "2",
    by: "ada",
    anyway: false,
  });
  const claimedTime = timestampFromMs(5_000);
  const deadlineTime = timestampFromMs(9_000);
  const about = { claimedBy: "ada", claimedTime, deadlineTime, code: "drover.lost" };
  claim.answer({ escalation: { ...escalation, ...about } });
  expect(await claimed).toMatchObject({
    id: "2",
    claimedBy: "ada",
    code: "drover.lost",
    claimedTime: new Date(5_000),
    deadlineTime: new Date(9_000),
  });
  const released = client.escalations.release("run-1", "2", { by: "bob", anyway: true });
  const release = await server.releaseEscalation.next();
  expect(release.request).toMatchObject({ escalationId: "2", by: "bob", anyway: true });
  release.answer({ escalation });
  expect(await released).toMatchObject({ claimedBy: "", claimedTime: null, deadlineTime: null });
});

test("an answer that is not taken is thrown with the answers that are", async () => {
  const { server, client } = await givenClient();
  const resolved = client.escalations.resolve("run-1", "2", { answer: "skip", by: "ada" });
  (await server.resolveEscalation.next()).fail(9, "ANSWER_NOT_ALLOWED");
  await expect(resolved).rejects.toMatchObject({
    code: "FAILED_PRECONDITION",
    reason: "ANSWER_NOT_ALLOWED",
  });
});

test("a run is done again by a request of its own, and a repeat is the same new run", async () => {
  const { server, client } = await givenClient();
  const retried = client.retryRun("run-1", { version: "newest" });
  const first = await server.retryRun.next();
  expect(first.request).toMatchObject({
    namespace: "acme",
    run: { ref: { case: "runId", value: "run-1" } },
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    version: RerunVersion.NEWEST,
  });
  first.fail(unavailable, "STORE_UNAVAILABLE", 1);
  const second = await server.retryRun.next();
  expect(second.request).toEqual(first.request);
  second.answer({ runId: "run-2", created: false });
  expect(await retried).toEqual({ runId: "run-2", created: false });
});

test("a run is done again from a step, with another input", async () => {
  const { server, client } = await givenClient();
  const again = client.rerunFrom("run-1", "hotel", { input: { to: "Oslo" }, requestId: "r" });
  const call = await server.rerunFrom.next();
  expect(call.request).toMatchObject({
    stepId: "hotel",
    requestId: "r",
    version: RerunVersion.SAME,
    input: json({ to: "Oslo" }),
  });
  call.answer({ runId: "run-2", created: true });
  expect(await again).toEqual({ runId: "run-2", created: true });
});

test("a bulk action sends what a signal carries, and from where runs are done again", async () => {
  const { server, client } = await givenClient();
  const done = { results: [] };
  const signalled = Array.fromAsync(
    client.bulk("signal", { signalName: "paid", payload: { amount: 7 } }),
  );
  const signal = await server.bulkAction.next();
  expect(signal.request).toMatchObject({
    kind: BulkKind.SIGNAL,
    signalName: "paid",
    payload: json({ amount: 7 }),
    stepId: "",
  });
  expect(signal.request.input).toBeUndefined();
  signal.answer(done);
  expect(await signalled).toEqual([]);
  const again = { stepId: "hotel", input: { to: "Oslo" }, version: "newest" } as const;
  const asked = { kind: BulkKind.RERUN, stepId: "hotel", input: json({ to: "Oslo" }) };
  const counted = client.countForBulk("rerun", again);
  const dry = await server.bulkAction.next();
  expect(dry.request).toMatchObject({ ...asked, dryRun: true, version: RerunVersion.NEWEST });
  dry.answer({ count: 2 });
  expect(await counted).toBe(2);
  const rerun = Array.fromAsync(client.bulk("rerun", again));
  const call = await server.bulkAction.next();
  expect(call.request).toMatchObject({ ...asked, dryRun: false, version: RerunVersion.NEWEST });
  call.answer(done);
  expect(await rerun).toEqual([]);
});

test("a bulk action goes page by page under one name, with a result for each run", async () => {
  const { server, client } = await givenClient();
  const filter = { workflow: "w", states: ["FAILED"] } as const;
  const counted = client.countForBulk("retry", { filter });
  const dry = await server.bulkAction.next();
  expect(dry.request).toMatchObject({
    dryRun: true,
    kind: BulkKind.RETRY,
    filter: { workflow: "w" },
  });
  dry.answer({ count: 2 });
  const expectedCount = await counted;
  const results = Array.fromAsync(client.bulk("retry", { filter, expectedCount }));
  const first = await server.bulkAction.next();
  expect(first.request).toMatchObject({ dryRun: false, expectedCount: 2, pageToken: "" });
  const status = { code: 0 };
  first.answer({ results: [{ runId: "r1", status, newRunId: "n1" }], nextPageToken: "p" });
  const second = await server.bulkAction.next();
  expect(second.request).toEqual({ ...first.request, pageToken: "p" });
  second.answer({ results: [{ runId: "r2", status: { code: 9, message: "no" } }] });
  expect(await results).toMatchObject([
    { runId: "r1", error: null, newRunId: "n1" },
    { runId: "r2", error: { code: "FAILED_PRECONDITION", message: "no" }, newRunId: null },
  ]);
});
