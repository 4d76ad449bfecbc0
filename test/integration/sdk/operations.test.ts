/** What operators read and order, by the client, on a real server. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { until } from "../../support/until.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
});
afterAll(async () => {
  client.close();
  await server.stop();
});

const steps = [{ id: "charge", task: "charge", queue: "shop" }];
const TIME = expect.any(Date);

test("an agent is seen with what it holds, with its cordons and its circuits", async () => {
  const letGo = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const agent = createAgent({
    address: server.address,
    id: "till",
    version: "1.2",
    queues: ["shop"],
    log: silentLog,
    handlers: {
      async charge() {
        started.resolve();
        await letGo.promise;
      },
    },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const { runId } = await client.schedule({ workflow: { workflow: "payment", steps } });
  await started.promise;
  const author = { by: "ada", why: "slow" };
  await client.circuits.cordon({ agentId: "till" }, author);
  await client.circuits.cordon({ version: "1.2" }, author);
  const name = { queue: "shop", task: "charge", agentId: "till" };
  const circuit = await client.circuits.open(name, author);
  const overridden = { setting: "OPEN", by: "ada", why: "slow", time: TIME };
  expect(circuit).toMatchObject({
    ...name,
    agentVersion: "",
    state: "CLOSED",
    override: overridden,
  });
  const [listed] = await until("the agent is listed", async () => {
    const { agents } = await client.operations.agents({ agentId: "till" });
    return agents.length > 0 ? agents : null;
  });
  const { agent: seen, tasks } = await client.operations.agent(listed?.session ?? "");
  expect(seen).toMatchObject({
    id: "till",
    circuits: [{ task: "charge", override: { by: "ada" } }],
    cordons: [
      { agentId: "till", version: null, by: "ada" },
      { agentId: null, version: "1.2", why: "slow" },
    ],
  });
  expect(tasks).toMatchObject([
    { runId, workflow: "payment", stepId: "charge", kind: "PERFORM", attempt: 1, fence: 1 },
  ]);
  expect((await client.circuits.list()).circuits).toMatchObject([{ agentId: "till" }]);
  expect((await client.operations.overview()).openCircuits).toEqual([circuit]);
  expect(await client.circuits.cordons()).toHaveLength(2);
  expect(await client.circuits.uncordon({ agentId: "till" })).toEqual({ uncordoned: true });
  expect(await client.circuits.uncordon({ agentId: "till" })).toEqual({ uncordoned: false });
  expect((await client.circuits.close(name, author)).override?.setting).toBe("CLOSED");
  expect((await client.operations.overview()).openCircuits).toEqual([]);
  expect((await client.circuits.release(name, author)).override).toBeNull();
  letGo.resolve();
  await client.waitRun(runId);
});

test("a queue, a workflow and the namespace are paused, limited and resumed", async () => {
  expect(await client.queues.pause("mail", { reason: "mending" })).toMatchObject({
    name: "mail",
    depth: 0,
    leased: 0,
    limits: {},
    pause: { sinceTime: TIME, reason: "mending" },
  });
  const limits = { leased: 3, perSecond: 0.5, burst: 2 };
  expect((await client.queues.setLimits("mail", limits)).limits).toEqual(limits);
  await client.registerWorkflow({ workflow: "refund", steps });
  expect(await client.pauseWorkflow("refund", { reason: "audit" })).toMatchObject({
    reason: "audit",
  });
  await client.namespaces.pause({ reason: "moving" });
  const { queue, tasks, namespacePause } = await client.queues.get("mail");
  expect(queue).toMatchObject({ limits, pause: { reason: "mending" } });
  expect({ tasks, namespacePause }).toMatchObject({
    tasks: [],
    namespacePause: { reason: "moving" },
  });
  const { pausedWorkflows, isNamespacePaused } = await client.operations.overview();
  expect({ pausedWorkflows, isNamespacePaused }).toEqual({
    pausedWorkflows: ["refund"],
    isNamespacePaused: true,
  });
  const pin = { workflow: "refund", agentVersion: "2.1" };
  const [pinned] = await client.queues.pin("mail", pin);
  expect(pinned).toMatchObject({ ...pin, version: 0, pinnedTime: expect.any(Date) });
  expect((await client.queues.get("mail")).pins).toEqual([pinned]);
  await expect(client.queues.pin("mail", { ...pin, version: 9 })).rejects.toMatchObject({
    code: "NOT_FOUND",
    reason: "WORKFLOW_NOT_FOUND",
  });
  expect(await client.queues.unpin("mail", { workflow: "refund" })).toEqual([]);
  await client.namespaces.resume();
  await client.resumeWorkflow("refund");
  expect((await client.queues.resume("mail")).pause).toBeNull();
  expect((await client.queues.setLimits("mail", {})).limits).toEqual({});
  const { queues, namespacePause: none } = await client.queues.list();
  expect(queues.map(({ name }) => name)).toContain("mail");
  expect(none).toBeNull();
});

test("a namespace has how long it retains runs, and what it may take", async () => {
  const made = await client.namespaces.create("team", { region: "eu" });
  expect(made).toMatchObject({ name: "team", region: "eu", existed: false, retentionMs: null });
  expect(await client.namespaces.create("team", { region: "eu" })).toMatchObject({ existed: true });
  const team = createClient({ ...server, namespace: "team", patience: 0 });
  onTestFinished(() => team.close());
  expect(await team.namespaces.setRetention("30d")).toMatchObject({ retentionMs: 30 * 86_400_000 });
  expect(await team.namespaces.setRetention(null)).toMatchObject({ retentionMs: null });
  const limits = { openRuns: 2, payloadBytes: 64, storageBytes: 5_000_000_000, weight: 9 };
  expect((await team.namespaces.setLimits(limits)).limits).toEqual(limits);
  expect(await team.namespaces.get()).toMatchObject({ name: "team", region: "eu", limits });
  const workflow = { workflow: "payment", steps };
  for (const key of ["a", "b"]) await team.schedule({ workflow, key });
  await expect(team.schedule({ workflow, key: "c" })).rejects.toMatchObject({
    code: "RESOURCE_EXHAUSTED",
    reason: "NAMESPACE_LIMIT",
  });
  expect(await team.schedule({ workflow, key: "a" })).toMatchObject({ created: false });
  const [third] = await team.scheduleBatch([{ workflow, key: "d" }]);
  expect(third).toMatchObject({ key: "d", error: { reason: "NAMESPACE_LIMIT" } });
  await expect(team.schedule({ workflow, input: "x".repeat(65) })).rejects.toMatchObject({
    reason: "PAYLOAD_TOO_LARGE",
    metadata: { limit_bytes: "64" },
  });
  await client.schedule({ workflow, input: "x".repeat(65) });
  expect((await team.namespaces.setLimits({})).limits).toEqual({});
  expect(await team.schedule({ workflow, key: "c" })).toMatchObject({ created: true });
  const { namespaces, regions } = await client.namespaces.list();
  expect(namespaces.map(({ name }) => name)).toEqual(["default", "team"]);
  expect(regions).toMatchObject([{ name: "default" }, { name: "eu" }]);
});

test("what runs here is listed: versions, supervisors, and who had which partition", async () => {
  const [supervisor] = await until("a supervisor watches", async () => {
    const all = await client.operations.supervisors();
    return all.some(({ partitions }) => partitions > 0) ? all : null;
  });
  expect(supervisor).toMatchObject({ alive: true, startedTime: TIME });
  const { handOvers } = await client.operations.handOvers({ partition: 0 });
  expect(handOvers).toMatchObject([
    { partition: 0, epoch: 1n, supervisor: supervisor?.id, reason: "FIRST", leftTime: null },
  ]);
  const page = await client.operations.handOvers({ pageSize: 1 });
  const next = await client.operations.handOvers({ pageSize: 1, pageToken: page.nextPageToken });
  expect(next.handOvers[0]?.partition).not.toBe(page.handOvers[0]?.partition);
  const info = await client.operations.clusterInfo();
  expect(info).toMatchObject({ serverVersion: "0.1.0", moreOpenRuns: false });
  expect(info.migrations[0]).toMatchObject({ number: 1, name: "0001_init.sql" });
  expect(info.openRuns).toMatchObject({ RUNNING: expect.any(Number) });
});
