// The roles that may call each RPC: one row for each. A role that is not named is refused, and a
// server with an RPC without a row does not start. A test compares the table with the contract.
import type { DescMethod } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Role } from "../store/tokens.ts";

/**
 * What a call is about. namespace: the namespace that it names. callback: the namespace of its
 * callback token. control-plane: everything, so the token must be for every namespace. own: the
 * handler itself checks what the caller may see.
 */
export type Scope = "namespace" | "callback" | "control-plane" | "own";

export interface Permission {
  readonly roles: readonly Role[];
  readonly scope: Scope;
}

const allow =
  (scope: Scope) =>
  (...roles: Role[]): Permission => ({ roles, scope });
const inNamespace = allow("namespace");

const everybody = inNamespace("viewer", "client", "operator", "admin");
const onlookers = inNamespace("viewer", "operator", "admin");
const services = inNamespace("client", "operator", "admin");
const steering = inNamespace("operator", "admin");
const ruling = inNamespace("admin");
const working = inNamespace("agent", "admin");
const watchers = allow("control-plane")("viewer", "operator", "admin");

const SCHEDULER: Readonly<Record<keyof typeof SchedulerService.method, Permission>> = {
  registerWorkflow: services,
  setDefaultVersion: steering,
  getWorkflow: everybody,
  listWorkflows: everybody,
  schedule: services,
  scheduleBatch: services,
  getRun: everybody,
  listItems: everybody,
  listRuns: everybody,
  watchRun: everybody,
  waitRun: everybody,
  explainRun: everybody,
  cancelRun: services,
  pauseRun: steering,
  resumeRun: steering,
  retryRun: steering,
  rerunFrom: steering,
  bulkAction: steering,
  signal: services,
  decide: steering,
  completeDeferred: allow("callback")("client", "agent", "operator", "admin"),
  createSchedule: services,
  getSchedule: everybody,
  listSchedules: everybody,
  updateSchedule: services,
  pauseSchedule: steering,
  resumeSchedule: steering,
  deleteSchedule: steering,
  backfillSchedule: steering,
  triggerSchedule: steering,
};

const OPERATOR: Readonly<Record<keyof typeof OperatorService.method, Permission>> = {
  listEscalations: onlookers,
  getEscalation: onlookers,
  resolveEscalation: steering,
  claimEscalation: steering,
  releaseEscalation: steering,
  putHook: steering,
  listHooks: onlookers,
  deleteHook: steering,
  listDeliveries: onlookers,
  putTrigger: steering,
  getTrigger: onlookers,
  listTriggers: onlookers,
  deleteTrigger: steering,
  listRefusals: onlookers,
  tryTrigger: onlookers,
  listQueues: onlookers,
  getQueue: onlookers,
  pauseQueue: steering,
  resumeQueue: steering,
  setQueueLimits: steering,
  pinQueue: steering,
  unpinQueue: steering,
  pauseNamespace: steering,
  resumeNamespace: steering,
  pauseWorkflow: steering,
  resumeWorkflow: steering,
  setCircuit: steering,
  listCircuits: onlookers,
  cordonAgent: steering,
  uncordonAgent: steering,
  listCordons: onlookers,
  listAgents: onlookers,
  getAgent: onlookers,
  listPartitions: watchers,
  listHandOvers: watchers,
  listSupervisors: watchers,
  listInterventions: onlookers,
  getOverview: onlookers,
  watchOverview: onlookers,
  getClusterInfo: allow("own")("viewer", "client", "agent", "operator", "admin"),
  createNamespace: allow("control-plane")("admin"),
  getNamespace: onlookers,
  setNamespaceRetention: ruling,
  setNamespaceLimits: ruling,
  listNamespaces: allow("own")("viewer", "client", "operator", "admin"),
  createToken: ruling,
  listTokens: ruling,
  revokeToken: allow("own")("admin"),
};

const AGENT: Readonly<Record<keyof typeof AgentService.method, Permission>> = {
  pollTask: working,
  heartbeat: working,
  complete: working,
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
