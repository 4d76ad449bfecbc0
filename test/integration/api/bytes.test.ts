/** A step's input may be bytes: they come to the agent as they were given, over real gRPC. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { WorkflowDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";

const IMAGE = Buffer.from([0, 137, 80, 78, 71, 255]);
const INPUT = { contentType: "image/png", body: { case: "data" as const, value: IMAGE } };
let server: TestServer;
let grpc: GrpcClient;

beforeAll(async () => {
  server = await startDroverServer();
  grpc = grpcClient(Number(server.address.split(":").at(-1)));
});
afterAll(async () => {
  grpc?.close();
  await server?.stop();
});

function ofBytes(queue: string): MessageInitShape<typeof WorkflowDefinitionSchema> {
  const task = { case: "task" as const, value: { name: "resize", queue } };
  return { workflow: "picture", steps: [{ id: "resize", kind: task, input: INPUT }] };
}

async function inputHandedOut(queue: string) {
  const { answer, message } = await grpc.unary(AgentService.method.pollTask, {
    agent: { id: "painter", session: new Uint8Array(16).fill(7), version: "1" },
    pollSeq: BigInt(queue.length),
    queues: [{ name: queue, weight: 1 }],
    maxTasks: 1,
    wait: { seconds: 20n },
  });
  expect(message).toBe("");
  return answer?.tasks[0]?.input;
}

test("those of an inline definition", async () => {
  const value = ofBytes("inline");
  const { schedule } = SchedulerService.method;
  const { code } = await grpc.unary(schedule, { target: { case: "definition", value } });
  expect(code).toBe(0);
  expect(await inputHandedOut("inline")).toMatchObject(INPUT);
});

test("those of a registered workflow", async () => {
  const value = ofBytes("registered");
  const { registerWorkflow, schedule } = SchedulerService.method;
  await grpc.unary(registerWorkflow, { source: { case: "definition", value } });
  const target = { case: "workflow" as const, value: { name: "picture" } };
  expect((await grpc.unary(schedule, { target })).code).toBe(0);
  expect(await inputHandedOut("registered")).toMatchObject(INPUT);
});
