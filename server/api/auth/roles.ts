// The roles that may call each RPC: one row for each. A role that is not named is refused, and a
// server with an RPC without a row does not start. A test compares the table with the contract.
import type { DescMethod } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Role } from "../../store/tokens.ts";

/**
 * What a call is about. namespace: the namespace that it names. callback: the namespace of its
 * callback token. control-plane: everything, so the token must be for every namespace. own: the
 * handler itself checks what the caller may see.
 */
type Scope = "namespace" | "callback" | "control-plane" | "own";

export interface Permission {
  readonly roles: readonly Role[];
  readonly scope: Scope;
}

const allow =
  (scope: Scope) =>
  (...roles: Role[]): Permission => ({ roles, scope });
const inNamespace = allow("namespace");

const everyRole = inNamespace("viewer", "client", "operator", "admin");
const viewers = inNamespace("viewer", "operator", "admin");
const services = inNamespace("client", "operator", "admin");
const operators = inNamespace("operator", "admin");
const admins = inNamespace("admin");
const agents = inNamespace("agent", "admin");
const watchers = allow("control-plane")("viewer", "operator", "admin");

const SCHEDULER: Readonly<Record<keyof typeof SchedulerService.method, Permission>> = {
  registerWorkflow: services,
  setDefaultVersion: operators,
  getWorkflow: everyRole,
  listWorkflows: everyRole,
  schedule: services,
  scheduleBatch: services,
  getRun: everyRole,
  getStepInput: everyRole,
  listItems: everyRole,
  listLogs: everyRole,
  listRuns: everyRole,
  watchRun: everyRole,
  waitRun: everyRole,
  explainRun: everyRole,
  cancelRun: services,
  pauseRun: operators,
  resumeRun: operators,
  retryRun: operators,
  rerunFrom: operators,
  bulkAction: operators,
  signal: services,
  decide: operators,
  completeDeferred: allow("callback")("client", "agent", "operator", "admin"),
  createSchedule: services,
  getSchedule: everyRole,
  listSchedules: everyRole,
  updateSchedule: services,
  pauseSchedule: operators,
  resumeSchedule: operators,
  deleteSchedule: operators,
  backfillSchedule: operators,
  triggerSchedule: operators,
};

const OPERATOR: Readonly<Record<keyof typeof OperatorService.method, Permission>> = {
  listEscalations: viewers,
  getEscalation: viewers,
  resolveEscalation: operators,
  claimEscalation: operators,
  releaseEscalation: operators,
  completeStep: operators,
  eraseRun: admins,
  listApprovals: viewers,
  putHook: operators,
  listHooks: viewers,
  deleteHook: operators,
  listDeliveries: viewers,
  putTrigger: operators,
  getTrigger: viewers,
  listTriggers: viewers,
  deleteTrigger: operators,
  listRefusals: viewers,
  tryTrigger: viewers,
  listQueues: viewers,
  getQueue: viewers,
  pauseQueue: operators,
  resumeQueue: operators,
  setQueueLimits: operators,
  pinQueue: operators,
  unpinQueue: operators,
  pauseNamespace: operators,
  resumeNamespace: operators,
  pauseWorkflow: operators,
  resumeWorkflow: operators,
  setCircuit: operators,
  listCircuits: viewers,
  cordonAgent: operators,
  uncordonAgent: operators,
  listCordons: viewers,
  listAgents: viewers,
  getAgent: viewers,
  listPartitions: watchers,
  listHandOvers: watchers,
  listSupervisors: watchers,
  listInterventions: viewers,
  listAudit: operators,
  getOverview: viewers,
  watchOverview: viewers,
  getClusterInfo: allow("own")("viewer", "client", "agent", "operator", "admin"),
  createNamespace: allow("control-plane")("admin"),
  getNamespace: viewers,
  getLimits: viewers,
  setNamespaceRetention: admins,
  setNamespaceLimits: admins,
  setNamespaceLogs: admins,
  listNamespaces: allow("own")("viewer", "client", "operator", "admin"),
  createToken: admins,
  listTokens: admins,
  revokeToken: allow("own")("admin"),
};

const AGENT: Readonly<Record<keyof typeof AgentService.method, Permission>> = {
  pollTask: agents,
  heartbeat: agents,
  complete: agents,
  appendLogs: agents,
};

/** By full name, as `drover.v1.AgentService/PollTask`. */
export const PERMISSIONS: ReadonlyMap<string, Permission> = new Map([
  ...rowsOf(SchedulerService.methods, SCHEDULER),
  ...rowsOf(OperatorService.methods, OPERATOR),
  ...rowsOf(AgentService.methods, AGENT),
]);

export function fullNameOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

function rowsOf(
  methods: readonly DescMethod[],
  table: Readonly<Record<string, Permission>>,
): (readonly [string, Permission])[] {
  return methods.flatMap((method) => {
    const row = table[method.localName];
    return row ? [[fullNameOf(method), row] as const] : [];
  });
}
