/** What a handler logs is stored with its attempt, up to the limits, and not where that is off. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import {
  type ListLogsRequest,
  ListLogsRequestSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { LogLevel, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { openChannel } from "../../../sdk/typescript/channel.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import type { Handler } from "../../../sdk/typescript/handler.ts";
import type { StepSpec } from "../../../sdk/typescript/workflow.ts";
import { LOG_BYTES_MAX } from "../../../server/core/log-lines.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { runSchemas } from "../../support/test-shards.ts";

const TIMEOUT = { timeoutMs: 5_000 };
const SESSION = new Uint8Array(16).fill(7);
const AGENT = { id: "by-hand", session: SESSION };

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(() => server.stop());

let queues = 0;

/** A client, and what is needed to perform tasks of a queue of its own. */
function given(of: Pick<TestServer, "address"> = server, namespace = "default") {
  const { address } = of;
  const queue = `logs-${++queues}`;
  const client = createClient({ address, namespace });
  const channel = openChannel({ address });
  onTestFinished(() => {
    client.close();
    channel.close();
  });
  const start = async (...steps: StepSpec[]) => {
    const own = steps.map((step) => ("task" in step ? { ...step, queue } : step));
    return (await client.schedule({ workflow: { workflow: "w", steps: own } })).runId;
  };
  const list = (runId: string, over: Partial<ListLogsRequest> = {}) => {
    const run = { ref: { case: "runId", value: runId } } as const;
    const request = { ...create(ListLogsRequestSchema, { namespace, run }), ...over };
    return channel.unary(SchedulerService.method.listLogs, request, TIMEOUT);
  };
  /** Whether lines of its first step are stored, and what decides it. */
  const logs = async (runId: string) => {
    const { settings } = await client.getRun(runId, { settings: true });
    const { value, source } = settings.find(({ field }) => field === "logs") ?? {};
    return { value, source };
  };
  const messages = async (runId: string, over: Partial<ListLogsRequest> = {}) =>
    (await list(runId, over)).lines.map(({ message }) => message);
  return { client, channel, queue, start, list, logs, messages, namespace };
}

type Given = ReturnType<typeof given>;

/** An agent on that queue. */
function work(
  { queue, namespace }: Given,
  handlers: Readonly<Record<string, Handler>>,
  address = server.address,
) {
  const common = { queues: [queue], handlers, log: silentLog };
  const agent = createAgent({ address, namespace, id: queue, ...common });
  agent.start();
  onTestFinished(() => agent.stop());
  return agent;
}

/** Takes one task by hand: its log is what a test sends. */
async function take({ channel, queue, namespace }: Given) {
  const request = { namespace, agent: AGENT, pollSeq: BigInt(++queues), queues: [{ name: queue }] };
  const { tasks } = await channel.unary(AgentService.method.pollTask, request, {
    timeoutMs: 20_000,
  });
  const [task] = tasks;
  if (!task) throw new Error("no task came");
  const append = async (firstLine: number, ...texts: string[]) => {
    const lines = texts.map((message) => ({ time: timestampFromMs(1_000), message }));
    const logs = [{ taskToken: task.taskToken, firstLine, lines }];
    const call = { namespace, agent: AGENT, logs };
    const { answers } = await channel.unary(AgentService.method.appendLogs, call, TIMEOUT);
    return answers[0];
  };
  const complete = () =>
    channel.unary(
      AgentService.method.complete,
      {
        namespace,
        agent: AGENT,
        results: [
          {
            taskToken: task.taskToken,
            outcome: { kind: { case: "success", value: {} } },
          },
        ],
      },
      TIMEOUT,
    );
  return { task, append, complete };
}

const stored = { status: { code: 0 }, full: false };

