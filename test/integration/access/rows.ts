// Who may call what: a row for each RPC and each HTTP route. The test compares it with the contract
// and with a real server. It states the roles once more, so that a change of the server's own
// table (server/api/auth/roles.ts) is seen here.
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Health } from "@drover/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "@drover/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "@drover/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Planted } from "./world.ts";

/** `*`: its token is for every namespace; such a token has one of these roles alone. */
export const CALLERS = [
  "none",
  "viewer",
  "client",
  "agent",
  "operator",
  "admin",
  "viewer*",
  "operator*",
  "admin*",
] as const;
export type Caller = (typeof CALLERS)[number];
/** What the call names: the caller's own namespace, another one, or none (so `default`). */
export const NAMED = ["own", "other", "none"] as const;
type Named = (typeof NAMED)[number];

/**
 * A group for each of CALLERS, with a character for each of NAMED. `+`: the call is allowed. `-`:
 * it is refused, UNAUTHENTICATED without a token, else PERMISSION_DENIED.
 */
type Cells = string;

//                 none view clie agen oper admi vie* ope* adm*
const READ: Cells = "--- +-- +-- --- +-- +-- +++ +++ +++";
const VIEW: Cells = "--- +-- --- --- +-- +-- +++ +++ +++";
const START: Cells = "--- --- +-- --- +-- +-- --- +++ +++";
const OPERATE: Cells = "--- --- --- --- +-- +-- --- +++ +++";
const GOVERN: Cells = "--- --- --- --- --- +-- --- --- +++";
const WORK: Cells = "--- --- --- +-- --- +-- --- --- +++";
const CALL_BACK: Cells = "--- --- +-- +-- +-- +-- --- +++ +++";
// These name no namespace. What the next two answer depends on the token.
const ANY_ROLE: Cells = "--- +++ +++ +++ +++ +++ +++ +++ +++";
const NO_AGENT: Cells = "--- +++ +++ --- +++ +++ +++ +++ +++";
const ANY_ADMIN: Cells = "--- --- --- --- --- +++ --- --- +++";
const WATCH_ALL: Cells = "--- --- --- --- --- --- +++ +++ +++";
const GOVERN_ALL: Cells = "--- --- --- --- --- --- --- --- +++";
export const PUBLIC: Cells = "+++ +++ +++ +++ +++ +++ +++ +++ +++";

export function isAllowed(cells: Cells, caller: Caller, named: Named): boolean {
  const cell = cells.split(" ")[CALLERS.indexOf(caller)]?.[NAMED.indexOf(named)];
  if (cell !== "+" && cell !== "-") throw new Error(`${caller}, ${named}: an empty cell`);
  return cell === "+";
}

interface Row {
  readonly cells: Cells;
  /** The request, without its namespace, about these objects. */
  readonly request: (of: Planted) => object;
}

const row = (cells: Cells, request: (of: Planted) => object = () => ({})): Row => ({
  cells,
  request,
});

const SCHEDULER: Readonly<Record<keyof typeof SchedulerService.method, Row>> = {
  registerWorkflow: row(START, ({ workflow }) => ({
    text: `workflow: ${workflow}\nsteps:\n  - id: a\n    wait: { for: 1h }\n`,
  })),
  setDefaultVersion: row(OPERATE, ({ workflow: name }) => ({ name, version: 1 })),
  getWorkflow: row(READ, ({ workflow: name }) => ({
    name,
    includeVersions: true,
    includeDurations: true,
    includeStatistics: true,
    includeText: true,
  })),
  listWorkflows: row(READ, () => ({ includeVersions: true, includeStatistics: true })),
  schedule: row(START, ({ workflow: name, key }) => ({ workflow: { name }, key })),
  scheduleBatch: row(START, ({ workflow: name, key }) => ({
    runs: [{ workflow: { name }, key: `${key}-2`, notify: { hook: "unknown" } }],
  })),
  getRun: row(READ, (of) => ({
    run: of.run,
    includeAttempts: true,
    includeInterventions: true,
    includeEscalations: true,
    includeSignals: true,
    includeDecisions: true,
    includeSettings: true,
    includeDefinition: true,
  })),
  getStepInput: row(READ, ({ run }) => ({ run, stepId: "work" })),
  listItems: row(READ, ({ run }) => ({ run, stepId: "work" })),
  listLogs: row(READ, ({ run }) => ({ run })),
  listRuns: row(READ, ({ run: { runId } }) => ({ filter: { parentRunId: runId } })),
  watchRun: row(READ, ({ run }) => ({ run })),
  waitRun: row(READ, ({ run }) => ({ run, wait: "0s" })),
  explainRun: row(READ, ({ run }) => ({ run })),
  cancelRun: row(START, ({ run }) => ({ run })),
  pauseRun: row(OPERATE, ({ run }) => ({ run })),
  resumeRun: row(OPERATE, ({ run }) => ({ run })),
  retryRun: row(OPERATE, ({ run, key }) => ({ run, requestId: key })),
  rerunFrom: row(OPERATE, ({ run, key }) => ({ run, requestId: key })),
  bulkAction: row(OPERATE, ({ workflow, key }) => ({
    filter: { workflow },
    kind: "BULK_KIND_CANCEL",
    requestId: key,
  })),
  signal: row(START, ({ run }) => ({ run, name: "paid", signalId: "1" })),
  decide: row(OPERATE, ({ approval: run }) => ({
    run,
    stepId: "release",
    approver: "ada",
    decision: "DECISION_KIND_APPROVE",
  })),
  completeDeferred: row(CALL_BACK, ({ callbackToken }) => ({ callbackToken, success: {} })),
  createSchedule: row(START, ({ schedule: name, workflow }) => ({
    name: `${name}-2`,
    spec: { workflow, cron: { expression: "30 2 * * *" } },
  })),
  getSchedule: row(READ, ({ schedule: name }) => ({ name })),
  listSchedules: row(READ, ({ workflow }) => ({ workflow })),
  updateSchedule: row(START, ({ schedule: name, workflow }) => ({
    name,
    spec: { workflow, cron: { expression: "31 2 * * *" } },
  })),
  pauseSchedule: row(OPERATE, ({ schedule: name }) => ({ name, reason: "because" })),
  resumeSchedule: row(OPERATE, ({ schedule: name }) => ({ name })),
  deleteSchedule: row(OPERATE, ({ schedule: name }) => ({ name })),
  backfillSchedule: row(OPERATE, ({ schedule: name }) => ({
    name,
    startTime: "2020-01-01T00:00:00Z",
    endTime: "2020-01-03T00:00:00Z",
  })),
  triggerSchedule: row(OPERATE, ({ schedule: name }) => ({ name, requestId: "1" })),
};

