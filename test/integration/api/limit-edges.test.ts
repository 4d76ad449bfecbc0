// Each limit of the list (server/api/operator/limit-list.ts), on a real server: what is at the
// limit is taken, and one more is refused with its field and the limit, and nothing of it is
// stored. A limit without a row here does not compile.
import { readFileSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass } from "@drover/proto/drover/v1/task_pb.ts";
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import {
  DeadlineAnswer,
  type WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Status } from "@drover/proto/google/rpc/status_pb.ts";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  hardLimit,
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
} from "../../../server/api/operator/limit-list.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { type GrpcClient, grpcClient, readStatus } from "./rpc-clients.ts";
import { AGENT } from "./rpc-world.ts";

const scheduler = SchedulerService.method;
const operator = OperatorService.method;
const agents = AgentService.method;

interface Answer {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly fields: readonly (readonly [string, string])[];
}

type Case =
  /** A request of this size. `most`: what a valid request can have, if less than the limit. */
  | {
      readonly kind: "sent";
      readonly send: (size: number) => Promise<Answer>;
      readonly most?: number;
    }
  /** Not a matter of one request: a test of its own. */
  | { readonly kind: "elsewhere"; readonly file: string; readonly title: string };

/** Its limits and its retention change, so nothing else is in it. */
const LIMITED = "limited";

let server: TestServer;
let grpc: GrpcClient;
let database: pg.Pool;
let ended: string;
let waiting: string;
beforeAll(async () => {
  server = await startDroverServer();
  grpc = grpcClient(Number(server.address.split(":").at(-1)));
  database = new pg.Pool({ connectionString: server.connectionString, max: 1 });
  await grpc.unary(operator.createNamespace, { name: LIMITED });
  ended = await start({ when: "false" });
  waiting = await start({ kind: { case: "signal", value: { name: "paid" } } });
});
afterAll(async () => {
  await database.end();
  grpc.close();
  await server.stop();
});

/** What a refused call must not add to. */
const TABLES = [
  ...["workflow", "workflow_version", "definition", "run", "run_page", "payload", "idempotency"],
  ...["signal", "schedule", "hook", "api_token", "queue", "handler_log", "audit_entry", "permit"],
];
async function rows(): Promise<unknown> {
  const counts = TABLES.map((table) => `(select count(*) from drover.${table}) as ${table}`);
  return (await database.query(`select ${counts.join(", ")}`)).rows;
}

let count = 0;
const fresh = () => `w${count++}`;
type Definition = MessageInitShape<typeof WorkflowDefinitionSchema>;
type Step = NonNullable<Definition["steps"]>[number];
const task = (id: string, more: object = {}): Step => ({
  id,
  kind: { case: "task", value: { name: "book" } },
  ...more,
});
const times = <T>(many: number, make: (index: number) => T): T[] =>
  Array.from({ length: many }, (_, index) => make(index));
const letters = (many: number) => "x".repeat(many);
const of = (definition: Definition) =>
  grpc.unary(scheduler.registerWorkflow, {
    source: { case: "definition", value: { workflow: fresh(), steps: [task("a")], ...definition } },
  });
const step = (more: object) => of({ steps: [task("a", more)] });
const target = () => ({
  case: "definition" as const,
  value: { workflow: fresh(), steps: [task("a")] },
});
const schedule = (more: object) => grpc.unary(scheduler.schedule, { target: target(), ...more });
async function start(more: object = {}): Promise<string> {
  const definition = { workflow: fresh(), steps: [task("a", more)] };
  const made = await grpc.unary(scheduler.schedule, {
    target: { case: "definition", value: definition },
  });
  if (!made.answer) throw new Error(made.message);
  return made.answer.runId;
}
const ref = (runId: string) => ({ ref: { case: "runId" as const, value: runId } });
const inQueue = (name: string) => ({ queues: [{ name, weight: 1 }] });
const poll = (more: object) =>
  grpc.unary(agents.pollTask, {
    agent: AGENT,
    pollSeq: BigInt(++count),
    wait: durationFromMs(1),
    ...inQueue("nothing"),
    ...more,
  });