test("lines arrive with their attempt, level, time and fields, of a handler that ended at once", async () => {
  const world = given();
  work(world, {
    charge: (task, { log }) => {
      if (task.attempt === 1) {
        log.warn({ card: 42, err: new Error("declined") }, "the card was declined");
        throw new Error("again");
      }
      log.info({}, "charged");
    },
  });
  const before = Date.now();
  const retry = { initial: "1ms", jitter: 0 };
  const runId = await world.start({ id: "pay", task: "charge", retry });
  await world.client.waitRun(runId);
  await expect.poll(() => world.messages(runId), { timeout: 10_000 }).toHaveLength(3);
  const { lines, runEnded, nextPageToken } = await world.list(runId);
  expect({ runEnded, nextPageToken }).toEqual({ runEnded: true, nextPageToken: "" });
  expect(lines).toMatchObject([
    {
      stepId: "pay",
      attempt: { kind: TaskKind.PERFORM, fence: 1, n: 0 },
      attemptNumber: 1,
      line: 1,
      level: LogLevel.WARN,
      message: "the card was declined",
      fields: { card: "42", err: "Error: declined" },
    },
    {
      line: 2,
      level: LogLevel.ERROR,
      message: "handler threw an error that it did not name",
      fields: { task: "charge", err: "Error: again" },
    },
    { attemptNumber: 2, line: 1, level: LogLevel.INFO, message: "charged", fields: {} },
  ]);
  const at = Number(lines[0]?.time?.seconds) * 1_000;
  expect(at).toBeGreaterThan(before - 2_000);
  const second = lines[2]?.attempt;
  expect(
    await world.messages(runId, { stepId: "pay", ...(second && { attempt: second }) }),
  ).toEqual(["charged"]);
  expect(await world.messages(runId, { stepId: "pay" })).toHaveLength(3);
});

test("a line is stored once however often it is sent, and a call may continue where another ended", async () => {
  const world = given();
  const runId = await world.start({ id: "pay", task: "charge" });
  const { append } = await take(world);
  expect(await append(1, "one", "two")).toMatchObject(stored);
  expect(await append(1, "one", "two")).toMatchObject(stored);
  expect(await append(2, "two", "three")).toMatchObject(stored);
  expect(await world.messages(runId)).toEqual(["one", "two", "three"]);
});

test("an attempt has 64 KiB: a line that fills it is stored, one byte more is cut, and the log says so", async () => {
  const world = given();
  const runId = await world.start({ id: "pay", task: "charge" });
  const { append } = await take(world);
  const seven = Array.from({ length: 7 }, () => "x".repeat(8_192 - 32));
  expect(await append(1, ...seven)).toMatchObject(stored);
  expect(await append(8, "x".repeat(8_192 - 32))).toMatchObject(stored);
  expect(await append(9, "", "never")).toMatchObject({ status: { code: 0 }, full: true });
  expect(await append(11, "neither")).toMatchObject({ full: true });
  const messages = await world.messages(runId);
  expect(messages).toHaveLength(9);
  expect(messages.at(-1)).toContain("Drover cut the log here");
  const db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
  onTestFinished(() => db.end());
  const { rows } = await db.query(
    "select stored_bytes from drover.handler_log where run_id = $1 and line = 8",
    [runId],
  );
  expect(rows).toEqual([{ stored_bytes: LOG_BYTES_MAX }]);
});

test("a line of 8 KiB is stored whole, and of one with a byte more the end is cut", async () => {
  const world = given();
  const runId = await world.start({ id: "pay", task: "charge" });
  const { append } = await take(world);
  await append(1, "ä".repeat(4_096), "ä".repeat(4_096).concat("b"));
  const [whole = "", cut = ""] = await world.messages(runId);
  expect(whole).toBe("ä".repeat(4_096));
  expect(cut).toMatch(/^ä+ … \[Drover cut this line: a line may have 8 KiB\]$/);
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(8_192);
});

test("lines are taken until 30 s after the end of their task, and refused after that", async () => {
  const world = given();
  const runId = await world.start({ id: "pay", task: "charge" });
  const { append, complete } = await take(world);
  await complete();
  await world.client.waitRun(runId);
  expect(await append(1, "the last line")).toMatchObject(stored);
  const db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
  onTestFinished(() => db.end());
  // As if the attempt had ended half a minute earlier.
  const changed = await Promise.all(
    runSchemas.map((schema) =>
      db.query(
        `update ${schema}.run_page set state = regexp_replace(state, '{"e":\\d+', '{"e":-40000'),
           version = version + 1
         where run_id = $1`,
        [runId],
      ),
    ),
  );
  expect(changed.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)).toBe(1);
  const late = await append(2, "too late");
  expect(late?.status?.message).toContain("lines are taken for 30 s after the end");
  expect(await world.messages(runId)).toEqual(["the last line"]);
});

test("a token that no task has is refused, and the lines of other tasks are stored", async () => {
  const world = given();
  const runId = await world.start({ id: "pay", task: "charge" });
  const { task } = await take(world);
  const lines = [{ time: timestampFromMs(1_000), message: "good" }];
  const logs = [
    { taskToken: "nonsense", firstLine: 1, lines },
    { taskToken: task.taskToken, firstLine: 1, lines },
    { taskToken: task.taskToken, firstLine: 0, lines },
  ];
  const { answers } = await world.channel.unary(
    AgentService.method.appendLogs,
    { agent: AGENT, logs },
    TIMEOUT,
  );
  expect(answers.map(({ status }) => status?.code === 0)).toEqual([false, true, false]);
  expect(await world.messages(runId)).toEqual(["good"]);
});

