// Why is a run not moving? A served control plane on a real database answers in fields, for each
// state in which a run waits.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { ActionKind, NextKind, StopCause, WaitKind } from "@drover/proto/drover/v1/explain_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  type Outcome,
  type OutcomeSchema,
  type Progress,
  TaskKind,
} from "@drover/proto/drover/v1/task_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import type { StepSpec } from "../../../sdk/typescript/workflow.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type GrpcClient, grpcClient } from "../api/rpc-clients.ts";
import { newTask } from "./fixture.ts";

let server: TestServer;
let client: Client;
let grpc: GrpcClient;
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  grpc = grpcClient(Number(server.address.split(":")[1]));
});
afterAll(async () => {
  grpc?.close();
  client?.close();
  await server?.stop();
});

type OutcomeInit = NonNullable<Exclude<MessageInitShape<typeof OutcomeSchema>, Outcome>["kind"]>;

const agent = { id: "agent-1", session: new Uint8Array(16).fill(7), version: "1.0" };
let polls = 0n;

async function schedule(...steps: readonly StepSpec[]): Promise<string> {
  return (await client.schedule({ workflow: { workflow: "does-not-move", steps } })).runId;
}

async function explain(runId: string) {
  const { answer } = await grpc.unary(SchedulerService.method.explainRun, {
    run: { ref: { case: "runId", value: runId } },
  });
  if (!answer?.wait) throw new Error(`run ${runId} is not explained`);
  const { run, wait, steps, now, untakenSignals } = answer;
  for (const { sinceTime, sentence } of [wait, ...steps]) {
    expect(sentence).toMatch(/^\S.*\.$/);
    expect(sinceTime && timestampMs(sinceTime)).toBeLessThanOrEqual(now ? timestampMs(now) : 0);
  }
  return { run, wait, steps, untakenSignals };
}

async function take(task: string): Promise<string> {
  polls++;
  const request = { agent, pollSeq: polls, queues: [{ name: "default" }], tasks: [task] };
  const { answer } = await grpc.unary(AgentService.method.pollTask, { ...request, maxTasks: 1 });
  const [taken] = answer?.tasks ?? [];
  if (!taken) throw new Error(`no task of ${task} came`);
  return taken.taskToken;
}

async function report(taskToken: string, kind: OutcomeInit): Promise<void> {
  const { code } = await grpc.unary(AgentService.method.complete, {
    agent,
    results: [{ taskToken, outcome: { kind } }],
  });
  expect(code).toBe(0);
}

async function sendHeartbeat(taskToken: string, progress: Progress["kind"]): Promise<void> {
  const reports = [{ taskToken, progress: { kind: progress } }];
  expect((await grpc.unary(AgentService.method.heartbeat, { agent, reports })).code).toBe(0);
}

const unknown: OutcomeInit = {
  case: "unknown",
  value: { code: "lost-answer", message: "no answer" },
};

test("no agent polls: the queue and the task that need an agent, and when the alarm is raised", async () => {
  const task = newTask();
  const runId = await schedule({ id: "a", task }, { id: "b", task, needs: ["a"] });
  const { wait, steps } = await explain(runId);
  expect(wait).toMatchObject({
    stepId: "",
    waitingFor: WaitKind.AGENT_TO_POLL,
    waitsOn: ["a"],
    actions: [
      { kind: ActionKind.PAUSE },
      { kind: ActionKind.CANCEL, choices: ["compensate", "leave"] },
    ],
  });
  expect(steps).toMatchObject([
    {
      stepId: "a",
      next: NextKind.ALARM,
      taskKind: TaskKind.PERFORM,
      detail: { case: "lane", value: { queue: "default", task, polled: false } },
      actions: [{ kind: ActionKind.START_AGENT, queue: "default", task }],
    },
    { stepId: "b", waitingFor: WaitKind.STEPS, waitsOn: ["a"], next: NextKind.UNSPECIFIED },
  ]);
  const nextMs = steps[0]?.nextTime ? timestampMs(steps[0].nextTime) : 0;
  expect(nextMs - (steps[0]?.sinceTime ? timestampMs(steps[0].sinceTime) : 0)).toBe(300_000);
});