/** The answer of the first item, if the call itself was taken. */
function ofItem(answer: Answer, status: Status | undefined): Answer {
  return answer.code === 0 && status ? readStatus(status) : answer;
}
async function complete(results: object[]): Promise<Answer> {
  const done = await grpc.unary(agents.complete, { agent: AGENT, results });
  return ofItem(done, done.answer?.answers[0]?.status);
}
const success = { kind: { case: "success" as const, value: {} } };
const failure = (message: string) => ({
  kind: {
    case: "failed" as const,
    value: { code: "no", message, failureClass: FailureClass.PERMANENT },
  },
});
const heartbeat = (reports: object[]) => grpc.unary(agents.heartbeat, { agent: AGENT, reports });
const logText = { time: timestampFromMs(1), message: "m" };
async function appendLogs(logs: object[]): Promise<Answer> {
  const done = await grpc.unary(agents.appendLogs, { agent: AGENT, logs });
  return ofItem(done, done.answer?.answers[0]?.status);
}
const spec = (more: object) =>
  grpc.unary(scheduler.createSchedule, { name: fresh(), spec: { workflow: "w", ...more } });
const every = (ms: number) => ({
  calendar: { case: "interval" as const, value: { every: durationFromMs(ms) } },
});
const textOf = (bytes: number) => {
  const text = `workflow: ${fresh()}\nsteps:\n  - id: a\n    task: b\n#`;
  return text + letters(bytes - text.length);
};
const token = (more: object) =>
  grpc.unary(operator.createToken, { name: fresh(), role: Role.AGENT, by: "ada", ...more });

const sent = (send: (size: number) => Promise<Answer>, most?: number): Case => ({
  kind: "sent",
  send,
  ...(most === undefined ? {} : { most }),
});
const elsewhere = (file: string, title: string): Case => ({ kind: "elsewhere", file, title });
const QUOTAS = "test/integration/api/namespace-limits.test.ts";
const limit = (name: string): ((size: number) => Promise<Answer>) => {
  const others = name.startsWith("calls") ? { callsPerSecond: 100_000 } : { runsPerSecond: 1 };
  return (size) =>
    grpc.unary(operator.setNamespaceLimits, {
      namespace: LIMITED,
      limits: { ...others, [name]: name === "storageBytes" ? BigInt(size) : size },
    });
};

