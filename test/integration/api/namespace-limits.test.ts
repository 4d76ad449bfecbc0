// Quotas of a namespace on real servers: what is refused beyond them, what never is, and that they
// hold on every server and after a restart. Nothing of a refused call is stored.
import { connect } from "node:net";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { NamespaceLimitsSchema } from "@drover/proto/drover/v1/namespace_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { BulkKind, SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { writtenSchema } from "../../support/test-shards.ts";
import { until } from "../../support/until.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { AGENT, RUN_ID, signal, startWorld } from "./rpc-world.ts";

const scheduler = SchedulerService.method;
const operator = OperatorService.method;
const agents = AgentService.method;
type Limits = MessageInitShape<typeof NamespaceLimitsSchema>;

let server: TestServer;
let grpc: GrpcClient;
let database: pg.Pool;
let namespace: string;
let count = 0;
const clientOf = ({ address }: TestServer) => grpcClient(Number(address.split(":").at(-1)));
beforeAll(async () => {
  server = await startDroverServer();
  grpc = clientOf(server);
  database = new pg.Pool({ connectionString: server.connectionString, max: 1 });
});
afterAll(async () => {
  await database.end();
  grpc.close();
  await server.stop();
});
beforeEach(async () => {
  namespace = `team-${count++}`;
  await grpc.unary(operator.createNamespace, { name: namespace });
});

async function limit(limits: Limits): Promise<void> {
  const { code, message } = await grpc.unary(operator.setNamespaceLimits, { namespace, limits });
  if (code !== 0) throw new Error(message);
}
const step = (id: string, more: object = {}) => ({
  id,
  kind: { case: "task" as const, value: { name: id } },
  ...more,
});
const order = (...steps: object[]) => ({
  case: "definition" as const,
  value: { workflow: "order", steps: steps.length === 0 ? [step("a")] : steps },
});
const start = (more: object = {}, by = grpc) =>
  by.unary(scheduler.schedule, { namespace, target: order(), ...more });
const ref = (runId: string) => ({ ref: { case: "runId" as const, value: runId } });
async function rows(): Promise<unknown> {
  const tables = ["run", "run_page", "payload", "idempotency", "definition", "ready"];
  const counts = tables.map((table) => `(select count(*) from drover.${table}) as ${table}`);
  return (await database.query(`select ${counts.join(", ")}`)).rows;
}
const QUOTA = {
  code: 8,
  reason: "NAMESPACE_LIMIT",
  kinds: ["ErrorInfo", "RetryInfo", "QuotaFailure"],
};

test("open runs: the last that is allowed starts, the next stores nothing", async () => {
  await limit({ openRuns: 2 });
  expect((await start({ key: "k1" })).code).toBe(0);
  expect((await start()).code).toBe(0);
  const before = await rows();
  const refused = await start({ key: "k3" });
  expect(refused).toMatchObject({ ...QUOTA, retryMs: 5_000 });
  expect(refused.metadata).toEqual({ name: namespace, limit: "open_runs", most: "2", used: "2" });
  expect(await rows()).toEqual(before);
  expect((await start({ key: "k1" })).answer?.created).toBe(false);
  await limit({ openRuns: 3 });
  expect((await start({ key: "k3" })).answer?.created).toBe(true);
});

test("runs per second: the burst starts, the next is told when", async () => {
  await limit({ runsPerSecond: 0.01, burst: 2 });
  expect([(await start()).code, (await start()).code]).toEqual([0, 0]);
  const before = await rows();
  const refused = await start();
  expect(refused).toMatchObject({ ...QUOTA, metadata: { limit: "runs_per_second", most: "0.01" } });
  expect(refused.retryMs).toBeGreaterThan(90_000);
  expect(await rows()).toEqual(before);
});

const estimated = `with named as materialized (
     select id, $1::bigint as bytes, now() as at from drover.namespace where name = $2
   )
   insert into ${writtenSchema}.namespace_use select id, bytes, at from named
   on conflict (namespace_id) do update set storage_bytes = excluded.storage_bytes`;

