// What a run and its steps are at a moment: the state that the rules read and change.
//
//   Run      RUNNING → STOPPING → COMPENSATING → an end; ESCALATED beside RUNNING and COMPENSATING
//   Step     a forward state and, beside it, an undo state. At most one of the two is moving, that
//            is READY (a row in `ready`), LEASED (a row in `lease`) or BACKOFF (a row in `due`)
//
// The run counts instead of looking: `stepsLeft`, `moving` and `undosLeft` decide its state, so a
// pass loads only the steps that it touches (docs/ARCHITECTURE.md, "Counters, not counts").
import type { Payload } from "./payload.ts";

/** Milliseconds since 1970 by the database's clock. */
export type Moment = number;

/** What an agent is asked to do. `verify` comes with the outcomes that need it. */
export type TaskKind = "perform" | "compensate";

export interface Ready {
  readonly kind: "READY";
  readonly task: TaskKind;
  /** The fence that the next hand-out gets. */
  readonly fence: number;
  /** The number of the attempt that the next hand-out is. */
  readonly attempt: number;
  readonly readyAt: Moment;
  /**
   * An attempt may not run past this moment (what is left of `total` and of the run); null: no
   * bound.
   */
  readonly until: Moment | null;
  /** A session that should not get it, so that a lost task goes elsewhere. */
  readonly avoid: { readonly session: string; readonly until: Moment } | null;
  /** How often the pickup moment has passed. */
  readonly alarms: number;
  readonly wakeAt: Moment;
}

export type CancelCause = "run" | "timeout";

export type LeaseCancel =
  | { readonly kind: "none" }
  | { readonly kind: "asked"; readonly cause: CancelCause; readonly at: Moment }
  /** A beat has answered *cancel*: the lease ends at `by` whatever the agent does. */
  | { readonly kind: "heard"; readonly cause: CancelCause; readonly by: Moment };

export interface Lease {
  readonly kind: "LEASED";
  readonly task: TaskKind;
  readonly fence: number;
  readonly attempt: number;
  /** 16 random bytes of this hand-out, in hex. */
  readonly secret: string;
  /** The agent session that holds it, 16 bytes in hex. */
  readonly session: string;
  readonly agentId: string;
  /** The poll of that session which it was granted to. */
  readonly pollSeq: number;
  readonly grantedAt: Moment;
  readonly attemptBy: Moment;
  readonly heartbeatMs: number;
  readonly cancelMs: number;
  readonly cancel: LeaseCancel;
  readonly wakeAt: Moment;
}

export interface Backoff {
  readonly kind: "BACKOFF";
  readonly wakeAt: Moment;
}

/** A state in which something will happen by itself. */
export type Moving = Ready | Lease | Backoff;

export type Forward =
  | { readonly kind: "BLOCKED"; readonly waitingFor: number }
  | Moving
  | { readonly kind: "ESCALATED" }
  | { readonly kind: "SUCCEEDED" }
  | { readonly kind: "FAILED" }
  | { readonly kind: "CANCELLED" };

export type Undo =
  | { readonly kind: "NONE" }
  | { readonly kind: "PENDING" }
  | Moving
  | { readonly kind: "DONE" }
  | { readonly kind: "FAILED" };

/** What a strategy of a step may have left behind at the remote service. */
export type EffectMark = "NONE" | "UNSETTLED" | "MADE";

export interface Step {
  readonly no: number;
  readonly forward: Forward;
  readonly undo: Undo;
  readonly effect: EffectMark;
  /**
   * Perform and compensate tasks handed out and ended so far; a lease or a ready row has the next.
   */
  readonly fence: number;
  /** Tries that counted, of the forward strategy or, once it began, of the undo. */
  readonly attempt: number;
  /** Attempts lost in a row. */
  readonly lost: number;
  /** Tries by retry policy, in the plan's order; shorter than the list where none was counted. */
  readonly tries: readonly number[];
  readonly firstReadyAt: Moment | null;
  /** Nothing may be undone before: the end of a lost lease plus `settle`. */
  readonly settleUntil: Moment | null;
  /** The fence of the attempt whose output is the step's. */
  readonly resultFence: number | null;
}

export type EndKind = "COMPLETED" | "FAILED" | "COMPENSATED" | "CANCELLED";
export type Reason = "DONE" | "STEP_FAILED" | "TIMED_OUT" | "CANCELLED_BY_USER";

/** Why a run stops, and whether what it has done is undone once it has stopped. */
export interface Verdict {
  readonly reason: Exclude<Reason, "DONE">;
  readonly undo: boolean;
}

