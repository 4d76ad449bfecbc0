/**
 * The SDK: `createClient` starts runs and reads their state, `createAgent` performs their steps.
 */
export { type Agent, type AgentOptions, createAgent } from "./agent.ts";
export {
  type Answer,
  again,
  cannotTell,
  deferred,
  didNotHappen,
  happened,
} from "./answers.ts";
export type { Approval, ApprovalPage, Approvals, ListApprovalsSpec } from "./approvals.ts";
export type { BulkAction, BulkResult, BulkSpec } from "./bulk-actions.ts";
export type { CallControl } from "./call.ts";
export {
  type CallCode,
  type CallErrorDetails,
  type CallField,
  DroverCallError,
} from "./call-error.ts";
export type {
  Circuit,
  CircuitName,
  CircuitPage,
  Circuits,
  Cordon,
  CordonName,
  SaySpec,
} from "./circuits.ts";
export { type Client, type ClientOptions, createClient } from "./client.ts";
export type { Clock, Timer } from "./clock.ts";
export { aesGcmCodec, type Codec } from "./codec.ts";
export type {
  CancelSpec,
  Commands,
  Decided,
  DecideSpec,
  DeferredOutcome,
  ReasonSpec,
  Signalled,
  SignalSpec,
} from "./commands.ts";
export type { Connection, Tls } from "./connection.ts";
export { type Duration, durationMs } from "./duration.ts";
export { ErrorReason } from "./error-reason.ts";
export type {
  ClaimSpec,
  EscalationDetails,
  EscalationPage,
  Escalations,
  ListEscalationsSpec,
  Resolved,
  ResolveSpec,
} from "./escalations.ts";
export type {
  AgentWait,
  LaneWait,
  PersonAction,
  RunExplanation,
  RunWait,
  Tried,
} from "./explanation.ts";
export type { Handler, ProgressMark, Read, Task, TaskContext } from "./handler.ts";
export type {
  Delivery,
  DeliveryPage,
  Hook,
  HookEvent,
  HookSpec,
  Hooks,
  ListDeliveriesSpec,
} from "./hooks.ts";
export type { Logger } from "./logger.ts";
export type {
  Namespace,
  NamespaceLimits,
  NamespacePage,
  Namespaces,
} from "./namespaces.ts";
export type {
  AgentDetails,
  AgentInfo,
  AgentPage,
  AttemptCounts,
  ClusterInfo,
  FailingAgent,
  HandOver,
  HandOverPage,
  HeldTask,
  InterventionPage,
  ListAgentsSpec,
  ListHandOversSpec,
  ListInterventionsSpec,
  Operations,
  Overview,
  PageSpec,
  Partition,
  PartitionPage,
  Supervisor,
} from "./operations.ts";
export { bytes, json, type Parse, type Payload } from "./payload.ts";
export type {
  Pause,
  PinOf,
  PinSpec,
  Queue,
  QueueDetails,
  QueueLimits,
  QueuePage,
  Queues,
  QueueTask,
  VersionPin,
} from "./queues.ts";
export type { Rerun, RerunSpec, RetrySpec as RetryRunSpec } from "./reruns.ts";
export type { RunFilterSpec } from "./run-filter.ts";
export type {
  Attempt,
  Decision,
  Escalation,
  EscalationAnswer,
  Intervention,
  ReceivedSignal,
  RunWarning,
  Setting,
} from "./run-history.ts";
export type { RunName } from "./run-name.ts";
export { type OutputQueries, RunNotCompletedError, type RunOutputs } from "./run-outputs.ts";
export type {
  GetRunSpec,
  ItemPage,
  ListItemsSpec,
  ListRunsSpec,
  RunDetails,
  RunPage,
} from "./run-queries.ts";
export type { RunSnapshot } from "./run-watch.ts";
export type { Concurrency, Failure, Run, RunSubstateCount, Step } from "./runs.ts";
export type {
  ConcurrencySpec,
  InputSpec,
  ScheduleSettings,
  ScheduleSpec,
} from "./schedule-spec.ts";
export type {
  BackfillOccurrence,
  BackfillSpec,
  CalendarSpec,
  Occurrence,
  Overlap,
  RecurringSpec,
  Schedule,
  SchedulePage,
  Schedules,
  ScheduleTime,
} from "./schedules.ts";
export { type Given, type Received, type Schema, unchecked } from "./schema.ts";
export type { BatchResult, Scheduled, Starts } from "./starts.ts";
export {
  defineTask,
  type TaskDefinition,
  type TaskKind,
  type TaskSchemas,
} from "./task-definition.ts";
export {
  CancelledError,
  PermanentError,
  type StopKind,
  TaskStopped,
  TransientError,
  UnknownError,
} from "./task-errors.ts";
export type {
  HmacSpec,
  RunEndSpec,
  TriggerAction,
  TriggerSource,
  TriggerSpec,
} from "./trigger-spec.ts";
export type { Refusal, Tried as TriedTrigger, Trigger, Triggers, TrySpec } from "./triggers.ts";
export {
  type BoundHandler,
  type HandlerResult,
  handle,
  type TypedHandler,
} from "./typed-handler.ts";
export type {
  ApprovalSpec,
  CompensateSpec,
  EscalationSpec,
  FallbackSpec,
  GateSpec,
  MapSpec,
  RetrySpec,
  RunSpec,
  SignalWaitSpec,
  StepKindSpec,
  StepSpec,
  TimeoutsSpec,
  VerifySpec,
  WaitSpec,
  WavesSpec,
  WorkflowSpec,
} from "./workflow.ts";
export {
  defineWorkflow,
  type OutputsOf,
  type WorkflowDefinition,
  type WorkflowWithSteps,
} from "./workflow-definition.ts";
export {
  type BoundStep,
  type Expression,
  type Mapping,
  step,
  type TaskFallback,
  type TaskStepSpec,
} from "./workflow-step.ts";
export type {
  MovedDefault,
  Registered,
  WorkflowDetails,
  WorkflowPage,
  WorkflowSummary,
  Workflows,
  WorkflowVersion,
} from "./workflows.ts";