test("storage: a run starts below the limit, and none at it", async () => {
  expect((await start()).code).toBe(0);
  await database.query(estimated, [999, namespace]);
  await limit({ storageBytes: 1_000n });
  expect((await start()).code).toBe(0);
  await database.query(estimated, [1_000, namespace]);
  await limit({ storageBytes: 1_000n, weight: 100 });
  const before = await rows();
  const refused = await start();
  expect(refused).toMatchObject({ ...QUOTA, retryMs: 60_000 });
  expect(refused.metadata).toMatchObject({ limit: "storage_bytes", most: "1000", used: "1000" });
  expect(await rows()).toEqual(before);
});

test("payload: one of just as many bytes is taken, one more is PAYLOAD_TOO_LARGE", async () => {
  await limit({ payloadBytes: 1_000 });
  const input = (bytes: number) => ({
    input: { body: { case: "json" as const, value: JSON.stringify("x".repeat(bytes - 2)) } },
  });
  expect((await start(input(1_000))).code).toBe(0);
  const before = await rows();
  const refused = await start(input(1_001));
  expect(refused).toMatchObject({ code: 3, reason: "PAYLOAD_TOO_LARGE" });
  expect(refused.metadata).toEqual({ size_bytes: "1001", limit_bytes: "1000" });
  expect(refused.message).toContain("keep it in object storage and send its address");
  expect(await rows()).toEqual(before);
});

test("calls per second: what moves a run, agents and operators are never refused", async () => {
  const waiting = order({ id: "paid", kind: { case: "signal", value: { name: "paid" } } });
  const other = ref((await start()).answer?.runId ?? "");
  const { answer } = await start({ target: waiting });
  const run = ref(answer?.runId ?? "");
  await limit({ callsPerSecond: 0.1, callsBurst: 2 });
  const read = () => grpc.unary(scheduler.getRun, { namespace, run });
  expect([(await read()).code, (await read()).code]).toEqual([0, 0]);
  const before = await rows();
  const refused = await start();
  expect(refused).toMatchObject({ ...QUOTA, metadata: { limit: "calls_per_second", most: "0.1" } });
  expect(refused.retryMs).toBeLessThanOrEqual(10_000);
  expect(await rows()).toEqual(before);
  const agent = { namespace, agent: AGENT };
  const poll = { ...agent, pollSeq: 1n, wait: durationFromMs(1) };
  const never = [
    await grpc.unary(agents.pollTask, { ...poll, queues: [{ name: "q", weight: 1 }] }),
    await grpc.unary(agents.heartbeat, agent),
    await grpc.unary(operator.getLimits, { namespace }),
    await grpc.unary(scheduler.getRun, { namespace: "default", run }),
    await grpc.unary(scheduler.signal, { namespace, run, name: "paid", signalId: "s" }),
    await grpc.unary(scheduler.cancelRun, { namespace, run: other }),
  ];
  expect(never.map(({ reason }) => reason)).toEqual(["", "", "", "RUN_NOT_FOUND", "", ""]);
});