const OF_NAMESPACE = {
  "open-runs": sent(limit("openRuns")),
  "runs-per-second": sent(limit("runsPerSecond")),
  "runs-burst": sent(limit("burst")),
  "calls-per-second": sent(limit("callsPerSecond")),
  "calls-burst": sent(limit("callsBurst")),
  "storage-bytes": sent(limit("storageBytes")),
  "payload-bytes": sent(limit("payloadBytes")),
  weight: sent(limit("weight")),
};
const OF_SERVER = {
  "message-bytes": elsewhere(
    "test/integration/api/limits.test.ts",
    "a message over 4 MiB is RESOURCE_EXHAUSTED",
  ),
  "deadline-ms": elsewhere(
    "test/integration/api/limits.test.ts",
    "a deadline that is absurdly far away is DEADLINE_TOO_LONG",
  ),
  calls: elsewhere("test/integration/api/limits.test.ts", "more calls than the server holds"),
  streams: elsewhere(
    QUOTAS,
    "a connection has as many calls in progress as it may, and one more waits",
  ),
  connections: elsewhere(
    QUOTAS,
    "a server has as many connections as it may, and one more is closed",
  ),
  "waiting-calls": elsewhere("test/integration/api/limits.test.ts", "on a server"),
  "waiting-calls-per-address": elsewhere("test/integration/api/limits.test.ts", "from an address"),
  "waiting-calls-per-namespace": elsewhere("test/integration/api/limits.test.ts", "in a namespace"),
};
// biome-ignore lint/suspicious/noThenProperty: the contract calls it so.
const SKIPPED = { then: DeadlineAnswer.SKIP };
const OF_DEFINITION = {
  steps: sent((many) => of({ steps: times(many, (index) => task(`s${index}`)) })),
  // A definition has at most 500 steps, so a step can need 499.
  needs: sent((many) => {
    const names = times(many, (index) => `s${index}`);
    return of({
      steps: [...names.slice(0, 499).map((id) => task(id)), task("last", { needs: names })],
    });
  }, 499),
  "definition-text-bytes": sent((bytes) =>
    grpc.unary(scheduler.registerWorkflow, { source: { case: "text", value: textOf(bytes) } }),
  ),
  "expression-characters": sent((many) => step({ when: `true${" ".repeat(many - 4)}` })),
  "map-items": elsewhere(
    "test/unit/workflow-map.test.ts",
    "it has 10001 items, and a map has 10000 at most",
  ),
  "child-depth": elsewhere(
    "test/integration/control-plane/child-runs.test.ts",
    "of a workflow that runs itself without an end fails 16 runs deep",
  ),
  "retry-policies": sent((many) => step({ retry: times(many, () => ({ attempts: 2 })) })),
  "retry-attempts": sent((attempts) => step({ retry: [{ attempts }] })),
  "retry-delay-ms": sent((ms) => step({ retry: [{ attempts: 2, max: durationFromMs(ms) }] })),
  "timeout-ms": sent((ms) =>
    of({
      timeout: durationFromMs(hardLimit(LIMITS["run-timeout-ms"].source)),
      steps: [task("a", { timeouts: { attempt: durationFromMs(ms) } })],
    }),
  ),
  "run-timeout-ms": sent((ms) => of({ timeout: durationFromMs(ms) })),
  fallbacks: sent((many) => step({ fallback: times(many, (index) => ({ task: `f${index}` })) })),
  approvers: sent((many) => {
    const approvers = times(many, (index) => `role${index}`);
    return of({ steps: [{ id: "a", kind: { case: "approval", value: { approvers } } }] });
  }),
  "escalation-deadline-ms": sent((ms) =>
    step({ escalation: { deadline: durationFromMs(ms), ...SKIPPED } }),
  ),
};
const OF_CALLS = {
  "name-characters": sent((many) => of({ workflow: fresh().padEnd(many, "x") })),
  "key-characters": sent((many) => schedule({ key: fresh().padEnd(many, "x") })),
  "signal-id-characters": sent((many) =>
    grpc.unary(scheduler.signal, { run: ref(waiting), name: "paid", signalId: letters(many) }),
  ),
  labels: sent((many) =>
    schedule({ labels: Object.fromEntries(times(many, (index) => [`k${index}`, "v"])) }),
  ),
  "batch-runs": sent((many) =>
    grpc.unary(scheduler.scheduleBatch, { runs: times(many, () => ({ target: target() })) }),
  ),
  "bulk-runs": elsewhere(
    QUOTAS,
    "a bulk action has as many runs as it may, and is refused with one more",
  ),
  "concurrency-limit": sent((most) => schedule({ concurrency: { key: fresh(), limit: most } })),
  signals: elsewhere(
    "test/integration/api/run-commands.test.ts",
    "beyond what a run stores is SIGNAL_LIMIT, which no repeat helps",
  ),
  "page-size": sent((pageSize) => grpc.unary(scheduler.listRuns, { pageSize })),
  "page-token-characters": sent((many) =>
    grpc.unary(scheduler.listRuns, { pageToken: letters(many) }),
  ),
  "log-page-size": sent((pageSize) =>
    grpc.unary(scheduler.listLogs, { run: ref(ended), pageSize }),
  ),
  "query-characters": sent((many) =>
    grpc.unary(scheduler.listRuns, { filter: { query: "state:failed".padEnd(many, " ") } }),
  ),
  "reason-characters": sent((many) =>
    grpc.unary(scheduler.cancelRun, { run: ref(waiting), reason: letters(many) }),
  ),
  "wait-ms": sent((ms) =>
    grpc.unary(scheduler.waitRun, { run: ref(ended), wait: durationFromMs(ms) }),
  ),
  "json-depth": elsewhere(
    "test/unit/json-depth.test.ts",
    "what is nested as deep as allowed passes, and one more does not",
  ),
  "trigger-depth": elsewhere(
    "test/integration/triggers/run-end.test.ts",
    "workflows that set each other off without an end stop at a depth, with a message",
  ),
  "schedule-interval-ms": sent((ms) => spec(every(ms))),
  "schedule-catch-up-ms": sent((ms) => spec({ ...every(60_000), catchUp: durationFromMs(ms) })),
  "hook-url-characters": sent((many) =>
    grpc.unary(operator.putHook, {
      name: fresh(),
      url: "https://hooks.example/".padEnd(many, "x"),
      events: ["run-ended"],
      secret: letters(32),
    }),
  ),
  "token-queues": sent((many) => token({ queues: times(many, (index) => `q${index}`) })),
  "token-valid-ms": sent((ms) => token({ validFor: durationFromMs(ms) })),
  "queue-leased": sent((leased) =>
    grpc.unary(operator.setQueueLimits, { queue: fresh(), limits: { leased } }),
  ),
  "retention-ms": sent((ms) =>
    grpc.unary(operator.setNamespaceRetention, {
      namespace: LIMITED,
      retention: durationFromMs(ms),
    }),
  ),
};
const OF_AGENTS = {
  "poll-tasks": sent((maxTasks) => poll({ maxTasks })),
  "poll-queues": sent((many) =>
    poll({ queues: times(many, (index) => ({ name: `q${index}`, weight: 1 })) }),
  ),
  "poll-task-names": sent((many) => poll({ tasks: times(many, (index) => `t${index}`) })),
  // Answered a second before the deadline of its caller.
  "poll-wait-ms": sent((ms) => {
    const request = { agent: AGENT, pollSeq: BigInt(++count), ...inQueue("nothing") };
    return grpc.unary(
      agents.pollTask,
      { ...request, wait: durationFromMs(ms) },
      { deadline: Date.now() + 3_000 },
    );
  }),
  "lost-polls": sent((many) => poll({ lostPolls: times(many, (index) => BigInt(index + 1)) })),
  "heartbeat-reports": sent((many) => heartbeat(times(many, () => ({ taskToken: "t" })))),
  "complete-results": sent((many) =>
    complete(times(many, () => ({ taskToken: "t", outcome: success }))),
  ),
  "failure-message-characters": sent((many) =>
    complete([{ taskToken: "t", outcome: failure(letters(many)) }]),
  ),
  "append-logs": sent((many) =>
    appendLogs(times(many, () => ({ taskToken: "t", firstLine: 1, lines: [logText] }))),
  ),
  "log-lines": sent((many) =>
    appendLogs([{ taskToken: "t", firstLine: 1, lines: times(many, () => logText) }]),
  ),
  "log-line-bytes": elsewhere(
    "test/integration/sdk/task-logs.test.ts",
    "a line of 8 KiB is stored whole, and of one with a byte more the end is cut",
  ),
  "log-bytes": elsewhere(
    "test/integration/sdk/task-logs.test.ts",
    "an attempt has 64 KiB: a line that fills it is stored, one byte more is cut",
  ),
};
const CASES: Readonly<Record<LimitName, Case>> = {
  ...OF_NAMESPACE,
  ...OF_SERVER,
  ...OF_DEFINITION,
  ...OF_CALLS,
  ...OF_AGENTS,
};