const asked = ({ asked: run }: Planted) => ({ run, escalationId: "1", by: "ada" });

const OPERATOR: Readonly<Record<keyof typeof OperatorService.method, Row>> = {
  listEscalations: row(VIEW, () => ({ includeClosed: true })),
  getEscalation: row(VIEW, ({ asked: run }) => ({ run, escalationId: "1" })),
  resolveEscalation: row(OPERATE, (of) => ({ ...asked(of), answer: "fail", why: "seen" })),
  claimEscalation: row(OPERATE, asked),
  releaseEscalation: row(OPERATE, asked),
  completeStep: row(OPERATE, ({ run }) => ({
    run,
    stepId: "work",
    success: {},
    by: "ada",
    reason: "seen",
  })),
  eraseRun: row(GOVERN, ({ run }) => ({ run, reason: "because" })),
  listApprovals: row(VIEW, ({ approval: run }) => ({ run })),
  putHook: row(OPERATE, ({ hook: name }) => ({
    name,
    url: "https://example.org/h",
    secret: "s".repeat(32),
  })),
  listHooks: row(VIEW),
  deleteHook: row(OPERATE, ({ hook: name }) => ({ name })),
  listDeliveries: row(VIEW, ({ hook }) => ({ hook })),
  putTrigger: row(OPERATE, ({ trigger, workflow }) => ({
    text: `trigger: ${trigger}\nhttp:\n  hmac: { header: X-Signature }\nschedule:\n  workflow: ${workflow}\n  key: k\n`,
    secret: "s".repeat(32),
  })),
  getTrigger: row(VIEW, ({ trigger: name }) => ({ name })),
  listTriggers: row(VIEW, ({ workflow }) => ({ workflow })),
  deleteTrigger: row(OPERATE, ({ trigger: name }) => ({ name })),
  listRefusals: row(VIEW, ({ trigger }) => ({ trigger })),
  tryTrigger: row(VIEW, ({ trigger: name }) => ({ name, body: { json: "{}" } })),
  listQueues: row(VIEW),
  getQueue: row(VIEW, ({ queue }) => ({ queue })),
  pauseQueue: row(OPERATE, ({ queue }) => ({ queue, reason: "because" })),
  resumeQueue: row(OPERATE, ({ queue }) => ({ queue })),
  setQueueLimits: row(OPERATE, ({ queue }) => ({ queue, limits: { leased: 3 } })),
  pinQueue: row(OPERATE, ({ queue, workflow }) => ({ queue, workflow, agentVersion: "2" })),
  unpinQueue: row(OPERATE, ({ queue, workflow }) => ({ queue, workflow })),
  pauseNamespace: row(OPERATE, () => ({ reason: "because" })),
  resumeNamespace: row(OPERATE),
  pauseWorkflow: row(OPERATE, ({ workflow }) => ({ workflow, reason: "because" })),
  resumeWorkflow: row(OPERATE, ({ workflow }) => ({ workflow })),
  setCircuit: row(OPERATE, ({ queue, task, agentId }) => ({
    queue,
    task,
    agentId,
    by: "ada",
    why: "known",
    setting: "CIRCUIT_SETTING_CLOSED",
  })),
  listCircuits: row(VIEW),
  cordonAgent: row(OPERATE, ({ session }) => ({ session, by: "ada", why: "old" })),
  uncordonAgent: row(OPERATE, ({ session }) => ({ session })),
  listCordons: row(VIEW),
  listAgents: row(VIEW, ({ agentId }) => ({ agentId })),
  getAgent: row(VIEW, ({ session }) => ({ session })),
  listPartitions: row(WATCH_ALL),
  listHandOvers: row(WATCH_ALL),
  listSupervisors: row(WATCH_ALL),
  listInterventions: row(VIEW, ({ run: { runId } }) => ({ runId })),
  listAudit: row(OPERATE, ({ run: { runId } }) => ({ subject: { kind: "run", name: runId } })),
  getOverview: row(VIEW),
  watchOverview: row(VIEW),
  getClusterInfo: row(ANY_ROLE),
  createNamespace: row(GOVERN_ALL, ({ key: name }) => ({ name })),
  getNamespace: row(VIEW),
  getLimits: row(VIEW),
  setNamespaceRetention: row(GOVERN, () => ({ retention: "864000s" })),
  setNamespaceLimits: row(GOVERN),
  setNamespaceLogs: row(GOVERN),
  listNamespaces: row(NO_AGENT),
  createToken: row(GOVERN, ({ key: name }) => ({ name, role: "ROLE_CLIENT", by: "ada" })),
  listTokens: row(GOVERN, () => ({ includeEnded: true })),
  revokeToken: row(ANY_ADMIN, ({ tokenId: id }) => ({ id, by: "ada" })),
};

