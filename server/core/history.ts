// What is recorded beside a run and its steps: what the supervisor did, what people were asked and
// said, and what the outside world has sent.
import type { EpochMs } from "./attempt.ts";
import type { Payload } from "./payload.ts";

/** The watches of the supervisor: the `rule` of an intervention. */
export type Rule =
  | "start"
  | "lease"
  | "delivery"
  | "attempt"
  | "stall"
  | "pickup"
  | "total"
  | "backoff"
  | "settle"
  | "timer"
  | "signal"
  | "approval"
  | "callback"
  | "deadline"
  | "late-effect"
  | "agent-circuit"
  | "queue-circuit"
  /** A session lists all that it holds, and leaves out a lease. */
  | "forgotten"
  /** An attempt runs far longer than others of its step have. */
  | "slow"
  | "integrity"
  /** The handling of the run fails again and again, and it rests. */
  | "failing";

export interface Intervention {
  /** null: about the run. */
  readonly step: number | null;
  readonly fence: number;
  readonly rule: Rule;
  /** Tells apart several of one rule about one fence (repeated pickup alarms). */
  readonly n: number;
  readonly saw: string;
  readonly did: string;
  readonly dueAt: EpochMs;
  readonly actedAt: EpochMs;
}

export type EscalationReason =
  | "undo-failed"
  | "poison"
  /** `effects: once`, and nobody knows whether the attempt took effect. */
  | "unknown"
  /** The verify could not tell, in all its tries. */
  | "unverified"
  | "expression"
  /** `on_failure: escalate`, or an `always` step. */
  | "step-failed"
  | "after-pivot"
  /** Nobody polls for the task, and `on_pickup` says escalate. */
  | "pickup"
  /** The deadline of a signal or an approval has passed. */
  | "expired"
  /** A stale attempt reports a success. Nothing waits for the answer. */
  | "doubled";

export type AnswerKind =
  | "retry"
  | "retry-changed"
  | "succeed"
  | "skip"
  | "compensate"
  | "fail"
  | "acknowledge";

/** An escalation as an answer finds it. */
export interface OpenEscalation {
  readonly n: number;
  readonly step: number;
  readonly reason: EscalationReason;
  /** null: it stands open. */
  readonly closedBy: string | null;
  /** Its next reminder, or its deadline; null: it is closed. */
  readonly wakeAt: EpochMs | null;
  /** null: it has none. */
  readonly deadlineAt: EpochMs | null;
  /** A person looks after it: nobody needs to be reminded. */
  readonly claimed: boolean;
}

/** A signal that was sent to the run. */
export interface StoredSignal {
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  readonly taken: boolean;
  readonly payload: Payload | null;
}

/** What one approver has said to an approval step. */
export interface Decision {
  readonly step: number;
  readonly approver: string;
  readonly approved: boolean;
}