const INVALID = ["INVALID_REQUEST", "INVALID_DEFINITION"];

test.each(LIMIT_NAMES)("%s: at the limit it is taken, one more is refused", async (name) => {
  const one = CASES[name];
  if (one.kind === "elsewhere") {
    expect(readFileSync(one.file, "utf8")).toContain(one.title);
    return;
  }
  const { source } = LIMITS[name];
  const most = hardLimit(source);
  const taken = await one.send(one.most ?? most);
  expect(INVALID, taken.message).not.toContain(taken.reason);
  const before = await rows();
  const refused = await one.send(most + 1);
  expect(INVALID, `${name} ${refused.message}`).toContain(refused.reason);
  expect(await rows()).toEqual(before);
  const [, why] = refused.fields.find(([path]) => path.endsWith(fieldOf(name))) ?? [];
  expect(why?.replaceAll(",", ""), name).toContain(limitIn(name, most));
});

/** As a refusal writes it: durations are in seconds. */
function limitIn(name: LimitName, most: number): string {
  return LIMITS[name].unit === "ms" ? `${most / 1_000}s` : String(most);
}

/** The field that a refusal names. */
function fieldOf(name: LimitName): string {
  const { source } = LIMITS[name];
  if (source.kind === "contract") return source.field;
  if (source.kind !== "namespace") throw new Error(`${name} has no field`);
  return source.limit.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
