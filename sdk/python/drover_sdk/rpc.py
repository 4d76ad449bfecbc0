"""Every call of the contract: its path and its messages. A test holds it against the contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from drover_sdk.v1 import (
    agent_info_pb2,
    audit_pb2,
    circuit_pb2,
    intervention_pb2,
    namespace_pb2,
    overview_pb2,
    partition_pb2,
    queue_pb2,
    schedule_pb2,
    token_pb2,
    trigger_pb2,
)
from drover_sdk.v1 import agent_service_pb2 as agents
from drover_sdk.v1 import operator_service_pb2 as operators
from drover_sdk.v1 import scheduler_service_pb2 as runs

Req = TypeVar("Req", bound=Message)
Res = TypeVar("Res", bound=Message)


@dataclass(frozen=True)
class Method(Generic[Req, Res]):
    """One call."""

    path: str
    request: type[Req]
    response: type[Res]


POLL_TASK = Method(
    "/drover.v1.AgentService/PollTask", agents.PollTaskRequest, agents.PollTaskResponse
)
HEARTBEAT = Method(
    "/drover.v1.AgentService/Heartbeat", agents.HeartbeatRequest, agents.HeartbeatResponse
)
COMPLETE = Method(
    "/drover.v1.AgentService/Complete", agents.CompleteRequest, agents.CompleteResponse
)
APPEND_LOGS = Method(
    "/drover.v1.AgentService/AppendLogs", agents.AppendLogsRequest, agents.AppendLogsResponse
)

REGISTER_WORKFLOW = Method(
    "/drover.v1.SchedulerService/RegisterWorkflow",
    runs.RegisterWorkflowRequest,
    runs.RegisterWorkflowResponse,
)
SET_DEFAULT_VERSION = Method(
    "/drover.v1.SchedulerService/SetDefaultVersion",
    runs.SetDefaultVersionRequest,
    runs.SetDefaultVersionResponse,
)
GET_WORKFLOW = Method(
    "/drover.v1.SchedulerService/GetWorkflow", runs.GetWorkflowRequest, runs.GetWorkflowResponse
)
LIST_WORKFLOWS = Method(
    "/drover.v1.SchedulerService/ListWorkflows",
    runs.ListWorkflowsRequest,
    runs.ListWorkflowsResponse,
)
SCHEDULE = Method(
    "/drover.v1.SchedulerService/Schedule", runs.ScheduleRequest, runs.ScheduleResponse
)
SCHEDULE_BATCH = Method(
    "/drover.v1.SchedulerService/ScheduleBatch",
    runs.ScheduleBatchRequest,
    runs.ScheduleBatchResponse,
)
GET_RUN = Method("/drover.v1.SchedulerService/GetRun", runs.GetRunRequest, runs.GetRunResponse)
GET_STEP_INPUT = Method(
    "/drover.v1.SchedulerService/GetStepInput",
    runs.GetStepInputRequest,
    runs.GetStepInputResponse,
)
LIST_LOGS = Method(
    "/drover.v1.SchedulerService/ListLogs", runs.ListLogsRequest, runs.ListLogsResponse
)
LIST_ITEMS = Method(
    "/drover.v1.SchedulerService/ListItems", runs.ListItemsRequest, runs.ListItemsResponse
)
LIST_RUNS = Method(
    "/drover.v1.SchedulerService/ListRuns", runs.ListRunsRequest, runs.ListRunsResponse
)
WATCH_RUN = Method(
    "/drover.v1.SchedulerService/WatchRun", runs.WatchRunRequest, runs.WatchRunResponse
)
WAIT_RUN = Method("/drover.v1.SchedulerService/WaitRun", runs.WaitRunRequest, runs.WaitRunResponse)
EXPLAIN_RUN = Method(
    "/drover.v1.SchedulerService/ExplainRun", runs.ExplainRunRequest, runs.ExplainRunResponse
)
CANCEL_RUN = Method(
    "/drover.v1.SchedulerService/CancelRun", runs.CancelRunRequest, runs.CancelRunResponse
)
PAUSE_RUN = Method(
    "/drover.v1.SchedulerService/PauseRun", runs.PauseRunRequest, runs.PauseRunResponse
)
RESUME_RUN = Method(
    "/drover.v1.SchedulerService/ResumeRun", runs.ResumeRunRequest, runs.ResumeRunResponse
)
RETRY_RUN = Method(
    "/drover.v1.SchedulerService/RetryRun", runs.RetryRunRequest, runs.RetryRunResponse
)
RERUN_FROM = Method(
    "/drover.v1.SchedulerService/RerunFrom", runs.RerunFromRequest, runs.RerunFromResponse
)
BULK_ACTION = Method(
    "/drover.v1.SchedulerService/BulkAction", runs.BulkActionRequest, runs.BulkActionResponse
)
SIGNAL = Method("/drover.v1.SchedulerService/Signal", runs.SignalRequest, runs.SignalResponse)
DECIDE = Method("/drover.v1.SchedulerService/Decide", runs.DecideRequest, runs.DecideResponse)
COMPLETE_DEFERRED = Method(
    "/drover.v1.SchedulerService/CompleteDeferred",
    runs.CompleteDeferredRequest,
    runs.CompleteDeferredResponse,
)
CREATE_SCHEDULE = Method(
    "/drover.v1.SchedulerService/CreateSchedule",
    schedule_pb2.CreateScheduleRequest,
    schedule_pb2.CreateScheduleResponse,
)
GET_SCHEDULE = Method(
    "/drover.v1.SchedulerService/GetSchedule",
    schedule_pb2.GetScheduleRequest,
    schedule_pb2.GetScheduleResponse,
)
LIST_SCHEDULES = Method(
    "/drover.v1.SchedulerService/ListSchedules",
    schedule_pb2.ListSchedulesRequest,
    schedule_pb2.ListSchedulesResponse,
)
UPDATE_SCHEDULE = Method(
    "/drover.v1.SchedulerService/UpdateSchedule",
    schedule_pb2.UpdateScheduleRequest,
    schedule_pb2.UpdateScheduleResponse,
)
PAUSE_SCHEDULE = Method(
    "/drover.v1.SchedulerService/PauseSchedule",
    schedule_pb2.PauseScheduleRequest,
    schedule_pb2.PauseScheduleResponse,
)
RESUME_SCHEDULE = Method(
    "/drover.v1.SchedulerService/ResumeSchedule",
    schedule_pb2.ResumeScheduleRequest,
    schedule_pb2.ResumeScheduleResponse,
)
DELETE_SCHEDULE = Method(
    "/drover.v1.SchedulerService/DeleteSchedule",
    schedule_pb2.DeleteScheduleRequest,
    schedule_pb2.DeleteScheduleResponse,
)
BACKFILL_SCHEDULE = Method(
    "/drover.v1.SchedulerService/BackfillSchedule",
    schedule_pb2.BackfillScheduleRequest,
    schedule_pb2.BackfillScheduleResponse,
)
TRIGGER_SCHEDULE = Method(
    "/drover.v1.SchedulerService/TriggerSchedule",
    schedule_pb2.TriggerScheduleRequest,
    schedule_pb2.TriggerScheduleResponse,
)

LIST_ESCALATIONS = Method(
    "/drover.v1.OperatorService/ListEscalations",
    operators.ListEscalationsRequest,
    operators.ListEscalationsResponse,
)
COMPLETE_STEP = Method(
    "/drover.v1.OperatorService/CompleteStep",
    operators.CompleteStepRequest,
    operators.CompleteStepResponse,
)
ERASE_RUN = Method(
    "/drover.v1.OperatorService/EraseRun",
    operators.EraseRunRequest,
    operators.EraseRunResponse,
)
LIST_APPROVALS = Method(
    "/drover.v1.OperatorService/ListApprovals",
    operators.ListApprovalsRequest,
    operators.ListApprovalsResponse,
)
LIST_AUDIT = Method(
    "/drover.v1.OperatorService/ListAudit",
    audit_pb2.ListAuditRequest,
    audit_pb2.ListAuditResponse,
)
GET_ESCALATION = Method(
    "/drover.v1.OperatorService/GetEscalation",
    operators.GetEscalationRequest,
    operators.GetEscalationResponse,
)
RESOLVE_ESCALATION = Method(
    "/drover.v1.OperatorService/ResolveEscalation",
    operators.ResolveEscalationRequest,
    operators.ResolveEscalationResponse,
)
CLAIM_ESCALATION = Method(
    "/drover.v1.OperatorService/ClaimEscalation",
    operators.ClaimEscalationRequest,
    operators.ClaimEscalationResponse,
)
RELEASE_ESCALATION = Method(
    "/drover.v1.OperatorService/ReleaseEscalation",
    operators.ReleaseEscalationRequest,
    operators.ReleaseEscalationResponse,
)
PUT_HOOK = Method(
    "/drover.v1.OperatorService/PutHook", operators.PutHookRequest, operators.PutHookResponse
)
LIST_HOOKS = Method(
    "/drover.v1.OperatorService/ListHooks", operators.ListHooksRequest, operators.ListHooksResponse
)
DELETE_HOOK = Method(
    "/drover.v1.OperatorService/DeleteHook",
    operators.DeleteHookRequest,
    operators.DeleteHookResponse,
)
LIST_DELIVERIES = Method(
    "/drover.v1.OperatorService/ListDeliveries",
    operators.ListDeliveriesRequest,
    operators.ListDeliveriesResponse,
)
PUT_TRIGGER = Method(
    "/drover.v1.OperatorService/PutTrigger",
    trigger_pb2.PutTriggerRequest,
    trigger_pb2.PutTriggerResponse,
)
GET_TRIGGER = Method(
    "/drover.v1.OperatorService/GetTrigger",
    trigger_pb2.GetTriggerRequest,
    trigger_pb2.GetTriggerResponse,
)
LIST_TRIGGERS = Method(
    "/drover.v1.OperatorService/ListTriggers",
    trigger_pb2.ListTriggersRequest,
    trigger_pb2.ListTriggersResponse,
)
DELETE_TRIGGER = Method(
    "/drover.v1.OperatorService/DeleteTrigger",
    trigger_pb2.DeleteTriggerRequest,
    trigger_pb2.DeleteTriggerResponse,
)
LIST_REFUSALS = Method(
    "/drover.v1.OperatorService/ListRefusals",
    trigger_pb2.ListRefusalsRequest,
    trigger_pb2.ListRefusalsResponse,
)
TRY_TRIGGER = Method(
    "/drover.v1.OperatorService/TryTrigger",
    trigger_pb2.TryTriggerRequest,
    trigger_pb2.TryTriggerResponse,
)
LIST_QUEUES = Method(
    "/drover.v1.OperatorService/ListQueues",
    queue_pb2.ListQueuesRequest,
    queue_pb2.ListQueuesResponse,
)
GET_QUEUE = Method(
    "/drover.v1.OperatorService/GetQueue", queue_pb2.GetQueueRequest, queue_pb2.GetQueueResponse
)
PAUSE_QUEUE = Method(
    "/drover.v1.OperatorService/PauseQueue",
    queue_pb2.PauseQueueRequest,
    queue_pb2.PauseQueueResponse,
)
RESUME_QUEUE = Method(
    "/drover.v1.OperatorService/ResumeQueue",
    queue_pb2.ResumeQueueRequest,
    queue_pb2.ResumeQueueResponse,
)
SET_QUEUE_LIMITS = Method(
    "/drover.v1.OperatorService/SetQueueLimits",
    queue_pb2.SetQueueLimitsRequest,
    queue_pb2.SetQueueLimitsResponse,
)
PIN_QUEUE = Method(
    "/drover.v1.OperatorService/PinQueue",
    queue_pb2.PinQueueRequest,
    queue_pb2.PinQueueResponse,
)
UNPIN_QUEUE = Method(
    "/drover.v1.OperatorService/UnpinQueue",
    queue_pb2.UnpinQueueRequest,
    queue_pb2.UnpinQueueResponse,
)
PAUSE_NAMESPACE = Method(
    "/drover.v1.OperatorService/PauseNamespace",
    queue_pb2.PauseNamespaceRequest,
    queue_pb2.PauseNamespaceResponse,
)
RESUME_NAMESPACE = Method(
    "/drover.v1.OperatorService/ResumeNamespace",
    queue_pb2.ResumeNamespaceRequest,
    queue_pb2.ResumeNamespaceResponse,
)
PAUSE_WORKFLOW = Method(
    "/drover.v1.OperatorService/PauseWorkflow",
    queue_pb2.PauseWorkflowRequest,
    queue_pb2.PauseWorkflowResponse,
)
RESUME_WORKFLOW = Method(
    "/drover.v1.OperatorService/ResumeWorkflow",
    queue_pb2.ResumeWorkflowRequest,
    queue_pb2.ResumeWorkflowResponse,
)
SET_CIRCUIT = Method(
    "/drover.v1.OperatorService/SetCircuit",
    circuit_pb2.SetCircuitRequest,
    circuit_pb2.SetCircuitResponse,
)
LIST_CIRCUITS = Method(
    "/drover.v1.OperatorService/ListCircuits",
    circuit_pb2.ListCircuitsRequest,
    circuit_pb2.ListCircuitsResponse,
)
CORDON_AGENT = Method(
    "/drover.v1.OperatorService/CordonAgent",
    circuit_pb2.CordonAgentRequest,
    circuit_pb2.CordonAgentResponse,
)
UNCORDON_AGENT = Method(
    "/drover.v1.OperatorService/UncordonAgent",
    circuit_pb2.UncordonAgentRequest,
    circuit_pb2.UncordonAgentResponse,
)
LIST_CORDONS = Method(
    "/drover.v1.OperatorService/ListCordons",
    circuit_pb2.ListCordonsRequest,
    circuit_pb2.ListCordonsResponse,
)
LIST_AGENTS = Method(
    "/drover.v1.OperatorService/ListAgents",
    agent_info_pb2.ListAgentsRequest,
    agent_info_pb2.ListAgentsResponse,
)
GET_AGENT = Method(
    "/drover.v1.OperatorService/GetAgent",
    agent_info_pb2.GetAgentRequest,
    agent_info_pb2.GetAgentResponse,
)
LIST_PARTITIONS = Method(
    "/drover.v1.OperatorService/ListPartitions",
    partition_pb2.ListPartitionsRequest,
    partition_pb2.ListPartitionsResponse,
)
LIST_HAND_OVERS = Method(
    "/drover.v1.OperatorService/ListHandOvers",
    partition_pb2.ListHandOversRequest,
    partition_pb2.ListHandOversResponse,
)
LIST_SUPERVISORS = Method(
    "/drover.v1.OperatorService/ListSupervisors",
    partition_pb2.ListSupervisorsRequest,
    partition_pb2.ListSupervisorsResponse,
)
LIST_INTERVENTIONS = Method(
    "/drover.v1.OperatorService/ListInterventions",
    intervention_pb2.ListInterventionsRequest,
    intervention_pb2.ListInterventionsResponse,
)
GET_OVERVIEW = Method(
    "/drover.v1.OperatorService/GetOverview",
    overview_pb2.GetOverviewRequest,
    overview_pb2.GetOverviewResponse,
)
WATCH_OVERVIEW = Method(
    "/drover.v1.OperatorService/WatchOverview",
    overview_pb2.WatchOverviewRequest,
    overview_pb2.WatchOverviewResponse,
)
GET_CLUSTER_INFO = Method(
    "/drover.v1.OperatorService/GetClusterInfo",
    overview_pb2.GetClusterInfoRequest,
    overview_pb2.GetClusterInfoResponse,
)
CREATE_NAMESPACE = Method(
    "/drover.v1.OperatorService/CreateNamespace",
    namespace_pb2.CreateNamespaceRequest,
    namespace_pb2.CreateNamespaceResponse,
)
GET_NAMESPACE = Method(
    "/drover.v1.OperatorService/GetNamespace",
    namespace_pb2.GetNamespaceRequest,
    namespace_pb2.GetNamespaceResponse,
)
SET_NAMESPACE_RETENTION = Method(
    "/drover.v1.OperatorService/SetNamespaceRetention",
    namespace_pb2.SetNamespaceRetentionRequest,
    namespace_pb2.SetNamespaceRetentionResponse,
)
GET_LIMITS = Method(
    "/drover.v1.OperatorService/GetLimits",
    namespace_pb2.GetLimitsRequest,
    namespace_pb2.GetLimitsResponse,
)
SET_NAMESPACE_LIMITS = Method(
    "/drover.v1.OperatorService/SetNamespaceLimits",
    namespace_pb2.SetNamespaceLimitsRequest,
    namespace_pb2.SetNamespaceLimitsResponse,
)
SET_NAMESPACE_LOGS = Method(
    "/drover.v1.OperatorService/SetNamespaceLogs",
    namespace_pb2.SetNamespaceLogsRequest,
    namespace_pb2.SetNamespaceLogsResponse,
)
LIST_NAMESPACES = Method(
    "/drover.v1.OperatorService/ListNamespaces",
    namespace_pb2.ListNamespacesRequest,
    namespace_pb2.ListNamespacesResponse,
)
CREATE_TOKEN = Method(
    "/drover.v1.OperatorService/CreateToken",
    token_pb2.CreateTokenRequest,
    token_pb2.CreateTokenResponse,
)
LIST_TOKENS = Method(
    "/drover.v1.OperatorService/ListTokens",
    token_pb2.ListTokensRequest,
    token_pb2.ListTokensResponse,
)
REVOKE_TOKEN = Method(
    "/drover.v1.OperatorService/RevokeToken",
    token_pb2.RevokeTokenRequest,
    token_pb2.RevokeTokenResponse,
)