test("an agent works: which, its last heartbeat, how far it came, and when its time is over", async () => {
  const task = newTask();
  const runId = await schedule({ id: "a", task });
  const token = await take(task);
  await sendHeartbeat(token, { case: "fraction", value: 0.47 });
  const [step] = (await explain(runId)).steps;
  expect(step).toMatchObject({
    waitingFor: WaitKind.AGENT_WORKING,
    next: NextKind.CHECK_LEASE,
    detail: {
      case: "agent",
      value: {
        agentId: "agent-1",
        stopCause: StopCause.UNSPECIFIED,
        progress: { kind: { case: "fraction", value: 0.47 } },
        lastHeartbeatTime: { nanos: expect.any(Number) },
        progressTime: { nanos: expect.any(Number) },
        attemptEndTime: { nanos: expect.any(Number) },
      },
    },
  });
  await client.cancelRun(runId);
  const { run, steps } = await explain(runId);
  expect(run?.state).toBe(RunState.STOPPING);
  expect(steps).toMatchObject([
    { waitingFor: WaitKind.AGENT_TO_STOP, detail: { value: { stopCause: StopCause.RUN } } },
  ]);
});

test("a verify is pending: an agent is needed that finds out, and what was tried is listed", async () => {
  const task = newTask();
  const find = newTask();
  const runId = await schedule({ id: "a", task, effects: "verifiable", verify: { task: find } });
  await report(await take(task), unknown);
  expect((await explain(runId)).steps).toMatchObject([
    {
      waitingFor: WaitKind.AGENT_TO_POLL,
      taskKind: TaskKind.VERIFY,
      detail: { case: "lane", value: { task: find, polled: false } },
      tried: { attempts: 1, lastFailure: { code: "lost-answer" }, lastAgentId: "agent-1" },
    },
  ]);
});

test("a signal is waited for: its name, and what happens if it does not come", async () => {
  const runId = await schedule({ id: "a", signal: { name: "paid", onExpiry: "skip" } });
  expect(await explain(runId)).toMatchObject({
    wait: { waitingFor: WaitKind.SIGNAL, waitsOn: ["a"], next: NextKind.SKIP },
    steps: [
      {
        detail: { case: "signalName", value: "paid" },
        actions: [{ kind: ActionKind.SIGNAL, signalName: "paid" }],
      },
    ],
  });
  await client.signal(runId, "paid");
  expect(await explain(runId)).toMatchObject({ wait: { waitingFor: WaitKind.ENDED }, steps: [] });
});

test("a signal that no step has taken is reported, with the step that takes it later", async () => {
  const task = newTask();
  const runId = await schedule(
    { id: "a", task },
    { id: "b", needs: ["a"], signal: { name: "paid" } },
  );
  await client.signal(runId, "paid", { id: "p1" });
  expect((await explain(runId)).untakenSignals).toMatchObject([
    {
      name: "paid",
      signalId: "p1",
      sentence: expect.stringMatching(/^The signal "paid" came .* ago, and "b" takes it as soon/),
    },
  ]);
  await expect(client.signal(runId, "payd")).rejects.toMatchObject({ reason: "SIGNAL_UNKNOWN" });
  await report(await take(task), { case: "success", value: {} });
  expect((await explain(runId)).untakenSignals).toEqual([]);
});

test("a person is asked: the question and the answers that it takes", async () => {
  const task = newTask();
  const runId = await schedule({ id: "a", task, effects: "once" });
  await report(await take(task), unknown);
  const { run, wait, steps } = await explain(runId);
  expect(run?.state).toBe(RunState.ESCALATED);
  expect(wait).toMatchObject({ waitingFor: WaitKind.PERSON, next: NextKind.UNSPECIFIED });
  expect(wait.nextTime).toBeUndefined();
  const { escalations } = await client.getRun(runId, { escalations: true });
  expect(steps).toMatchObject([
    {
      detail: { case: "escalation", value: { id: "1", reason: "unknown" } },
      actions: [
        {
          kind: ActionKind.ANSWER,
          stepId: "a",
          escalationId: "1",
          choices: escalations[0]?.answers,
        },
      ],
    },
  ]);
  expect(escalations[0]?.answers).toContain("retry");
});

test("the run is paused: it waits for its resuming, and so does what is held", async () => {
  const runId = await schedule({ id: "a", task: newTask() });
  await client.pauseRun(runId);
  expect(await explain(runId)).toMatchObject({
    wait: {
      waitingFor: WaitKind.RESUME,
      actions: [{ kind: ActionKind.RESUME }, { kind: ActionKind.CANCEL }],
    },
    steps: [{ waitingFor: WaitKind.RESUME, actions: [{ kind: ActionKind.RESUME }] }],
  });
  const { wait } = await client.explainRun(runId);
  expect(wait).toMatchObject({ waitingFor: "RESUME", waitsOn: ["a"], nextTime: null });
});

test("a run that is not there is RUN_NOT_FOUND", async () => {
  const run = { ref: { case: "key" as const, value: "missing" } };
  const refused = await grpc.unary(SchedulerService.method.explainRun, { run });
  expect(refused).toMatchObject({ code: 5, reason: "RUN_NOT_FOUND" });
});