test("a run that has started goes on with all quotas exhausted: tasks, child runs, undoing", async () => {
  const child = { id: "child", kind: { case: "run" as const, value: { workflow: "inner" } } };
  const registered = await grpc.unary(scheduler.registerWorkflow, {
    namespace,
    source: { case: "definition", value: { workflow: "inner", steps: [step("inside")] } },
  });
  expect(registered.code).toBe(0);
  const target = order(
    step("book", { compensate: { task: "cancel" } }),
    { ...child, needs: ["book"] },
    step("pay", { needs: ["child"] }),
  );
  const { answer } = await start({ target });
  await database.query(estimated, [10, namespace]);
  await limit({ openRuns: 1, runsPerSecond: 0.001, callsPerSecond: 0.1, storageBytes: 1n });
  expect(await start()).toMatchObject(QUOTA);
  const done: string[] = [];
  const agent = createAgent({
    address: server.address,
    namespace,
    id: "worker",
    log: silentLog,
    handlers: Object.fromEntries(
      ["book", "inside", "pay", "cancel"].map((task) => [
        task,
        async () => {
          done.push(task);
          if (task === "pay") throw new PermanentError("refused", "no money");
          return null;
        },
      ]),
    ),
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const query = "select state from drover.run_view where run_id = $1 and state = 'COMPENSATED'";
  await until("the run is undone", async () => {
    const found = await database.query(query, [answer?.runId]);
    return found.rows[0] ?? null;
  });
  expect(done).toEqual(["book", "inside", "pay", "cancel"]);
});

test("limits hold on a server that was not called, and on one that starts later", async () => {
  const other = await startDroverServer(server.connectionString);
  onTestFinished(() => other.stop());
  const beside = clientOf(other);
  onTestFinished(() => beside.close());
  await start();
  await limit({ openRuns: 1 });
  // Another server reads the limits within 5 s.
  let tries = 0;
  await until("the other server refuses", async () => {
    const { reason } = await start({ key: `k${tries++}` }, beside);
    return reason === "NAMESPACE_LIMIT" ? reason : null;
  });
  const later = await startDroverServer(server.connectionString);
  onTestFinished(() => later.stop());
  const restarted = clientOf(later);
  onTestFinished(() => restarted.close());
  expect(await start({}, restarted)).toMatchObject(QUOTA);
});

test("all limits are read with the values in effect and their use", async () => {
  await limit({ openRuns: 7, payloadBytes: 1_000, weight: 250 });
  await start();
  const read = await grpc.unary(operator.getLimits, { namespace });
  const found = new Map(read.answer?.limits.map((one) => [one.name, one]));
  expect(found.get("open-runs")).toMatchObject({ value: 7, used: 1, hardLimit: 10_000_000 });
  expect(found.get("payload-bytes")).toMatchObject({ value: 1_000, defaultValue: 262_144 });
  expect(found.get("weight")).toMatchObject({ value: 250, defaultValue: 100 });
  expect(found.get("steps")).toMatchObject({ value: 500, change: "" });
  expect(found.get("runs-per-second")?.value).toBeUndefined();
  expect(found.get("waiting-calls")).toMatchObject({ change: "drover server --waiting-calls" });
});

test("a bulk action has as many runs as it may, and is refused with one more", async () => {
  const runs = Array.from({ length: 500 }, () => ({ target: order() }));
  for (let batch = 0; batch < 20; batch++) {
    const made = await grpc.unary(scheduler.scheduleBatch, { namespace, runs });
    expect(made.code).toBe(0);
  }
  const bulk = (requestId: string, dryRun: boolean) =>
    grpc.unary(scheduler.bulkAction, {
      namespace,
      kind: BulkKind.PAUSE,
      requestId,
      dryRun,
      filter: { states: [RunState.RUNNING] },
    });
  expect(await bulk("b1", true)).toMatchObject({ code: 0 });
  await start();
  const before = await rows();
  const refused = await bulk("b2", false);
  expect(refused).toMatchObject({
    reason: "COUNT_MISMATCH",
    metadata: { expected: "10000", found: "10001 or more" },
  });
  expect(await rows()).toEqual(before);
});

const run = { ref: { case: "runId" as const, value: RUN_ID } };

test("a connection has as many calls in progress as it may, and one more waits", async () => {
  const world = await startWorld({ config: { streamsPerConnectionMax: 1 } });
  onTestFinished(() => world.close());
  const client = grpcClient(world.port);
  onTestFinished(() => client.close());
  const { promise, resolve } = signal();
  const { findRun } = world.reads;
  const inHand = signal();
  world.reads.findRun = async (...given) => {
    world.reads.findRun = findRun;
    inHand.resolve();
    await promise;
    return findRun(...given);
  };
  const first = client.unary(scheduler.getRun, { run });
  await inHand.promise;
  let isAnswered = false;
  const second = client.unary(scheduler.getRun, { run }).then((answer) => {
    isAnswered = true;
    return answer;
  });
  const beside = grpcClient(world.port);
  onTestFinished(() => beside.close());
  expect((await beside.unary(scheduler.getRun, { run })).code).toBe(0);
  expect(isAnswered).toBe(false);
  resolve();
  expect([(await first).code, (await second).code]).toEqual([0, 0]);
});

test("a server has as many connections as it may, and one more is closed", async () => {
  const world = await startWorld({ config: { connectionsMax: 1 } });
  onTestFinished(() => world.close());
  const client = grpcClient(world.port);
  expect((await client.unary(scheduler.getRun, { run })).code).toBe(0);
  const second = connect(world.port, "127.0.0.1");
  await new Promise<void>((closed) => second.once("close", () => closed()));
  expect((await client.unary(scheduler.getRun, { run })).code).toBe(0);
  client.close();
});
