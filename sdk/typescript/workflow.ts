/**
 * A workflow as a plain, typed object with the words of the YAML form: an editor completes it, and
 * the server checks it. It contains everything that the server supports, and nothing else.
 */
import type { Duration } from "./duration.ts";

export interface WorkflowSpec {
  readonly workflow: string;
  /** Maximum duration of a run. Default 7 days. */
  readonly timeout?: Duration;
  /** JSON Schema for the input of a run. */
  readonly inputSchema?: unknown;
  readonly steps: readonly StepSpec[];
}

/** A step has exactly one kind. */
export type StepSpec = StepSettings & StepKindSpec;

export type StepKindSpec =
  /** Name of the task that an agent performs, and its queue; the default queue is "default". */
  | { readonly task: string; readonly queue?: string }
  /** A timer: a duration, or a time. */
  | { readonly wait: Duration | WaitSpec }
  /** Waits for `client.signal`, by the name of the signal only or with settings. */
  | { readonly signal: string | SignalWaitSpec }
  /** Waits for `client.decide`. */
  | { readonly approval: ApprovalSpec }
  /** One task for each item of a list; the settings of the step for its task apply to each item. */
  | { readonly map: MapSpec }
  /** Begins a run of a workflow, by its name only or with a version, and waits for its end. */
  | { readonly run: string | RunSpec };

export interface RunSpec {
  readonly workflow: string;
  /** Default: the default version at the time at which the run begins. */
  readonly version?: number;
}

/**
 * A duration, or a time: a Date, a text such as 2026-03-01T08:00:00Z, or an expression, `${...}`.
 */
export type WaitSpec =
  | { readonly for: Duration; readonly until?: never }
  | { readonly until: string | Date; readonly for?: never };

export interface SignalWaitSpec {
  readonly name: string;
  /** Default 7 days. */
  readonly within?: Duration;
  /** What follows when no signal has arrived by then. Default: a person is asked. */
  readonly onExpiry?: "escalate" | "fail" | "skip";
}

export interface ApprovalSpec {
  /** Names or roles of the people who may decide. Default: anyone may. */
  readonly approvers?: readonly string[];
  /** Number of approvals needed. Default 1. */
  readonly need?: number;
  /**
   * The person who started the run, named by its label `requester`, may not decide. Default false.
   */
  readonly notRequester?: boolean;
  /** JSON Schema of the form that an approver fills in. */
  readonly form?: unknown;
  /** Default 7 days. */
  readonly within?: Duration;
  /** What follows when too few people have decided by then. Default: another person is asked. */
  readonly onExpiry?: "escalate" | "reject" | "approve";
}

export type MapSpec = MapSettings & ToleratedSpec;

export interface MapSettings {
  /** An expression that gives a list, or a number of items that are then 0, 1, 2 and so on. */
  readonly over: string | number;
  readonly task: string;
  /** Default: "default"; may contain expressions, such as `deploy-${item.host}`. */
  readonly queue?: string;
  /** Maximum number of items in progress at the same time. Default 100. */
  readonly concurrency?: number;
  readonly waves?: WavesSpec;
}

/**
 * How many items may fail without failing the step: a number, or a percentage of all, 5 being 5 %.
 */
export type ToleratedSpec =
  /** Default 0. */
  | { readonly tolerate?: number; readonly toleratePercent?: never }
  | { readonly tolerate?: never; readonly toleratePercent?: number };

export type WavesSpec = WavesSettings & WaveSizeSpec;

/** Size of a wave: a number of items, or a percentage of all, 25 being a quarter. */
export type WaveSizeSpec =
  | { readonly size: number; readonly percent?: never }
  | { readonly size?: never; readonly percent: number };

export interface WavesSettings {
  /** Time from the end of a wave to its gate, or to the next wave. */
  readonly pause?: Duration;
  /** The task that lets the next wave begin by succeeding. */
  readonly gate?: string | GateSpec;
}

export interface GateSpec extends VerifySpec {
  /** Default: the run's input. */
  readonly input?: unknown;
}

