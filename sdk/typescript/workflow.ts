/**
 * A workflow as a plain object, typed, with the words of the YAML dialect: an editor completes it,
 * and the server checks it. It holds what the server can run today, nothing else.
 */
import type { Duration } from "./duration.ts";

export interface WorkflowSpec {
  readonly workflow: string;
  /** Longest time of a run. Default 7 days. */
  readonly timeout?: Duration;
  /** JSON Schema that the input of a run has to keep. */
  readonly inputSchema?: unknown;
  readonly steps: readonly StepSpec[];
}

/** A step is of exactly one kind. */
export type StepSpec = StepSettings & StepKindSpec;

export type StepKindSpec =
  /** Name of the task that an agent performs, and its queue, by default "default". */
  | { readonly task: string; readonly queue?: string }
  /** A timer: so long, or until a moment. */
  | { readonly wait: Duration | WaitSpec }
  /** Waits for `client.signal`, by the name of the signal alone or with its own settings. */
  | { readonly signal: string | SignalWaitSpec }
  /** Waits for `client.decide`. */
  | { readonly approval: ApprovalSpec }
  /** One task for each item of a list; what the step says of a task it says of each item. */
  | { readonly map: MapSpec }
  /** Begins a run of a workflow, by its name alone or with a version, and waits for its end. */
  | { readonly run: string | RunSpec };

export interface RunSpec {
  readonly workflow: string;
  /** Default: the default version when the run begins. */
  readonly version?: number;
}

/** So long, or until a moment: a Date, text as 2026-03-01T08:00:00Z, or an expression, `${...}`. */
export type WaitSpec =
  | { readonly for: Duration; readonly until?: never }
  | { readonly until: string | Date; readonly for?: never };

export interface SignalWaitSpec {
  readonly name: string;
  /** Default 7 days. */
  readonly within?: Duration;
  /** What follows when none has come by then. Default: a person is asked. */
  readonly onExpiry?: "escalate" | "fail" | "skip";
}

export interface ApprovalSpec {
  /** Names or roles of those who may decide. Default: anybody. */
  readonly approvers?: readonly string[];
  /** How many have to approve. Default 1. */
  readonly need?: number;
  /** Who started the run, as its label `requester` says, may not decide. Default false. */
  readonly notRequester?: boolean;
  /** JSON Schema of what an approver fills in. */
  readonly form?: unknown;
  /** Default 7 days. */
  readonly within?: Duration;
  /** What follows when too few have decided by then. Default: another person is asked. */
  readonly onExpiry?: "escalate" | "reject" | "approve";
}

export type MapSpec = MapSettings & ToleratedSpec;

export interface MapSettings {
  /** An expression that gives a list, or a number of items that are then 0, 1, 2 and so on. */
  readonly over: string | number;
  readonly task: string;
  /** By default "default"; may hold expressions, as `deploy-${item.host}`. */
  readonly queue?: string;
  /** Items under way at the same time. Default 100. */
  readonly concurrency?: number;
  readonly waves?: WavesSpec;
}

/** How many items may fail without failing the step: so many, or a share of all, 5 being 5 %. */
export type ToleratedSpec =
  /** Default 0. */
  | { readonly tolerate?: number; readonly toleratePercent?: never }
  | { readonly tolerate?: never; readonly toleratePercent?: number };

export type WavesSpec = WavesSettings & WaveSizeSpec;

/** How many items a wave has: so many, or a share of all, 25 being a quarter. */
export type WaveSizeSpec =
  | { readonly size: number; readonly percent?: never }
  | { readonly size?: never; readonly percent: number };

export interface WavesSettings {
  /** From the end of a wave to its gate, or to the next wave. */
  readonly pause?: Duration;
  /** The task that lets the next wave begin by succeeding. */
  readonly gate?: string | GateSpec;
}

export interface GateSpec extends VerifySpec {
  /** Default: the run's input. */
  readonly input?: unknown;
}

/**
 * Those from `input` to `onPickup` are for tasks and the items of maps; a `run` has an input, a
 * fallback, `timeouts.total`, and a retry that names the codes drover.child-failed or
 * drover.child-cancelled.
 */
export interface StepSettings {
  readonly id: string;
  /** Steps that must have ended before this one starts. */
  readonly needs?: readonly string[];
  /** CEL; false: the step is skipped. */
  readonly when?: string;
  /** How the steps that it needs must have ended. Default: `ended`. */
  readonly runIf?: "ended" | "all_ok" | "any_ok";
  /** A finally step: runs once, last, whatever happened. */
  readonly always?: boolean;
  /** Once it has succeeded, there is no way back: later failures ask a person. */
  readonly pivot?: boolean;
  /**
   * JSON, or a Payload; its strings may hold expressions. Default: the run's input; of a map, the
   * item.
   */
  readonly input?: unknown;
  /** The first policy that matches the code of a failure decides. */
  readonly retry?: RetrySpec | readonly RetrySpec[];
  readonly timeouts?: TimeoutsSpec;
  /** What a repeated attempt does to the world. Default: `idempotent`. */
  readonly effects?: "idempotent" | "verifiable" | "once";
  /** The task that finds out whether a lost attempt took effect; with `verifiable` alone. */
  readonly verify?: string | VerifySpec;
  /** Other ways to try it, in this order. */
  readonly fallback?: readonly FallbackSpec[];
  /** What happens when nobody polls for the task. Default: `alarm`. */
  readonly onPickup?: "alarm" | "escalate" | "fallback";
  /** The task that undoes the step, by its name alone or with its own settings. */
  readonly compensate?: string | CompensateSpec;
  /** Default: compensate if an effect that can be undone exists by then, else fail. */
  readonly onFailure?: "compensate" | "fail" | "continue" | "escalate";
  /** How long an escalation of the step is asked, and what follows then. */
  readonly escalation?: EscalationSpec;
  /** JSON Schema that the output has to keep. */
  readonly outputSchema?: unknown;
}

export interface EscalationSpec {
  /** From one reminder to the next. Default 1 hour. */
  readonly remind?: Duration;
  /** From the question to the answer that `then` gives; both or none. Default: none. */
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
  /** Default: `finished`; `attempted` also undoes a step that failed half-way. */
  readonly when?: "finished" | "attempted";
}

/** What is not given stays as it was. */
export interface FallbackSpec {
  readonly queue?: string;
  readonly task?: string;
  /** Workflow to run instead, of a `run` step. */
  readonly run?: string | RunSpec;
  /** JSON object that is merged over the step's input, key by key. */
  readonly input?: unknown;
}

export interface RetrySpec {
  /** Codes of failures that it is for. Default: all. */
  readonly on?: readonly string[];
  /** Tries in all, the first included. Default 5, to undo 10. */
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
  /** How long the progress that a handler reports may stand still. Default: off. */
  readonly stall?: Duration;
  readonly total?: Duration;
  readonly cancel?: Duration;
  readonly settle?: Duration;
  /** From `deferred()` until its outcome must have come. Default 24 hours. */
  readonly callback?: Duration;
}
