import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code as ConnectCode, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { ConcurrencyPolicy, RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { RerunVersion, SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RerunRequest } from "../../../server/scheduler/scheduler.ts";
import { type GrpcClient, grpcClient, postJson } from "./rpc-clients.ts";
import {
  AGENT,
  callbackToken,
  RUN_ID,
  runDetail,
  runRecord,
  startWorld,
  token,
  type World,
} from "./rpc-world.ts";

const scheduler = SchedulerService.method;
const agents = AgentService.method;
const operators = OperatorService.method;
const jsonAgent = { id: "agent-1", session: Buffer.alloc(16, 7).toString("base64") };
const ended = runRecord({ state: "COMPLETED", reason: "DONE", endedAt: 1_700_000_100_000 });

let world: World;
let grpc: GrpcClient;

beforeEach(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

describe("over native gRPC", () => {
  test("RegisterWorkflow stores a definition and answers its version", async () => {
    const seen: unknown[] = [];
    world.scheduler.registerWorkflow = async (namespace, definition, keepDefault) => {
      seen.push(namespace.name, definition, keepDefault);
      return { version: 4, created: true };
    };
    const { answer, code } = await grpc.unary(scheduler.registerWorkflow, {
      source: {
        case: "definition",
        value: {
          workflow: "holiday",
          timeout: { seconds: 60n },
          steps: [
            { id: "flight", kind: { case: "task", value: { name: "book-flight" } } },
            {
              id: "hotel",
              needs: ["flight"],
              kind: { case: "task", value: { name: "book-hotel", queue: "slow" } },
              input: { body: { case: "json", value: '{"stars":4}' } },
              retry: [{ on: ["full"], attempts: 2, initial: { nanos: 5_000_000 } }, {}],
              timeouts: { heartbeat: { seconds: 4n }, settle: { seconds: 0n } },
              compensate: { task: "cancel-hotel", timeouts: { attempt: { seconds: 9n } } },
              onFailure: 2,
            },
          ],
        },
      },
      keepDefault: true,
    });
    expect(code).toBe(0);
    expect(answer).toMatchObject({ name: "holiday", version: 4, created: true });
    expect(seen).toEqual([
      "default",
      {
        workflow: "holiday",
        timeoutMs: 60_000,
        steps: [
          { id: "flight", needs: [], task: "book-flight" },
          {
            id: "hotel",
            needs: ["flight"],
            task: "book-hotel",
            queue: "slow",
            input: { kind: "json", json: '{"stars":4}' },
            retry: [{ on: ["full"], attempts: 2, initialMs: 5 }, {}],
            timeouts: { heartbeatMs: 4_000, settleMs: 0 },
            compensate: { task: "cancel-hotel", timeouts: { attemptMs: 9_000 } },
            onFailure: "fail",
          },
        ],
      },
      true,
    ]);
  });

  test("RetryRun and RerunFrom hand on from where, with what and under which name", async () => {
    const seen: RerunRequest[] = [];
    world.scheduler.rerun = async (request) => {
      seen.push(request);
      return { runId: RUN_ID, created: true };
    };
    const run = { ref: { case: "key" as const, value: "trip-1" } };
    const retried = await grpc.unary(scheduler.retryRun, { run, requestId: "r1" });
    expect(retried.answer).toMatchObject({ runId: RUN_ID, created: true });
    const input = { body: { case: "json" as const, value: "1" } };
    const asked = { run, requestId: "r1", stepId: "hotel", version: RerunVersion.NEWEST };
    await grpc.unary(scheduler.rerunFrom, { ...asked, input });
    const byId = { ref: { case: "runId" as const, value: RUN_ID } };
    await grpc.unary(scheduler.rerunFrom, { ...asked, input, run: byId });
    await grpc.unary(scheduler.rerunFrom, asked);
    expect(seen).toMatchObject([
      { runId: RUN_ID, from: { kind: "failed" }, input: null, version: "same", requestId: "r1" },
      {
        from: { kind: "step", stepId: "hotel" },
        input: { payload: { kind: "json", json: "1" } },
        version: "newest",
      },
      {},
      { input: null },
    ]);
    expect(new Set(seen.map(({ digest }) => digest)).size).toBe(3);
    expect(seen[1]?.digest).toBe(seen[2]?.digest);
    const nameless = await grpc.unary(scheduler.retryRun, { run });
    expect(nameless).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
  });

  test("GetRun has which run it does again, and which steps it reuses", async () => {
    const rerunOf = { runId: "r0", from: "hotel" };
    world.reads.runDetail = async () =>
      runDetail({ run: runRecord({ rerunOf }), reused: new Map([[0, "r0"]]) });
    const run = { ref: { case: "runId" as const, value: RUN_ID } };
    const { answer } = await grpc.unary(scheduler.getRun, { run });
    expect(answer?.run?.rerunOf).toMatchObject({
      runId: "r0",
      from: { case: "stepId", value: "hotel" },
    });
    expect(answer?.steps.map(({ reusedFrom }) => reusedFrom)).toEqual(["r0", ""]);
  });

  test("SetDefaultVersion moves the default to a version that is there, and no other", async () => {
    const { answer } = await grpc.unary(scheduler.setDefaultVersion, {
      name: "holiday",
      version: 3,
    });
    expect(answer).toMatchObject({ previousVersion: 2, version: 3 });
    const refused = await grpc.unary(scheduler.setDefaultVersion, { name: "holiday", version: 4 });
    expect(refused).toMatchObject({ code: 5, reason: "WORKFLOW_NOT_FOUND" });
    const zero = await grpc.unary(scheduler.setDefaultVersion, { name: "holiday" });
    expect(zero).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
  });

  test("GetWorkflow and ListWorkflows list versions and their open runs when they are asked", async () => {
    const seven = { version: 3, openRuns: 7 };
    const plain = await grpc.unary(scheduler.getWorkflow, { name: "holiday" });
    expect(plain.answer?.versions).toEqual([]);
    const asked = { name: "holiday", includeVersions: true };
    expect((await grpc.unary(scheduler.getWorkflow, asked)).answer?.versions).toMatchObject([
      seven,
    ]);
    const list = await grpc.unary(scheduler.listWorkflows, { includeVersions: true });
    expect(list.answer?.workflows).toMatchObject([{ name: "holiday", versions: [seven] }]);
  });

  test("GetWorkflow returns the definition as it was registered, defaults not filled in", async () => {
    const { answer } = await grpc.unary(scheduler.getWorkflow, { name: "holiday", version: 3 });
    expect(answer?.workflow).toMatchObject({ name: "holiday", version: 3, defaultVersion: 2 });
    expect(answer?.workflow?.createdTime?.seconds).toBe(BigInt(Date.UTC(2026, 0, 1) / 1_000));
    const [, hotel] = answer?.workflow?.definition?.steps ?? [];
    expect(hotel).toMatchObject({
      id: "hotel",
      needs: ["flight"],
      kind: { case: "task", value: { name: "book-hotel", queue: "slow" } },
      retry: [],
    });
    expect(hotel?.timeouts).toBeUndefined();
  });

  test("Schedule hands on target, input, key, priority, labels, start, concurrency and a digest", async () => {
    const seen: unknown[] = [];
    world.scheduler.schedule = async (request) => {
      seen.push(request);
      return { runId: RUN_ID, created: true };
    };
    const { answer } = await grpc.unary(scheduler.schedule, {
      target: { case: "workflow", value: { name: "holiday" } },
      input: { contentType: "text/plain", body: { case: "data", value: new Uint8Array([1]) } },
      key: "trip-1",
      labels: { team: "blue" },
      startTime: { seconds: 1_700_000_000n, nanos: 5_000_000 },
      concurrency: { key: "customer-17", policy: ConcurrencyPolicy.CANCEL_OLDEST },
    });
    expect(answer).toMatchObject({ runId: RUN_ID, created: true });
    expect(seen).toEqual([
      {
        notify: null,
        namespace: { id: 1, name: "default", region: 0 },
        target: { kind: "named", name: "holiday", version: 0 },
        input: { kind: "data", contentType: "text/plain", data: expect.anything() },
        key: "trip-1",
        priority: 5,
        labels: { team: "blue" },
        startAt: 1_700_000_000_005,
        concurrency: { key: "customer-17", limit: 1, policy: "cancel-oldest" },
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
  });

  test("a run is found by its id and by its key", async () => {
    for (const ref of [
      { case: "runId" as const, value: RUN_ID.toUpperCase() },
      { case: "key" as const, value: "trip-1" },
    ]) {
      const { answer } = await grpc.unary(scheduler.getRun, { run: { ref } });
      expect(answer?.run).toMatchObject({ runId: RUN_ID, key: "trip-1", version: 1n });
      expect(answer?.steps.map((step) => step.id)).toEqual(["flight", "hotel"]);
    }
  });

  test("WatchRun ends with OK after the final state", async () => {
    world.reads.runDetail = async () => runDetail({ run: ended });
    const watch = grpc.stream(scheduler.watchRun, {
      run: { ref: { case: "runId", value: RUN_ID } },
    });
    expect((await watch.done).code).toBe(0);
    expect(watch.messages.map(({ run }) => run?.state)).toEqual([RunState.COMPLETED]);
    expect(watch.messages[0]?.run?.input).toBeUndefined();
  });

  test("CancelRun answers how, why, and what the run is then", async () => {
    const seen: unknown[] = [];
    world.scheduler.command = async (run, event) => {
      seen.push(run, event);
      return { kind: "done" };
    };
    const { answer } = await grpc.unary(scheduler.cancelRun, {
      run: { ref: { case: "key", value: "trip-1" } },
      undo: 2,
      reason: "rain",
    });
    expect(answer?.run?.runId).toBe(RUN_ID);
    expect(seen).toEqual([
      { runId: RUN_ID, partition: 0x2a },
      { kind: "cancel", undo: false, note: "rain" },
    ]);
  });

  test("PollTask fills in queue, weight, count and wait, and hands over tasks", async () => {
    const seen: unknown[] = [];
    const poll = world.dispatcher.poll;
    world.dispatcher.poll = async (request, ends) => {
      seen.push(request);
      return poll(request, ends);
    };
    const { answer } = await grpc.unary(agents.pollTask, {
      agent: AGENT,
      pollSeq: 1n,
      lostPolls: [7n],
    });
    expect(seen).toEqual([
      {
        namespace: { id: 1, name: "default", region: 0 },
        agent: { id: "agent-1", session: "07".repeat(16), version: "1.0", labels: {} },
        pollSeq: 1,
        queues: [{ name: "default", weight: 1 }],
        tasks: [],
        maxTasks: 1,
        waitMs: 30_000,
        lostPolls: [7],
      },
    ]);
    const [task] = answer?.tasks ?? [];
    expect(task).toMatchObject({
      taskToken: token(),
      stepId: "flight",
      kind: TaskKind.PERFORM,
      fence: 1,
      workflowVersion: 3,
      labels: { team: "blue" },
    });
    expect(task?.leaseFor && durationMs(task.leaseFor)).toBe(30_000);
    expect(task?.heartbeatInterval && durationMs(task.heartbeatInterval)).toBe(10_000);
    expect(answer?.waited && durationMs(answer.waited)).toBe(12);
  });

  test("a poll is answered a second before the deadline of its call", async () => {
    const waits: number[] = [];
    world.dispatcher.poll = async ({ waitMs }) => {
      waits.push(waitMs);
      return { tasks: [], waitedMs: 0 };
    };
    await grpc.unary(
      agents.pollTask,
      { agent: AGENT, pollSeq: 1n },
      { deadline: Date.now() + 20_000 },
    );
    expect(waits[0]).toBeLessThanOrEqual(19_000);
    expect(waits[0]).toBeGreaterThan(10_000);
  });
});

describe("as JSON over HTTP/1.1", () => {
  const run = { runId: RUN_ID };
  const definition = {
    workflow: "holiday",
    steps: [{ id: "flight", task: { name: "book-flight" } }],
  };
  const calls = [
    [scheduler.registerWorkflow, { definition }, { name: "holiday", version: 3, created: true }],
    [scheduler.getWorkflow, { name: "holiday" }, { workflow: { name: "holiday", version: 2 } }],
    [scheduler.listWorkflows, {}, { workflows: [{ name: "holiday", newestVersion: 3 }] }],
    [scheduler.schedule, { workflow: { name: "holiday" } }, { runId: RUN_ID, created: true }],
    [scheduler.getRun, { run }, { run: { runId: RUN_ID, state: "RUN_STATE_RUNNING" } }],
    [scheduler.listRuns, {}, { runs: [{ runId: RUN_ID }] }],
    [scheduler.waitRun, { run, wait: "0s" }, { run: { runId: RUN_ID } }],
    [scheduler.cancelRun, { run }, { run: { runId: RUN_ID } }],
    [scheduler.pauseRun, { run, reason: "storm" }, { run: { runId: RUN_ID } }],
    [scheduler.resumeRun, { run }, { run: { runId: RUN_ID } }],
    [scheduler.signal, { run, name: "paid", signalId: "s1", payload: { json: "1" } }, {}],
    [
      scheduler.completeDeferred,
      { callbackToken: callbackToken(), success: { output: { json: "1" } } },
      {},
    ],
    [operators.listEscalations, {}, {}],
    [agents.pollTask, { agent: jsonAgent, pollSeq: 1 }, { tasks: [{ stepId: "flight" }] }],
    [
      agents.heartbeat,
      { agent: jsonAgent, reports: [{ taskToken: token() }] },
      { answers: [{ carryOn: { leaseFor: "30s" } }] },
    ],
    [
      agents.complete,
      {
        agent: jsonAgent,
        results: [{ taskToken: token(), outcome: { success: { output: { json: "1" } } } }],
        next: { pollSeq: 2 },
      },
      { answers: [{ status: {} }], tasks: [{ stepId: "flight" }] },
    ],
  ] as const;

  test.each(calls)("$name answers", async (method, request, answer) => {
    const { http, json } = await postJson(world.port, method, request);
    expect(http).toBe(200);
    expect(json).toMatchObject(answer);
  });

  test("a name that the contract has not is refused, with the name", async () => {
    const answer = await postJson(world.port, scheduler.schedule, {
      workflow: { name: "holiday" },
      priorty: 1,
    });
    expect(answer).toMatchObject({ http: 400, code: 3, reason: "MALFORMED_MESSAGE" });
    expect(answer.message).toContain('"priorty"');
  });

  test("a path that is no call is answered 404 with a sentence", async () => {
    const response = await fetch(`http://127.0.0.1:${world.port}/drover.v1.Nothing/Here`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "unimplemented" });
  });
});

describe("as gRPC-Web", () => {
  const transport = () =>
    createGrpcWebTransport({ baseUrl: `http://127.0.0.1:${world.port}`, httpVersion: "1.1" });

  test("a unary call and a stream answer", async () => {
    world.reads.runDetail = async () => runDetail({ run: ended });
    const client = createClient(SchedulerService, transport());
    const ref = { case: "runId" as const, value: RUN_ID };
    expect((await client.getRun({ run: { ref } })).run?.runId).toBe(RUN_ID);
    const states: number[] = [];
    for await (const { run } of client.watchRun({ run: { ref } })) states.push(run?.state ?? 0);
    expect(states).toEqual([RunState.COMPLETED]);
  });

  test("an error has its code and details", async () => {
    const client = createClient(SchedulerService, transport());
    const error = await client.getWorkflow({ name: "nothing" }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConnectError);
    expect(error.code).toBe(ConnectCode.NotFound);
    expect(error.details.map((detail: { type: string }) => detail.type)).toContain(
      "google.rpc.ErrorInfo",
    );
  });
});