export type RunState =
  | { readonly kind: "RUNNING"; readonly deadline: Moment }
  | { readonly kind: "STOPPING"; readonly verdict: Verdict; readonly settleUntil: Moment | null }
  | { readonly kind: "COMPENSATING"; readonly verdict: Verdict }
  /**
   * No step can move without a person. `deadlineLeftMs` is what the deadline had left (no verdict).
   */
  | { readonly kind: "ESCALATED"; readonly verdict: null; readonly deadlineLeftMs: number }
  | { readonly kind: "ESCALATED"; readonly verdict: Verdict }
  | { readonly kind: EndKind; readonly reason: Reason };

export interface Run {
  readonly state: RunState;
  /** Grows by one with each pass that changes the run. */
  readonly version: number;
  /** Steps whose forward state is not final. */
  readonly stepsLeft: number;
  /** Steps whose forward or undo state is READY, LEASED or BACKOFF. */
  readonly moving: number;
  /** Effects that are to be undone and are not yet. */
  readonly undosLeft: number;
  readonly undone: number;
}

export type FailureClass = "transient" | "permanent";

/** How an attempt ended, as its agent says or as the supervisor finds. */
export type Outcome =
  | { readonly kind: "success"; readonly output: Payload | null }
  | {
      readonly kind: "failure";
      readonly class: FailureClass;
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs: number | null;
      readonly noEffect: boolean;
    }
  | { readonly kind: "unknown"; readonly code: string; readonly message: string }
  | { readonly kind: "released" }
  | { readonly kind: "cancelled"; readonly noEffect: boolean }
  /** Granted to a poll that ended without an answer. Only the supervisor's rules say so. */
  | { readonly kind: "undelivered" };

/**
 * Row kinds of `attempt`: the task that ended, a late report, or a failure that no agent reported.
 */
export type AttemptKind = TaskKind | "late" | "engine";

export interface Attempt {
  readonly step: number;
  readonly kind: AttemptKind;
  readonly fence: number;
  readonly attempt: number;
  readonly agentId: string | null;
  readonly session: string | null;
  readonly secret: string | null;
  readonly startedAt: Moment;
  readonly endedAt: Moment;
  readonly outcome: Outcome;
  /** SHA-256 prefix of the outcome as sent; null when the supervisor ended it. */
  readonly digest: string | null;
}

/** What a later report about an ended attempt is judged by. */
export interface EndedAttempt {
  readonly step: number;
  readonly kind: TaskKind;
  readonly fence: number;
  readonly attempt: number;
  readonly secret: string;
  readonly startedAt: Moment;
  readonly outcome: Outcome["kind"];
  /** Ended as `drover.lost`, which charged no retry policy. */
  readonly lost: boolean;
  /** Digest of the last report that was accepted for it; null when no agent has reported. */
  readonly digest: string | null;
}

/** The watches of the supervisor that exist so far: the `rule` of an intervention. */
export type Rule =
  | "lease"
  | "delivery"
  | "attempt"
  | "pickup"
  | "total"
  | "backoff"
  | "settle"
  | "deadline"
  | "late-effect";

export interface Intervention {
  /** null: about the run. */
  readonly step: number | null;
  readonly fence: number;
  readonly rule: Rule;
  /** Tells apart several of one rule about one fence (repeated pickup alarms). */
  readonly n: number;
  readonly saw: string;
  readonly did: string;
  readonly dueAt: Moment;
  readonly actedAt: Moment;
}

export type EscalationReason = "undo-failed" | "poison";

/**
 * The part of a run that a pass has loaded. Steps without a row are BLOCKED with all their needs.
 */
export interface View {
  readonly run: Run;
  readonly steps: ReadonlyMap<number, Step>;
  /** Ended attempts that reports of this pass may be about. */
  readonly attempts: readonly EndedAttempt[];
}

export function isMoving(state: Forward | Undo): state is Moving {
  return state.kind === "READY" || state.kind === "LEASED" || state.kind === "BACKOFF";
}

export function isFinal(forward: Forward): boolean {
  return forward.kind === "SUCCEEDED" || forward.kind === "FAILED" || forward.kind === "CANCELLED";
}

export function isEnded(state: RunState): state is Extract<RunState, { kind: EndKind }> {
  return (
    state.kind === "COMPLETED" ||
    state.kind === "FAILED" ||
    state.kind === "COMPENSATED" ||
    state.kind === "CANCELLED"
  );
}

/** The undo counts as left until it is DONE; a FAILED one waits for a person. */
export function isUndoLeft(undo: Undo): boolean {
  return undo.kind !== "NONE" && undo.kind !== "DONE";
}

/** The side of a step that is moving, if one is. */
export function movingSide(step: Step): { side: "forward" | "undo"; state: Moving } | null {
  if (isMoving(step.forward)) return { side: "forward", state: step.forward };
  if (isMoving(step.undo)) return { side: "undo", state: step.undo };
  return null;
}

/** The fence of the current attempt: the last perform or compensate task that was handed out. */
export function currentFence(step: Step): number {
  const moving = movingSide(step);
  return moving?.state.kind === "LEASED" ? moving.state.fence : step.fence;
}
