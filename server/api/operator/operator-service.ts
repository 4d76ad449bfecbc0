// OperatorService: what operators see and set. Each subject has its calls in a file of its own.
//
// To add a call: the RPC in proto/drover/v1/operator_service.proto, `npm run generate`, its role in
// api/auth/roles.ts (without it the server does not start), and its handler in the file of its
// subject.
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Clock, Random } from "../../clock.ts";
import type { TriggerWork } from "../../integrations/triggers/trigger-work.ts";
import type { RpcConfig } from "../../rpc-config.ts";
import type { CircuitCalls, Scheduler } from "../../scheduler/scheduler.ts";
import type { AllShards } from "../../store/all-shards.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import type { Identity } from "../auth/authenticate.ts";
import type { Drain } from "../calls/drain.ts";
import type { Handlers, Log } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import type { RequestCheck } from "../calls/request-check.ts";
import { createEraseCalls } from "../run/erase-calls.ts";
import { createRunLookup } from "../run/run-lookup.ts";
import { createTriggerCalls } from "../trigger/trigger-calls.ts";
import { createAgentCalls } from "./agent-list.ts";
import { listApprovals } from "./approval-list.ts";
import { createAuditCalls } from "./audit-list.ts";
import { createCircuitLists, createCircuitSettings } from "./circuit-calls.ts";
import { completeStep } from "./complete-step.ts";
import { type AnswerDeps, createAnswerCalls, listEscalations } from "./escalation-calls.ts";
import { createHandOverCalls } from "./hand-over-list.ts";
import { createHookCalls } from "./hook-calls.ts";
import { createInterventionCalls } from "./intervention-list.ts";
import { createLimitCalls } from "./limit-calls.ts";
import { createNamespaceCalls } from "./namespace-calls.ts";
import { createOverviewCalls } from "./overview.ts";
import { type Control, createQueueCalls } from "./queue-calls.ts";
import { createTokenCalls } from "./token-calls.ts";

interface OperatorServiceDeps {
  readonly scheduler: Pick<
    Scheduler,
    "command" | "limitNamespace" | "setNamespaceLogs" | Control | CircuitCalls
  >;
  readonly store: Pick<
    AllShards,
    "outbox" | "triggers" | "namespace" | "createNamespace" | "namespaces"
  > &
    AnswerDeps["store"] &
    Omit<OperatorStore, "inbox">;
  readonly namespaces: Namespaces;
  readonly check: Pick<RequestCheck, "check">;
  readonly triggers: TriggerWork;
  readonly drain: Drain;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Left out: the server requires no tokens. */
  readonly identity?: Pick<Identity, "forget"> | undefined;
  readonly overdueMs: number;
  readonly config: RpcConfig;
}

export function createOperatorService(deps: OperatorServiceDeps): Handlers<typeof OperatorService> {
  const runs = createRunLookup(deps.store, deps.namespaces);

  return Object.freeze({
    ...createAnswerCalls(deps),
    listEscalations: (request) => listEscalations(deps, request),
    completeStep: (request, who) => completeStep(deps, runs, request, who),
    ...createEraseCalls(deps, runs),
    listApprovals: (request) => listApprovals(deps, runs, request),

    ...createHookCalls(deps),
    ...createQueueCalls(deps),
    ...createTriggerCalls(deps, runs),
    ...createCircuitSettings(deps),
    ...createCircuitLists(deps),
    ...createAgentCalls(deps),
    ...createInterventionCalls(deps),
    ...createAuditCalls(deps),
    ...createOverviewCalls(deps),
    ...createHandOverCalls(deps),
    ...createNamespaceCalls(deps),
    ...createLimitCalls(deps),
    ...createTokenCalls(deps),
  }) satisfies Handlers<typeof OperatorService>;
}
