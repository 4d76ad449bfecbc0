// Two instances of one agent are distinguished: the one that fails is found, and it alone can be
// cordoned.
import { hostname } from "node:os";
import type { AgentInfo } from "@drover/proto/drover/v1/agent_info_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type GrpcClient, grpcClient } from "../api/rpc-clients.ts";
import { newTask } from "./fixture.ts";

/** Counts of attempts are stored every 20 s. */
const STORED_MS = 30_000;

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

function startAgent(id: string, version: string, handler: () => Promise<unknown>): void {
  const { address } = server;
  const handlers = { [id]: handler };
  const agent = createAgent({ address, id, version, queues: [id], slots: 3, handlers });
  agent.start();
  onTestFinished(() => agent.stop());
}

async function instances(agentId: string): Promise<readonly AgentInfo[]> {
  const { answer } = await grpc.unary(OperatorService.method.listAgents, { agentId });
  return answer?.agents ?? [];
}

async function instanceOf(agentId: string, version: string): Promise<AgentInfo> {
  await expect.poll(async () => (await instances(agentId)).length).toBe(2);
  const found = (await instances(agentId)).find((one) => one.version === version);
  if (!found) throw new Error(`no instance has the version ${version}`);
  return found;
}

const workflowOf = (id: string) => ({
  workflow: `of-${id}`,
  steps: [{ id: "a", task: id, queue: id, retry: [{ attempts: 1 }] }],
});

test("the instance that fails is found, with how the other does", async () => {
  const id = newTask();
  startAgent(id, "good", async () => null);
  startAgent(id, "bad", async () => {
    throw new PermanentError("no-template", "the template is missing");
  });
  const bad = await instanceOf(id, "bad");
  const host = hostname();
  expect(bad).toMatchObject({ host, pid: process.pid, capacity: 3 });
  expect(bad.startedTime).toBeDefined();
  const overview = async () => {
    const { answer } = await grpc.unary(OperatorService.method.getOverview, {});
    return answer?.failingAgents.filter(({ agentId }) => agentId === id) ?? [];
  };
  // Both take turns; more is started until the one that fails has had ten.
  const runs: string[] = [];
  const start = async () => {
    const started = Array.from({ length: 20 }, () => client.schedule({ workflow: workflowOf(id) }));
    for (const { runId } of await Promise.all(started)) runs.push(runId);
    return overview();
  };
  await expect
    .poll(start, { timeout: STORED_MS, interval: 2_000 })
    .toMatchObject([
      { session: bad.session, version: "bad", host, pid: process.pid, queue: id, task: id },
    ]);
  const [found] = await overview();
  expect(found?.attempts?.failed).toBe(found?.attempts?.ended);
  expect(found?.others?.ended).toBeGreaterThan(0);
  expect(found?.others).toMatchObject({ failed: 0, unknown: 0 });
  const [listed] = (await instances(id)).filter(({ version }) => version === "bad");
  expect(listed?.taskAttempts).toMatchObject([{ queue: id, task: id, failing: true }]);
  const attempts = await Promise.all(
    runs.slice(0, 20).map(async (runId) => {
      await client.waitRun(runId);
      const { answer } = await grpc.unary(SchedulerService.method.getRun, {
        run: { ref: { case: "runId", value: runId } },
        includeAttempts: true,
      });
      return answer?.attempts ?? [];
    }),
  );
  const failed = attempts.flat().filter(({ failure }) => failure?.code === "no-template");
  expect(failed.length).toBeGreaterThan(0);
  for (const one of failed) expect(one).toMatchObject({ session: bad.session, host });
}, 60_000);

test("an instance is cordoned alone, and gets tasks again when the cordon is removed", async () => {
  const id = newTask();
  const by: string[] = [];
  for (const version of ["1", "2"])
    startAgent(id, version, async () => {
      by.push(version);
    });
  const { session } = await instanceOf(id, "2");
  const of = { case: "session", value: session } as const;
  const cordoned = await grpc.unary(OperatorService.method.cordonAgent, { of, by: "ada" });
  expect(cordoned.answer?.cordon).toMatchObject({ of, sessionAgentId: id, cordonedBy: "ada" });
  const performTwenty = async () => {
    by.length = 0;
    const started = Array.from({ length: 20 }, () => client.schedule({ workflow: workflowOf(id) }));
    for (const { runId } of await Promise.all(started)) await client.waitRun(runId);
    return new Set(by);
  };
  expect(await performTwenty()).toEqual(new Set(["1"]));
  const [first, second] = await instances(id);
  expect([first, second].map((one) => [one?.version, one?.cordons.length]).sort()).toEqual([
    ["1", 0],
    ["2", 1],
  ]);
  await grpc.unary(OperatorService.method.uncordonAgent, { of });
  await expect.poll(performTwenty).toContain("2");
});

test("a session that no server knows is not cordoned", async () => {
  const of = { case: "session", value: new Uint8Array(16).fill(9) } as const;
  const { reason } = await grpc.unary(OperatorService.method.cordonAgent, { of, by: "ada" });
  expect(reason).toBe("AGENT_NOT_FOUND");
});
