// A workflow definition as its author wrote it: without defaults, durations in milliseconds. It is
// stored; the plan that the rules use is derived from it (plan.ts).
import type { Payload } from "../model/payload.ts";

export interface RetryPolicy {
  /** Error codes that this policy applies to; empty: every code. */
  readonly on: readonly string[];
  /** Tries of one strategy under this policy, the first included. */
  readonly attempts: number;
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Share of the backoff that is random, 0 to 1: 0.2 gives 80 % to 120 %. */
  readonly jitter: number;
}

export interface Timeouts {
  /** The time in READY after which the supervisor checks whether agents poll for the task. */
  readonly pickupMs: number;
  /** One attempt, from its claim. */
  readonly attemptMs: number;
  /** Silence of the agent after which a lease ends. */
  readonly heartbeatMs: number;
  /** All strategies and retries of a step together, from its first READY. */
  readonly totalMs: number;
  /** Longest time without progress while the agent sends heartbeats; null: not checked. */
  readonly stallMs: number | null;
  /** From `deferred` until the outcome must have come by the callback token. */
  readonly callbackMs: number;
  /** From the heartbeat whose answer asks the agent to stop until its lease ends. */
  readonly cancelMs: number;
  /**
   * From the end of a lost lease until a task that could conflict with its late effect may start.
   */
  readonly settleMs: number;
}

export interface CompensateDefinition {
  readonly task: string;
  readonly queue?: string;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
  /** `attempted`: undo also a step that failed half-way. Default `finished`. */
  readonly when?: "finished" | "attempted";
}

export interface VerifyDefinition {
  readonly task: string;
  readonly queue?: string;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
}

/** Another way to try a step. A field that is left out stays as in the step. */
export interface FallbackDefinition {
  readonly queue?: string;
  readonly task?: string;
  /** Of a `run` step: the workflow that is run instead. */
  readonly workflow?: string;
  /** Version of that workflow; left out: its default version. */
  readonly version?: number;
  /** A JSON object that is merged over the step's input, key by key. */
  readonly input?: Payload;
}

/** The answer to an escalation after its deadline, applied as if a person had given it. */
export type DeadlineAnswer = "retry" | "skip" | "compensate" | "fail";

/** Reminders and deadline of the step's escalations. */
export interface EscalationDefinition {
  /** Time between two reminders. Default: one hour. */
  readonly remindMs?: number;
  /** From the escalation until `answer` is applied. Both are set, or neither. Default: none. */
  readonly deadlineMs?: number;
  /** `then` in the text of a workflow. */
  readonly answer?: DeadlineAnswer;
}

export type Effects = "idempotent" | "verifiable" | "once";
export type OnFailure = "compensate" | "fail" | "continue" | "escalate";
export type OnPickup = "alarm" | "escalate" | "fallback";
export type RunIf = "ended" | "all_ok" | "any_ok";
/** Whether lines that handlers log are stored. */
export type StepLogs = "on" | "off";
/** What follows when the deadline of a signal or an approval has passed. */
export type SignalExpiry = "escalate" | "fail" | "skip";
export type ApprovalExpiry = "escalate" | "reject" | "approve";

/** An agent performs it. A step without `kind` is a task. */
export interface TaskWork {
  readonly kind?: "task";
  readonly task: string;
  readonly queue?: string;
}

/** A timer. Exactly one of the two is set. */
export interface WaitWork {
  readonly kind: "wait";
  readonly forMs?: number;
  /** A time in RFC 3339, or an expression that gives one. */
  readonly until?: string;
}

interface SignalWork {
  readonly kind: "signal";
  readonly name: string;
  readonly withinMs?: number;
  readonly onExpiry?: SignalExpiry;
}

export interface ApprovalWork {
  readonly kind: "approval";
  /** Roles or names that may decide; empty: any person. */
  readonly approvers: readonly string[];
  /** Number of approvals that are needed. Default 1. */
  readonly need?: number;
  /** The requester of the run may not approve it. */
  readonly notRequester?: boolean;
  /** JSON Schema of the form that an approver fills in. */
  readonly form?: Payload;
  readonly withinMs?: number;
  readonly onExpiry?: ApprovalExpiry;
}

/** A task that decides after each wave whether the next one may begin. Only a success allows it. */
export interface GateDefinition {
  readonly task: string;
  readonly queue?: string;
  /** Default: the counts of the map so far. */
  readonly input?: Payload;
  readonly retry?: readonly Partial<RetryPolicy>[];
  readonly timeouts?: Partial<Timeouts>;
}

/** Items begin in waves. Exactly one of `size` and `percent` is set. */
export interface WavesDefinition {
  readonly size?: number;
  /** Percent of all items, rounded up. */
  readonly percent?: number;
  /** From the end of a wave to its gate, or to the next wave if there is no gate. */
  readonly pauseMs?: number;
  readonly gate?: GateDefinition;
}

/**
 * One task for each item of a list. The task settings of the step (input, retry, timeouts, effects,
 * verify, compensate, fallback, output_schema) apply to each item.
 */
export interface MapWork {
  readonly kind: "map";
  /** An expression that gives a list, or a number n for the items 0 to n - 1. */
  readonly over: string;
  readonly task: string;
  /** May contain expressions, such as `deploy-${item.host}`. */
  readonly queue?: string;
  /** Items that are open at the same time. Default 100, at most 1,000. */
  readonly concurrency?: number;
  /** Items that may fail without failing the step. At most one of the two is set. Default 0. */
  readonly tolerate?: number;
  readonly toleratePercent?: number;
  readonly waves?: WavesDefinition;
}

/** A run of another workflow, or of the same one, with the step's input. */
export interface RunWork {
  readonly kind: "run";
  readonly workflow: string;
  /** Left out: the default version when the run begins. */
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
  /** Runs once, after all other steps and after compensation, however the run ends. */
  readonly always?: boolean;
  /** Once it has succeeded, later failures escalate and never compensate. */
  readonly pivot?: boolean;
  /** JSON Schema of the output. An output that violates it is the failure drover.schema. */
  readonly outputSchema?: Payload;
  /** Default on. */
  readonly logs?: StepLogs;
}

export type StepDefinition = StepRules & StepWork;

export interface Definition {
  readonly workflow: string;
  readonly timeoutMs?: number;
  /** JSON Schema of the input of a run, checked before the run is stored. */
  readonly inputSchema?: Payload;
  readonly steps: readonly StepDefinition[];
}
