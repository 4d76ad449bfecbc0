// A workflow definition as its author wrote it: only what was said, durations in milliseconds.
// It is stored; the plan that the rules work with is derived from it (plan.ts).
import type { Payload } from "./payload.ts";

export interface RetryPolicy {
  /** Error codes that this policy answers; empty answers every code. */
  readonly on: readonly string[];
  /** Tries of one strategy under this policy, the first included. */
  readonly attempts: number;
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Share of the backoff that is drawn at random, 0 to 1: 0.2 is 80 % to 120 %. */
  readonly jitter: number;
}

export interface Timeouts {
  /** READY without a taker for so long is looked at. */
  readonly pickupMs: number;
  /** One attempt from its grant. */
  readonly attemptMs: number;
  /** Silence of the agent that ends a lease. */
  readonly heartbeatMs: number;
  /** All strategies and retries of a step from its first READY. */
  readonly totalMs: number;
  /** Progress that stands still for so long while the agent sends heartbeats; null: not watched. */
  readonly stallMs: number | null;
  /** From `deferred` until its outcome must have come by the callback token. */
  readonly callbackMs: number;
  /** From the heartbeat that told the agent to stop until its lease ends. */
  readonly cancelMs: number;
  /** From the end of a lost lease until anything that could meet its late effect may start. */
  readonly settleMs: number;
}

export interface CompensateDefinition {
  readonly task: string;
  readonly queue?: string;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
  /** `attempted`: also a step that failed half-way. Default `finished`. */
  readonly when?: "finished" | "attempted";
}

export interface VerifyDefinition {
  readonly task: string;
  readonly queue?: string;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
}

/** Another way to try a step: what is absent stays as it was. */
export interface FallbackDefinition {
  readonly queue?: string;
  readonly task?: string;
  /** Of a `run` step: what is run instead. */
  readonly workflow?: string;
  /** Of that workflow; absent: its default one. */
  readonly version?: number;
  /** A JSON object that is merged over the step's input, key by key. */
  readonly input?: Payload;
}

/** What follows when nobody has answered an escalation in time: as if a person had said so. */
export type DeadlineAnswer = "retry" | "skip" | "compensate" | "fail";

/** How long an escalation of the step is asked. */
export interface EscalationDefinition {
  /** From one reminder to the next. Default an hour. */
  readonly remindMs?: number;
  /** From the question to the answer that follows then; both or none. Default: none. */
  readonly deadlineMs?: number;
  /** `then` in the text of a workflow. */
  readonly answer?: DeadlineAnswer;
}

export type Effects = "idempotent" | "verifiable" | "once";
export type OnFailure = "compensate" | "fail" | "continue" | "escalate";
export type OnPickup = "alarm" | "escalate" | "fallback";
export type RunIf = "ended" | "all_ok" | "any_ok";
/** What follows when the deadline of a signal or an approval has passed. */
export type SignalExpiry = "escalate" | "fail" | "skip";
export type ApprovalExpiry = "escalate" | "reject" | "approve";

/** An agent performs it. A step without `kind` is a task. */
export interface TaskWork {
  readonly kind?: "task";
  readonly task: string;
  readonly queue?: string;
}

/** A timer: exactly one of the two. */
export interface WaitWork {
  readonly kind: "wait";
  readonly forMs?: number;
  /** A moment in RFC 3339, or an expression that gives one. */
  readonly until?: string;
}

export interface SignalWork {
  readonly kind: "signal";
  readonly name: string;
  readonly withinMs?: number;
  readonly onExpiry?: SignalExpiry;
}

export interface ApprovalWork {
  readonly kind: "approval";
  /** Roles or names that may answer; empty: anybody. */
  readonly approvers: readonly string[];
  /** How many have to approve. Default 1. */
  readonly need?: number;
  /** Who started the run may not approve it. */
  readonly notRequester?: boolean;
  /** JSON Schema of what an approver fills in. */
  readonly form?: Payload;
  readonly withinMs?: number;
  readonly onExpiry?: ApprovalExpiry;
}

/** A task that decides after each wave whether the next one may begin: only a success lets it. */
export interface GateDefinition {
  readonly task: string;
  readonly queue?: string;
  /** Default: the counts of the map so far. */
  readonly input?: Payload;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
}

/** Items begin a wave at a time: exactly one of `size` and `percent`. */
export interface WavesDefinition {
  readonly size?: number;
  /** Of all items, rounded up. */
  readonly percent?: number;
  /** From the end of a wave to its gate, or to the next wave. */
  readonly pauseMs?: number;
  readonly gate?: GateDefinition;
}

/**
 * One task for each item of a list. What the step says of a task (input, retry, timeouts, effects,
 * verify, compensate, fallback, output_schema) it says of each item.
 */
export interface MapWork {
  readonly kind: "map";
  /** An expression: a list, or a number of items that are then 0, 1, 2 and so on. */
  readonly over: string;
  readonly task: string;
  /** May have expressions, as `deploy-${item.host}`. */
  readonly queue?: string;
  /** Items under way at the same time. Default 100, at most 1,000. */
  readonly concurrency?: number;
  /** Items that may fail without failing the step; at most one of the two. Default 0. */
  readonly tolerate?: number;
  readonly toleratePercent?: number;
  readonly waves?: WavesDefinition;
}

/** A run of another workflow, or of the same one, with the step's input. */
export interface RunWork {
  readonly kind: "run";
  readonly workflow: string;
  /** Absent: the default one when the run begins. */
  readonly version?: number;
}

export type StepWork = TaskWork | WaitWork | SignalWork | ApprovalWork | RunWork | MapWork;

export interface StepRules {
  readonly id: string;
  readonly needs: readonly string[];
  readonly input?: Payload;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
  readonly effects?: Effects;
  readonly verify?: VerifyDefinition;
  readonly compensate?: CompensateDefinition;
  readonly fallback?: readonly FallbackDefinition[];
  readonly onFailure?: OnFailure;
  readonly onPickup?: OnPickup;
  readonly escalation?: EscalationDefinition;
  readonly runIf?: RunIf;
  /** A CEL condition; false makes the step SKIPPED. */
  readonly when?: string;
  /** Runs once, last, whatever happened, after compensation too. */
  readonly always?: boolean;
  /** Once it has succeeded, later failures escalate and never compensate. */
  readonly pivot?: boolean;
  /** JSON Schema that an output has to keep; one that breaks it is the failure drover.schema. */
  readonly outputSchema?: Payload;
}

export type StepDefinition = StepRules & StepWork;

export interface Definition {
  readonly workflow: string;
  readonly timeoutMs?: number;
  /** JSON Schema that the input of a run has to keep; checked before a run is stored. */
  readonly inputSchema?: Payload;
  readonly steps: readonly StepDefinition[];
}
