// Records beside a run and its steps: interventions of the supervisor, escalations, signals, and
// decisions of approvers.
import type { EpochMs } from "./attempt.ts";
import type { Payload } from "./payload.ts";

/** The checks of the supervisor: the `rule` of an intervention. */
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
  /** A session listed all tasks that it holds, without one of its leases. */
  | "forgotten"
  /** An attempt runs far longer than the typical duration of its step. */
  | "slow"
  | "integrity"
  /** Handling the run fails again and again, and the supervisor suspends it for a while. */
  | "failing";

export interface Intervention {
  /** null: it is about the run. */
  readonly step: number | null;
  readonly fence: number;
  readonly rule: Rule;
  /** Distinguishes interventions of one rule about one fence (repeated pickup alarms). */
  readonly n: number;
  readonly saw: string;
  readonly did: string;
  readonly dueAt: EpochMs;
  readonly actedAt: EpochMs;
}

export type EscalationReason =
  | "undo-failed"
  | "poison"
  /** `effects: once`, and it is unknown whether the attempt took effect. */
  | "unknown"
  /** All tries of the verify were inconclusive. */
  | "unverified"
  | "expression"
  /** `on_failure: escalate`, or an `always` step. */
  | "step-failed"
  | "after-pivot"
  /** No agent polls for the task, and `on_pickup` says escalate. */
  | "pickup"
  /** The deadline of a signal or an approval has passed. */
  | "expired"
  /** An attempt that is no longer current reports a success. Nothing waits for the answer. */
  | "doubled";

export type AnswerKind =
  | "retry"
  | "retry-changed"
  | "succeed"
  | "skip"
  | "compensate"
  | "fail"
  | "acknowledge";

/** The part of an escalation that the rules need for an answer. */
export interface OpenEscalation {
  readonly n: number;
  readonly step: number;
  readonly reason: EscalationReason;
  /** null: it is open. */
  readonly closedBy: string | null;
  /** Due time of its next reminder, or of its deadline; null: it is closed. */
  readonly wakeAt: EpochMs | null;
  /** null: no deadline. */
  readonly deadlineAt: EpochMs | null;
  /** A person has claimed it, so hooks need no reminders. */
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

/** The decision of one approver about an approval step. */
export interface Decision {
  readonly step: number;
  readonly approver: string;
  readonly approved: boolean;
}