/** Of the session, however often it has polled. */
const EVERY_POLL = Array.from({ length: 20 }, (_, n) => String(n + 1));

const agent = ({ agentId: id, session }: Planted) => ({ agent: { id, session } });

const AGENT: Readonly<Record<keyof typeof AgentService.method, Row>> = {
  pollTask: row(WORK, (of) => ({
    ...agent(of),
    queues: [{ name: of.queue }],
    pollSeq: "1000",
    lostPolls: EVERY_POLL,
    wait: "0s",
  })),
  heartbeat: row(WORK, (of) => ({
    ...agent(of),
    reports: [{ taskToken: of.taskToken }],
    lostPolls: EVERY_POLL,
    listsAllTo: "1000",
  })),
  complete: row(WORK, (of) => ({
    ...agent(of),
    results: [{ taskToken: of.taskToken, outcome: { success: {} } }],
  })),
  appendLogs: row(WORK, (of) => ({
    ...agent(of),
    logs: [
      {
        taskToken: of.taskToken,
        firstLine: 2,
        lines: [{ time: "2026-01-01T00:00:00Z", message: "more" }],
      },
    ],
  })),
};

const HEALTH: Readonly<Record<keyof typeof Health.method, Row>> = {
  check: row(PUBLIC),
  list: row(PUBLIC),
  watch: row(PUBLIC),
};

export interface Rpc extends Row {
  readonly method: DescMethod;
  /** As `drover.v1.SchedulerService/GetRun`. */
  readonly path: string;
  /** Whether its request names a namespace. */
  readonly isNamespaced: boolean;
}

function rowsOf(service: DescService, rows: Readonly<Record<string, Row>>): readonly Rpc[] {
  return service.methods.map((method) => {
    const found = rows[method.localName];
    if (!found) throw new Error(`${service.typeName}/${method.name} has no row in rows.ts`);
    const isNamespaced = method.input.fields.some(({ localName }) => localName === "namespace");
    return { ...found, method, path: `${service.typeName}/${method.name}`, isNamespaced };
  });
}

/** Streams in both directions, which HTTP/1.1 has not: they show the contract, which is public. */
export const STREAMS_BOTH_WAYS = [ServerReflection, ServerReflectionAlpha];

export const RPCS: readonly Rpc[] = [
  ...rowsOf(SchedulerService, SCHEDULER),
  ...rowsOf(OperatorService, OPERATOR),
  ...rowsOf(AgentService, AGENT),
  ...rowsOf(Health, HEALTH),
];

export interface Route {
  /** As the sources write it. */
  readonly path: string;
  readonly cells: Cells;
  readonly request: (of: Planted) => { readonly method: string; readonly url: string };
}

const get = (path: string, cells: Cells): Route => ({
  path,
  cells,
  request: () => ({ method: "GET", url: path }),
});

/** What a server answers besides RPCs. */
export const ROUTES: readonly Route[] = [
  get("/healthz", PUBLIC),
  get("/readyz", PUBLIC),
  get("/sign-in.json", PUBLIC),
  get("/metrics", WATCH_ALL),
  get("/index.html", PUBLIC),
  get("/assets/", PUBLIC),
];

/** Proves itself by its own secret; an API token neither helps nor hinders. */
export const TRIGGER_ROUTE = "/hooks/";
/** Pages of a supervisor, on a port of its own (`drover supervisor --listen`). */
export const SUPERVISOR_ROUTES = ["/healthz", "/readyz", "/metrics", "/partitions"];
