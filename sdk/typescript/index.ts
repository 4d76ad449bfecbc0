/**
 * The SDK: `createClient` starts runs and asks after them, `createAgent` performs their steps.
 */
export { type Agent, type AgentOptions, createAgent } from "./agent.ts";
export { type CallCode, type CallField, DroverCallError } from "./call-error.ts";
export {
  type CallControl,
  type CancelSpec,
  type Client,
  type ClientOptions,
  createClient,
  type GetRunSpec,
  type ListRunsSpec,
  type Registered,
  type RunDetails,
  type RunName,
  type RunPage,
  type RunSnapshot,
  type Scheduled,
  type ScheduleSpec,
} from "./client.ts";
export type { Clock, Timer } from "./clock.ts";
export { type Duration, durationMs } from "./duration.ts";
export type { Handler, ProgressMark, Read, Task, TaskContext } from "./handler.ts";
export type { Logger } from "./logger.ts";
export { bytes, json, type Parse, type Payload } from "./payload.ts";
export type { Attempt, Escalation, Failure, Intervention, Run, Step } from "./runs.ts";
export {
  CancelledError,
  PermanentError,
  type StopKind,
  TaskStopped,
  TransientError,
  UnknownError,
} from "./task-errors.ts";
export type {
  CompensateSpec,
  RetrySpec,
  StepSpec,
  TimeoutsSpec,
  WorkflowSpec,
} from "./workflow.ts";