/**
 * The settings from `input` to `onPickup` are for tasks and the items of maps. A `run` step has an
 * input, a fallback, `timeouts.total`, and a retry that names the codes drover.child-failed or
 * drover.child-cancelled.
 */
export interface StepSettings {
  readonly id: string;
  /** Steps that must have ended before this one starts. */
  readonly needs?: readonly string[];
  /** CEL; false: the step is skipped. */
  readonly when?: string;
  /** How the steps in `needs` must have ended. Default: `ended`. */
  readonly runIf?: "ended" | "all_ok" | "any_ok";
  /** A finally step: it runs once, last, however the run ends. */
  readonly always?: boolean;
  /** Once it has succeeded, the run is no longer undone: later failures ask a person. */
  readonly pivot?: boolean;
  /**
   * JSON, or a Payload; its strings may contain expressions. Default: the run's input; for a map,
   * the item.
   */
  readonly input?: unknown;
  /** The first policy that matches the code of a failure applies. */
  readonly retry?: RetrySpec | readonly RetrySpec[];
  readonly timeouts?: TimeoutsSpec;
  /** What a repeated attempt does to the remote service. Default: `idempotent`. */
  readonly effects?: "idempotent" | "verifiable" | "once";
  /** The task that finds out whether a lost attempt took effect; only with `verifiable`. */
  readonly verify?: string | VerifySpec;
  /** Other ways to try the step, in this order. */
  readonly fallback?: readonly FallbackSpec[];
  /** What happens when no agent polls for the task. Default: `alarm`. */
  readonly onPickup?: "alarm" | "escalate" | "fallback";
  /** The task that undoes the step, by its name only or with settings. */
  readonly compensate?: string | CompensateSpec;
  /** Default: compensate if an effect that can be undone exists by then, otherwise fail. */
  readonly onFailure?: "compensate" | "fail" | "continue" | "escalate";
  /** How long an escalation of the step stays open, and what follows then. */
  readonly escalation?: EscalationSpec;
  /** JSON Schema for the output. */
  readonly outputSchema?: unknown;
  /**
   * `off` for tasks that handle secrets: the lines that handlers log are not sent to the server.
   * Default: `on`.
   */
  readonly logs?: "on" | "off";
}

export interface EscalationSpec {
  /** Interval between reminders. Default 1 hour. */
  readonly remind?: Duration;
  /**
   * Time from the opening of the escalation to the answer that `then` gives; both or none. Default:
   * none.
   */
  readonly deadline?: Duration;
  readonly then?: "retry" | "skip" | "compensate" | "fail";
}

export interface VerifySpec {
  readonly task: string;
  /** Default: the queue of the step. */
  readonly queue?: string;
  readonly retry?: RetrySpec | readonly RetrySpec[];
  readonly timeouts?: TimeoutsSpec;
}

export interface CompensateSpec extends VerifySpec {
  /** Default: `finished`; `attempted` also undoes a step that failed part-way. */
  readonly when?: "finished" | "attempted";
}

/** Fields that are not given leave the step's value unchanged. */
export interface FallbackSpec {
  readonly queue?: string;
  readonly task?: string;
  /** Workflow to run instead, for a `run` step. */
  readonly run?: string | RunSpec;
  /** JSON object that is merged over the step's input, key by key. */
  readonly input?: unknown;
}

export interface RetrySpec {
  /** Codes of failures to which it applies. Default: all. */
  readonly on?: readonly string[];
  /** Maximum number of tries, the first included. Default 5, for an undo 10. */
  readonly attempts?: number;
  readonly initial?: Duration;
  readonly factor?: number;
  readonly max?: Duration;
  readonly jitter?: number;
}

export interface TimeoutsSpec {
  readonly pickup?: Duration;
  readonly attempt?: Duration;
  /** Length of the lease, at least 2 s. */
  readonly heartbeat?: Duration;
  /** How long the progress that a handler reports may stay unchanged. Default: off. */
  readonly stall?: Duration;
  readonly total?: Duration;
  readonly cancel?: Duration;
  readonly settle?: Duration;
  /** Time from `deferred()` until its outcome must have arrived. Default 24 hours. */
  readonly callback?: Duration;
}
