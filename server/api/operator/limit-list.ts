// All limits in one list: those of the contract, read from its rules; those that are fixed in the
// server; those that a server is started with; and those of a namespace. GetLimits, the table in
// docs/SECURITY.md and a test at the edge of each row are made from it.
import type { DescMessage } from "@bufbuild/protobuf";
import {
  AppendLogsRequestSchema,
  CompleteRequestSchema,
  HeartbeatRequestSchema,
  PollTaskRequestSchema,
  TaskLogSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import {
  NamespaceLimitsSchema,
  SetNamespaceRetentionRequestSchema,
} from "@drover/proto/drover/v1/namespace_pb.ts";
import { PutHookRequestSchema } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { QueueLimitsSchema } from "@drover/proto/drover/v1/queue_pb.ts";
import { ConcurrencySchema } from "@drover/proto/drover/v1/run_pb.ts";
import { IntervalCalendarSchema, ScheduleSpecSchema } from "@drover/proto/drover/v1/schedule_pb.ts";
import {
  CancelRunRequestSchema,
  ListLogsRequestSchema,
  ListRunsRequestSchema,
  RegisterWorkflowRequestSchema,
  RunFilterSchema,
  ScheduleBatchRequestSchema,
  ScheduleRequestSchema,
  SignalRequestSchema,
  WaitRunRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Outcome_FailedSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { CreateTokenRequestSchema } from "@drover/proto/drover/v1/token_pb.ts";
import {
  ApprovalStepSchema,
  EscalateSchema,
  RetryPolicySchema,
  StepDefinitionSchema,
  TimeoutsSchema,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { CHILD_DEPTH_MAX } from "../../core/child.ts";
import { TRIGGER_DEPTH_MAX } from "../../core/definition/trigger.ts";
import { SIGNALS_MAX } from "../../core/events/on-signal.ts";
import { LINE_BYTES_MAX, LOG_BYTES_MAX } from "../../core/log-lines.ts";
import { ITEMS_MAX } from "../../core/model/step-key.ts";
import { API_LIMIT_SETTINGS, type ApiLimitConfig, RPC_DEFAULTS } from "../../rpc-config.ts";
import { BULK_RUNS_MAX } from "../../scheduler/scheduler.ts";
import { WEIGHT_DEFAULT } from "../../store/namespaces.ts";
import { contractMax } from "../calls/contract-limits.ts";
import { JSON_DEPTH_MAX } from "../transport/json-depth.ts";

/** Empty: a plain number. */
export type LimitUnit = "" | "bytes" | "characters" | "ms" | "per second";

type ServerLimit = keyof ApiLimitConfig;
/** Limits of a server that no setting changes. */
type FixedServerLimit =
  | "messageBytesMax"
  | "callsMax"
  | "deadlineMsMax"
  | "streamsPerConnectionMax";
export type NamespaceLimit =
  | "openRuns"
  | "runsPerSecond"
  | "burst"
  | "callsPerSecond"
  | "callsBurst"
  | "storageBytes"
  | "payloadBytes"
  | "weight";

export type LimitSource =
  | { readonly kind: "contract"; readonly message: DescMessage; readonly field: string }
  | { readonly kind: "fixed"; readonly max: number }
  | { readonly kind: "server"; readonly limit: FixedServerLimit }
  | { readonly kind: "setting"; readonly setting: ServerLimit }
  | {
      readonly kind: "namespace";
      readonly limit: NamespaceLimit;
      /** null: there is no limit. */
      readonly byDefault: number | null;
      readonly hard: number;
      /** The option of `drover namespace limit`. */
      readonly flag: string;
    };

interface LimitRow {
  /** As a clause: what is counted, and where. */
  readonly what: string;
  readonly unit: LimitUnit;
  readonly source: LimitSource;
}

const row = (what: string, unit: LimitUnit, source: LimitSource): LimitRow => ({
  what,
  unit,
  source,
});
const contract = (what: string, unit: LimitUnit, message: DescMessage, field: string): LimitRow =>
  row(what, unit, { kind: "contract", message, field });
const fixed = (what: string, unit: LimitUnit, max: number): LimitRow =>
  row(what, unit, { kind: "fixed", max });
const server = (what: string, unit: LimitUnit, limit: FixedServerLimit): LimitRow =>
  row(what, unit, { kind: "server", limit });
const setting = (what: string, of: ServerLimit): LimitRow =>
  row(what, "", { kind: "setting", setting: of });

/** The rules of the two rates are expressions, whose greatest value cannot be read. */
const RATE_MAX = 100_000;

const NAMESPACE_FIELDS: Readonly<Partial<Record<NamespaceLimit, string>>> = {
  openRuns: "open_runs",
  burst: "burst",
  callsBurst: "calls_burst",
  storageBytes: "storage_bytes",
  payloadBytes: "payload_bytes",
  weight: "weight",
};

const NAMESPACE_ROWS = {
  "open-runs": namespaceRow("runs that have not ended", "", "openRuns", null, "--open-runs"),
  "runs-per-second": namespaceRow(
    "runs started per second",
    "per second",
    "runsPerSecond",
    null,
    "--per-second",
  ),
  "runs-burst": namespaceRow("runs started at once after a pause", "", "burst", null, "--burst"),
  "calls-per-second": namespaceRow(
    "calls per second that read, register or start",
    "per second",
    "callsPerSecond",
    null,
    "--calls-per-second",
  ),
  "calls-burst": namespaceRow(
    "these calls at once after a pause",
    "",
    "callsBurst",
    null,
    "--calls-burst",
  ),
  "storage-bytes": namespaceRow(
    "bytes that its runs take",
    "bytes",
    "storageBytes",
    null,
    "--storage",
  ),
  "payload-bytes": namespaceRow(
    "bytes of one payload",
    "bytes",
    "payloadBytes",
    RPC_DEFAULTS.payloadBytesMax,
    "--payload",
  ),
  weight: namespaceRow(
    "part where namespaces compete for a server",
    "",
    "weight",
    WEIGHT_DEFAULT,
    "--weight",
  ),
} as const;

const SERVER_ROWS = {
  "message-bytes": server("bytes of one message", "bytes", "messageBytesMax"),
  "deadline-ms": server("deadline of a call", "ms", "deadlineMsMax"),
  calls: server("calls in progress on a server, without those that wait", "", "callsMax"),
  streams: server("calls in progress on one connection", "", "streamsPerConnectionMax"),
  connections: setting("connections of a server", "connectionsMax"),
  "waiting-calls": setting("polls, waits and watches on a server", "waitingCallsMax"),
  "waiting-calls-per-address": setting("of these, from one address", "waitingCallsPerPeerMax"),
  "waiting-calls-per-namespace": setting(
    "of these, for one namespace",
    "waitingCallsPerNamespaceMax",
  ),
} as const;

const DEFINITION_ROWS = {
  steps: contract("steps of a definition", "", WorkflowDefinitionSchema, "steps"),
  needs: contract("steps that one step needs", "", StepDefinitionSchema, "needs"),
  "definition-text-bytes": contract(
    "bytes of a definition as text",
    "bytes",
    RegisterWorkflowRequestSchema,
    "text",
  ),
  "expression-characters": contract(
    "characters of an expression",
    "characters",
    StepDefinitionSchema,
    "when",
  ),
  "map-items": fixed("items of a map", "", ITEMS_MAX),
  "child-depth": fixed("child runs within each other", "", CHILD_DEPTH_MAX),
  "retry-policies": contract("retry policies of a step", "", StepDefinitionSchema, "retry"),
  "retry-attempts": contract("attempts by one retry policy", "", RetryPolicySchema, "attempts"),
  "retry-delay-ms": contract("delay between two attempts", "ms", RetryPolicySchema, "max"),
  "timeout-ms": contract("each timeout of a step", "ms", TimeoutsSchema, "attempt"),
  "run-timeout-ms": contract("timeout of a run", "ms", WorkflowDefinitionSchema, "timeout"),
  fallbacks: contract("fallbacks of a step", "", StepDefinitionSchema, "fallback"),
  approvers: contract("approvers of a step", "", ApprovalStepSchema, "approvers"),
  "escalation-deadline-ms": contract("deadline of an escalation", "ms", EscalateSchema, "deadline"),
} as const;

const CALL_ROWS = {
  "name-characters": contract(
    "characters of a name: namespace, workflow, step, task, queue, agent",
    "characters",
    WorkflowDefinitionSchema,
    "workflow",
  ),
  "key-characters": contract(
    "characters of the key of a run",
    "characters",
    ScheduleRequestSchema,
    "key",
  ),
  "signal-id-characters": contract(
    "characters of the id of a signal",
    "characters",
    SignalRequestSchema,
    "signal_id",
  ),
  labels: contract("labels of a run", "", ScheduleRequestSchema, "labels"),
  "batch-runs": contract("runs of one ScheduleBatch", "", ScheduleBatchRequestSchema, "runs"),
  "bulk-runs": fixed("runs of one bulk action", "", BULK_RUNS_MAX),
  "concurrency-limit": contract("runs of one concurrency key", "", ConcurrencySchema, "limit"),
  signals: fixed("signals of a run", "", SIGNALS_MAX),
  "page-size": contract("entries of one page", "", ListRunsRequestSchema, "page_size"),
  "page-token-characters": contract(
    "characters of a page token",
    "characters",
    ListRunsRequestSchema,
    "page_token",
  ),
  "log-page-size": contract("lines of one page of logs", "", ListLogsRequestSchema, "page_size"),
  "query-characters": contract(
    "characters of a query for runs",
    "characters",
    RunFilterSchema,
    "query",
  ),
  "reason-characters": contract(
    "characters of a reason",
    "characters",
    CancelRunRequestSchema,
    "reason",
  ),
  "wait-ms": contract("wait of WaitRun", "ms", WaitRunRequestSchema, "wait"),
  "json-depth": fixed("levels of nested JSON in a request", "", JSON_DEPTH_MAX),
  "trigger-depth": fixed("runs that triggers start after each other", "", TRIGGER_DEPTH_MAX),
  "schedule-interval-ms": contract("interval of a schedule", "ms", IntervalCalendarSchema, "every"),
  "schedule-catch-up-ms": contract(
    "time that a schedule catches up with",
    "ms",
    ScheduleSpecSchema,
    "catch_up",
  ),
  "hook-url-characters": contract(
    "characters of the address of a webhook",
    "characters",
    PutHookRequestSchema,
    "url",
  ),
  "token-queues": contract("queues of an API token", "", CreateTokenRequestSchema, "queues"),
  "token-valid-ms": contract(
    "validity of an API token",
    "ms",
    CreateTokenRequestSchema,
    "valid_for",
  ),
  "queue-leased": contract(
    "tasks in progress that a queue may be limited to",
    "",
    QueueLimitsSchema,
    "leased",
  ),
  "retention-ms": contract(
    "retention of ended runs",
    "ms",
    SetNamespaceRetentionRequestSchema,
    "retention",
  ),
} as const;

const AGENT_ROWS = {
  "poll-tasks": contract("tasks in the answer of a poll", "", PollTaskRequestSchema, "max_tasks"),
  "poll-queues": contract("queues of a poll", "", PollTaskRequestSchema, "queues"),
  "poll-task-names": contract("task names of a poll", "", PollTaskRequestSchema, "tasks"),
  "poll-wait-ms": contract("wait of a poll", "ms", PollTaskRequestSchema, "wait"),
  "lost-polls": contract("lost polls in one call", "", PollTaskRequestSchema, "lost_polls"),
  "heartbeat-reports": contract("tasks in one Heartbeat", "", HeartbeatRequestSchema, "reports"),
  "complete-results": contract("results in one Complete", "", CompleteRequestSchema, "results"),
  "failure-message-characters": contract(
    "characters of the message of a failure",
    "characters",
    Outcome_FailedSchema,
    "message",
  ),
  "append-logs": contract("tasks in one AppendLogs", "", AppendLogsRequestSchema, "logs"),
  "log-lines": contract("lines of one task in one AppendLogs", "", TaskLogSchema, "lines"),
  "log-line-bytes": fixed("bytes of one line of a log; the rest is cut", "bytes", LINE_BYTES_MAX),
  "log-bytes": fixed(
    "bytes of the log of an attempt; later lines are not stored",
    "bytes",
    LOG_BYTES_MAX,
  ),
} as const;

/** By name, in the order in which they are listed. */
export const LIMITS = Object.freeze({
  ...NAMESPACE_ROWS,
  ...SERVER_ROWS,
  ...DEFINITION_ROWS,
  ...CALL_ROWS,
  ...AGENT_ROWS,
});
export type LimitName = keyof typeof LIMITS;
export const LIMIT_NAMES = Object.freeze(Object.keys(LIMITS) as LimitName[]);

/** The limit itself, or the greatest value that it may be set to. */
export function hardLimit(source: LimitSource): number {
  switch (source.kind) {
    case "contract":
      return contractMax(source.message, source.field);
    case "fixed":
      return source.max;
    case "server":
      return RPC_DEFAULTS[source.limit];
    case "setting":
      return API_LIMIT_SETTINGS[source.setting].most;
    case "namespace":
      return source.hard;
  }
}

/** null: there is no limit by default. */
export function defaultLimit(source: LimitSource): number | null {
  switch (source.kind) {
    case "setting":
      return API_LIMIT_SETTINGS[source.setting].byDefault;
    case "namespace":
      return source.byDefault;
    default:
      return hardLimit(source);
  }
}

/** Where it is changed, as a command or a setting; empty: it is fixed. */
export function whereToChange(source: LimitSource): string {
  switch (source.kind) {
    case "setting":
      return `drover server --${API_LIMIT_SETTINGS[source.setting].flag}`;
    case "namespace":
      return `drover namespace limit ${source.flag}`;
    default:
      return "";
  }
}

function namespaceRow(
  what: string,
  unit: LimitUnit,
  limit: NamespaceLimit,
  byDefault: number | null,
  flag: string,
): LimitRow {
  const field = NAMESPACE_FIELDS[limit];
  const hard = field === undefined ? RATE_MAX : contractMax(NamespaceLimitsSchema, field);
  return row(what, unit, { kind: "namespace", limit, byDefault, hard, flag });
}