test("nothing of a step with `logs: off` leaves the agent, and what is sent all the same is refused", async () => {
  const world = given();
  const runId = await world.start(
    { id: "pay", task: "charge", logs: "off" },
    { id: "mail", task: "charge" },
  );
  const seen: string[] = [];
  work(world, {
    charge: ({ stepId }, { log }) => {
      seen.push(stepId);
      log.info({}, stepId);
    },
  });
  await world.client.waitRun(runId);
  await expect.poll(() => world.messages(runId), { timeout: 10_000 }).toEqual(["mail"]);
  expect(await world.logs(runId)).toEqual({ value: "off", source: "DEFINITION" });
  expect(seen.sort()).toEqual(["mail", "pay"]);
  const usual = await world.start({ id: "mail", task: "charge" });
  expect(await world.logs(usual)).toEqual({ value: "on", source: "DEFAULT" });
  const other = given();
  await other.start({ id: "pay", task: "charge", logs: "off" });
  const { task, append } = await take(other);
  expect(task.storeLogs).toBe(false);
  expect((await append(1, "secret"))?.status?.message).toContain('for the step "pay"');
});

test("a namespace may store none, whatever its limits are set to", async () => {
  const world = given();
  const { namespaces } = world.client;
  expect(await namespaces.setLogs(false)).toMatchObject({ storesLogs: false, limits: {} });
  onTestFinished(async () => void (await namespaces.setLogs(true)));
  const limits = { openRuns: 1_000 };
  expect(await namespaces.setLimits(limits)).toMatchObject({ storesLogs: false, limits });
  expect(await namespaces.setLimits({})).toMatchObject({ storesLogs: false, limits: {} });
  const runId = await world.start({ id: "pay", task: "charge" });
  expect(await world.logs(runId)).toEqual({ value: "off", source: "NAMESPACE" });
  const { task, append } = await take(world);
  expect(task.storeLogs).toBe(false);
  expect((await append(1, "secret"))?.status?.message).toContain('for the namespace "default"');
});

test("a server may store none", async () => {
  const off = await startDroverServer(undefined, { settings: { logRetentionMs: 0 } });
  onTestFinished(() => off.stop());
  const world = given(off);
  const runId = await world.start({ id: "pay", task: "charge" });
  const { task, append } = await take(world);
  expect(task.storeLogs).toBe(false);
  expect((await append(1, "a line"))?.status?.message).toContain("for tasks of this server");
  expect(await world.logs(runId)).toEqual({ value: "off", source: "SERVER" });
  expect(await world.messages(runId)).toEqual([]);
});

test("pages follow each other, and the last token waits for what comes later", async () => {
  const world = given();
  const runId = await world.start({ id: "pay", task: "charge" });
  const { append } = await take(world);
  await append(1, "one", "two", "three");
  const first = await world.list(runId, { pageSize: 2 });
  const second = await world.list(runId, { pageSize: 2, pageToken: first.nextPageToken });
  expect([first, second].map(({ lines }) => lines.map(({ message }) => message))).toEqual([
    ["one", "two"],
    ["three"],
  ]);
  expect(second).toMatchObject({ nextPageToken: "", runEnded: false });
  await append(4, "four");
  expect(await world.messages(runId, { pageToken: second.tailToken })).toEqual(["four"]);
  await expect(world.list(runId, { stepId: "pay", pageToken: first.tailToken })).rejects.toThrow(
    "page_token",
  );
  await expect(world.list(runId, { stepId: "none" })).rejects.toThrow('The run has no step "none"');
});

test("the lines of an item are found by its index", async () => {
  const world = given();
  work(world, { clean: (task, { log }) => log.info({}, `room ${task.item}`) });
  const map = { over: "3", task: "clean", queue: world.queue };
  const runId = await world.start({ id: "rooms", map });
  await world.client.waitRun(runId);
  await expect.poll(() => world.messages(runId), { timeout: 10_000 }).toHaveLength(3);
  expect(await world.messages(runId, { stepId: "rooms" })).toHaveLength(3);
  const { lines } = await world.list(runId, { stepId: "rooms", item: 1 });
  expect(lines).toMatchObject([{ stepId: "rooms[1]", message: "room 1" }]);
});
