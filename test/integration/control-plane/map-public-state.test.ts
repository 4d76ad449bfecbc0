// The public state of the items of a map, by a served control plane on a real database.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { ActionKind, WaitKind } from "@drover/proto/drover/v1/explain_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass, type Outcome, type OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
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

const agent = { id: "agent-1", session: new Uint8Array(16).fill(8), version: "1.0" };
const refOf = (runId: string) => ({ ref: { case: "runId" as const, value: runId } });
let polls = 0n;

/** A map over two servers, each with a queue of its own. */
async function schedule(task: string, more: object = {}, ofMap: object = {}): Promise<string> {
  const map = { over: '["north", "south"]', task, queue: `to-\${item}`, ...ofMap };
  const steps = [{ id: "m", map, ...more }];
  return (await client.schedule({ workflow: { workflow: "shown", steps } })).runId;
}

async function take(task: string, queue: string): Promise<string> {
  polls++;
  const request = { agent, pollSeq: polls, queues: [{ name: queue }], tasks: [task] };
  const { answer } = await grpc.unary(AgentService.method.pollTask, { ...request, maxTasks: 1 });
  const [taken] = answer?.tasks ?? [];
  if (!taken) throw new Error(`no task of ${task} came from ${queue}`);
  return taken.taskToken;
}

async function report(taskToken: string, kind: OutcomeInit): Promise<void> {
  const results = [{ taskToken, outcome: { kind } }];
  expect((await grpc.unary(AgentService.method.complete, { agent, results })).code).toBe(0);
}

const succeed = (taskToken: string) => report(taskToken, { case: "success", value: {} });

async function fail(taskToken: string): Promise<void> {
  const value = { failureClass: FailureClass.PERMANENT, code: "broken", message: "it is broken" };
  await report(taskToken, { case: "failed", value });
}

test("an item waits for the queue that its expressions name", async () => {
  const task = newTask();
  const runId = await schedule(task);
  const { answer } = await grpc.unary(SchedulerService.method.explainRun, { run: refOf(runId) });
  const item = answer?.steps.find(({ stepId }) => stepId === "m[1]");
  expect(item).toMatchObject({
    waitingFor: WaitKind.AGENT_TO_POLL,
    detail: { case: "lane", value: { queue: "to-south", task } },
    actions: [{ kind: ActionKind.START_AGENT, queue: "to-south", task }],
  });
  expect(item?.sentence).toContain('no agent polls queue "to-south"');
});

test("items are listed with their queues, while they are in one or with an agent", async () => {
  const task = newTask();
  const runId = await schedule(task, { retry: { attempts: 1 } });
  const queues = async () => (await client.listItems(runId, "m")).items.map((one) => one.queue);
  expect(await queues()).toEqual(["to-north", "to-south"]);
  const token = await take(task, "to-south");
  expect(await queues()).toEqual(["to-north", "to-south"]);
  await fail(token);
  expect(await queues()).toEqual(["to-north", ""]);
});

test("a gate is listed as such while it is to check", async () => {
  const task = newTask();
  const gate = { task: newTask(), queue: "gates" };
  const runId = await schedule(task, {}, { waves: { size: 1, gate } });
  const mapOf = async () => (await client.getRun(runId)).steps[0];
  expect(await mapOf()).toMatchObject({ task: "", queue: "" });
  await succeed(await take(task, "to-north"));
  expect(await mapOf()).toMatchObject({ kind: "MAP", state: "READY", ...gate });
  const { answer } = await grpc.unary(SchedulerService.method.explainRun, { run: refOf(runId) });
  expect(answer?.wait?.sentence).toContain(
    `the gate of "m" waits for an agent: no agent polls queue "gates" for task "${gate.task}"`,
  );
  await succeed(await take(gate.task, "gates"));
  expect(await mapOf()).toMatchObject({ state: "WAITING", task: "", queue: "" });
});

test("a question about an item comes with the item and its attempts", async () => {
  const task = newTask();
  const runId = await schedule(task, { onFailure: "escalate" });
  await fail(await take(task, "to-south"));
  const { answer } = await grpc.unary(OperatorService.method.getEscalation, {
    run: refOf(runId),
    escalationId: "1",
  });
  expect(answer?.escalation?.stepId).toBe("m[1]");
  expect(answer?.step).toMatchObject({ id: "m[1]", error: { code: "broken" } });
  expect(answer?.attempts).toMatchObject([{ stepId: "m[1]", failure: { code: "broken" } }]);
});
