// Agents that are killed: within two seconds of the loss of their leases everything that lists
// which agent polls lists none.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type GrpcClient, grpcClient } from "../api/rpc-clients.ts";
import { newTask } from "./fixture.ts";

const SLOW_AGENT = fileURLToPath(new URL("../../support/slow-agent.ts", import.meta.url));

let server: TestServer;
let client: Client;
let grpc: GrpcClient;
const children: ChildProcess[] = [];
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  grpc = grpcClient(Number(server.address.split(":")[1]));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  grpc?.close();
  client?.close();
  await server?.stop();
});

/** An agent with one slot, whose task never ends. */
function spawnAgent(queue: string, task: string): ChildProcess {
  const child = spawn(process.execPath, [SLOW_AGENT, server.address, queue, task], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  children.push(child);
  return child;
}

async function killAll(): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }),
  );
}

async function leasedOf(queue: string): Promise<number | undefined> {
  return (await grpc.unary(OperatorService.method.getQueue, { queue })).answer?.queue?.leased;
}

async function seen(runId: string, queue: string) {
  const { answer } = await grpc.unary(SchedulerService.method.explainRun, {
    run: { ref: { case: "runId", value: runId } },
  });
  const described = await grpc.unary(OperatorService.method.getQueue, { queue });
  const overview = await grpc.unary(OperatorService.method.getOverview, {});
  const agents = await grpc.unary(OperatorService.method.listAgents, {});
  const detail = answer?.steps[0]?.detail;
  return {
    polled: detail?.case === "lane" ? detail.value.polled : null,
    agents: described.answer?.queue?.agents,
    unserved: overview.answer?.unservedTasks.filter((one) => one.queue === queue).length,
    silent: agents.answer?.agents.filter(({ queues, silentSinceTime }) => {
      return queues.includes(queue) && silentSinceTime !== undefined;
    }).length,
  };
}

function workflowOf(queue: string, task: string) {
  const timeouts = { heartbeat: "2s", pickup: "1s" };
  return { workflow: `of-${task}`, steps: [{ id: "a", task, queue, timeouts }] };
}

test("agents that are killed at work do not count as polling once their leases are lost", async () => {
  const queue = `q-${newTask()}`;
  const task = newTask();
  const workflow = workflowOf(queue, task);
  const working = [await client.schedule({ workflow }), await client.schedule({ workflow })];
  for (const _ of working) spawnAgent(queue, task);
  await expect.poll(() => leasedOf(queue)).toBe(2);
  const { runId } = await client.schedule({ workflow });
  const before = { polled: true, agents: 2, silent: 0 };
  await expect.poll(() => seen(runId, queue)).toMatchObject(before);
  await killAll();
  await expect.poll(() => leasedOf(queue)).toBe(0);
  await expect
    .poll(() => seen(runId, queue))
    .toMatchObject({ polled: false, agents: 0, silent: 2 });
  await expect.poll(async () => (await seen(runId, queue)).unserved).toBe(1);
  const alarms = async () => {
    const asked = { runId, rules: ["pickup"] };
    return (await grpc.unary(OperatorService.method.listInterventions, asked)).answer?.interventions
      .length;
  };
  await expect.poll(alarms).toBeGreaterThan(0);
});

test("an agent that is killed while its poll waits does not count as polling either", async () => {
  const queue = `q-${newTask()}`;
  const task = newTask();
  spawnAgent(queue, task);
  const agents = async () =>
    (await grpc.unary(OperatorService.method.getQueue, { queue })).answer?.queue?.agents ?? 0;
  const listed = async () => (await seen("", queue)).silent;
  const known = async () => {
    const { answer } = await grpc.unary(OperatorService.method.listAgents, {});
    return answer?.agents.filter(({ queues }) => queues.includes(queue)).length;
  };
  await expect.poll(known).toBe(1);
  await killAll();
  await expect.poll(listed).toBe(1);
  const { runId } = await client.schedule({ workflow: workflowOf(queue, task) });
  expect(await seen(runId, queue)).toMatchObject({ polled: false });
  expect(await agents()).toBe(0);
});

test("an agent that was frozen and continues counts as polling again", async () => {
  const queue = `q-${newTask()}`;
  const task = newTask();
  const workflow = workflowOf(queue, task);
  const { runId } = await client.schedule({ workflow });
  const child = spawnAgent(queue, task);
  const state = () => seen(runId, queue);
  await expect.poll(() => leasedOf(queue)).toBe(1);
  child.kill("SIGSTOP");
  await expect.poll(state).toMatchObject({ polled: false, silent: 1 });
  child.kill("SIGCONT");
  await expect.poll(state).toMatchObject({ agents: 1, silent: 0 });
});
