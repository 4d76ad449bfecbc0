// What a run and its steps are at a moment: the state that the rules read and change.
//
//   Run      PENDING → RUNNING → STOPPING → COMPENSATING → FINISHING → an end; PAUSED and ESCALATED
//            beside
//   Step     a forward state and, beside it, an undo state. At most one of the two is moving, that
//            is READY (found by its lane), LEASED (found by its session), BACKOFF or WAITING (with
//            a timer), or HELD (ready, but its run is paused). A map is MAPPING while its items
//            move: they are steps of their own, and it counts them
//
// The run counts instead of looking: its counters decide its state, so a pass loads only the steps
// that it touches (docs/ARCHITECTURE.md, "Pure core").
import type { AttemptKind, EndedAttempt, EpochMs, TaskKind } from "./attempt.ts";
import type { Facts } from "./facts.ts";
import type { Decision, OpenEscalation, StoredSignal } from "./history.ts";
import type { ItemOutputs, Items } from "./items.ts";
import type { StoredMessage } from "./message.ts";
import type { Strategy } from "./strategy.ts";

export interface Ready {
  readonly kind: "READY";
  readonly task: TaskKind;
  /**
   * The fence that the next hand-out gets. A verify raises none: it has that of the attempt which
   * it is about.
   */
  readonly fence: number;
  /** The number of the attempt that the next hand-out is; verifies are numbered by themselves. */
  readonly attempt: number;
  readonly readyAt: EpochMs;
  /**
   * An attempt may not run past this moment (what is left of `total` and of the run); null: no
   * bound.
   */
  readonly until: EpochMs | null;
  /** A session that should not get it, so that a lost task goes elsewhere. */
  readonly avoid: { readonly session: string; readonly until: EpochMs } | null;
  /** How often the pickup moment has passed. */
  readonly alarms: number;
  readonly wakeAt: EpochMs;
}

export type CancelCause = "run" | "timeout" | "stalled";

export type LeaseCancel =
  | { readonly kind: "none" }
  | { readonly kind: "asked"; readonly cause: CancelCause; readonly at: EpochMs }
  /** A heartbeat has answered *cancel*: the lease ends at `by` whatever the agent does. */
  | { readonly kind: "heard"; readonly cause: CancelCause; readonly by: EpochMs };

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
  readonly grantedAt: EpochMs;
  readonly attemptBy: EpochMs;
  readonly heartbeatMs: number;
  readonly cancelMs: number;
  /** Progress may stand still for so long; null: it is not watched. */
  readonly stallMs: number | null;
  /** When the progress last changed; the grant, while none was reported. */
  readonly progressAt: EpochMs;
  readonly cancel: LeaseCancel;
  /** When it was found to run far longer than others of its step; null: it was not. */
  readonly suspectAt: EpochMs | null;
  readonly wakeAt: EpochMs;
}

/** Why a task is not handed out before a moment. */
export type BackoffCause =
  /** A policy spaces its tries. */
  | "retry"
  /** The agent asked to be asked again. */
  | "again"
  /** A lost attempt may still act until then. */
  | "settle";

export interface Backoff {
  readonly kind: "BACKOFF";
  /** What is handed out then. */
  readonly task: TaskKind;
  readonly cause: BackoffCause;
  readonly wakeAt: EpochMs;
}

/** What a step waits for that no agent holds. */
export type WaitingFor =
  | "timer"
  | "signal"
  | "approval"
  | "callback"
  /** A child run. */
  | "child"
  /** The end of a child run that was told to stop. */
  | "child-end"
  /** What a map does next with its items has a pass of its own, which loads what it needs. */
  | "items";

export interface Waiting {
  readonly kind: "WAITING";
  readonly on: WaitingFor;
  readonly wakeAt: EpochMs;
}

/** Ready while its run is paused: not in its queue; resuming puts it there. */
export interface Held {
  readonly kind: "HELD";
  readonly task: TaskKind;
}

/** A state in which something will happen by itself, or on resume. */
export type Moving = Ready | Lease | Backoff | Waiting | Held;

export type Forward =
  /** Of its needs, how many have not ended, have succeeded, and were skipped. */
  | {
      readonly kind: "BLOCKED";
      readonly waitingFor: number;
      readonly ok: number;
      readonly skipped: number;
    }
  | Moving
  | { readonly kind: "MAPPING" }
  /** The strategy that it leaves is undone first, by its undo side; `doubt` says what follows. */
  | { readonly kind: "UNDOING" }
  | { readonly kind: "ESCALATED" }
  | { readonly kind: "SUCCEEDED" }
  | { readonly kind: "FAILED" }
  | { readonly kind: "SKIPPED" }
  | { readonly kind: "CANCELLED" };

export type Undo =
  | { readonly kind: "NONE" }
  | { readonly kind: "PENDING" }
  | Moving
  | { readonly kind: "MAPPING" }
  | { readonly kind: "DONE" }
  | { readonly kind: "FAILED" };

/** What stands in the way of a step now. */
export interface Setback {
  readonly code: string;
  readonly message: string;
  readonly permanent: boolean;
  /** Nobody knows whether the attempt took effect. */
  readonly unknown: boolean;
  readonly retryAfterMs: number | null;
  /** The session that lost it; null when it was not lost. */
  readonly lostBy: string | null;
}

/** A setback that recovery continues with once a verify, or an undo, has settled the effect. */
export interface UnknownOutcome extends Setback {
  /** Verifies that could not tell. */
  readonly tries: number;
}

/** The attempt that has a step's output. */
export interface ResultRef {
  readonly fence: number;
  readonly kind: AttemptKind;
  /** Tells apart rows of one fence and kind: the number of a verify, else 0. */
  readonly n: number;
}

export interface Step {
  /** Its place: the number of the step, and which item of it (step-key.ts). */
  readonly no: number;
  readonly forward: Forward;
  readonly undo: Undo;
  /** The strategies begun so far; the last one is current. Never empty. */
  readonly strategies: readonly Strategy[];
  /**
   * Perform and compensate tasks handed out and ended so far; a lease or a ready task has the next.
   */
  readonly fence: number;
  /** Tries that counted, of the current strategy or, once it began, of the undo. */
  readonly attempt: number;
  /** Attempts lost in a row. */
  readonly lost: number;
  /** Tries by retry policy, in the plan's order; shorter than the list where none was counted. */
  readonly tries: readonly number[];
  /** A verify or an undo has to settle the effect of the strategy first; null: nothing has to. */
  readonly doubt: UnknownOutcome | null;
  /** Verify tasks about this fence that were handed out and ended; they number the next. */
  readonly verifies: number;
  /** Moved on by the time that its run was paused or escalated. */
  readonly firstReadyAt: EpochMs | null;
  /** Nothing that could meet a lost attempt may start before: its lease's end plus `settle`. */
  readonly settleUntil: EpochMs | null;
  readonly result: ResultRef | null;
  /** Of a map that has begun. */
  readonly items: Items | null;
}

export type EndKind = "COMPLETED" | "FAILED" | "COMPENSATED" | "CANCELLED";
export type Reason =
  | "DONE"
  | "STEP_FAILED"
  | "TIMED_OUT"
  | "CANCELLED_BY_USER"
  /** It ended before it began: nothing of it has run. */
  | "NEVER_STARTED"
  /**
   * It was to start when there was no slot, and does not wait for one; or it is a child, and its
   * workflow does not take the input.
   */
  | "REFUSED"
  | "CANCELLED_BY_NEWER";

/** Why a run stops, and whether what it has done is undone once it has stopped. */
export interface StopReason {
  readonly reason: Exclude<Reason, "DONE" | "NEVER_STARTED" | "REFUSED">;
  readonly undo: boolean;
}

export interface End {
  readonly kind: EndKind;
  readonly reason: Reason;
}

/** What a run was doing when no step could move without a person. */
export type Stage =
  /** What the deadline has left: it stands still. `since`: when the run came to stand. */
  | { readonly kind: "RUNNING"; readonly leftMs: number | null; readonly since: EpochMs }
  | {
      readonly kind: "STOPPING";
      readonly verdict: StopReason;
      readonly settleUntil: EpochMs | null;
    }
  | { readonly kind: "COMPENSATING"; readonly verdict: StopReason }
  | { readonly kind: "FINISHING"; readonly end: End };

export type RunState =
  /** Accepted, and nothing of it has begun; its deadline counts from its start. */
  | {
      readonly kind: "PENDING";
      readonly on: "start" | "slot";
      /** When it starts; or when it ends, if it has no slot until then. */
      readonly until: EpochMs;
    }
  /** No deadline: it has passed after the pivot, and from there on only forward. */
  | { readonly kind: "RUNNING"; readonly deadline: EpochMs | null }
  /** By a person. A step that fails for good meanwhile gives its verdict when it is resumed. */
  | {
      readonly kind: "PAUSED";
      readonly leftMs: number | null;
      readonly since: EpochMs;
      readonly verdict: StopReason | null;
    }
  | {
      readonly kind: "STOPPING";
      readonly verdict: StopReason;
      readonly settleUntil: EpochMs | null;
    }
  | { readonly kind: "COMPENSATING"; readonly verdict: StopReason }
  /** How it ends is certain; its `always` steps run. */
  | { readonly kind: "FINISHING"; readonly end: End }
  | { readonly kind: "ESCALATED"; readonly from: Stage }
  | End;

/** Whose child a run is. */
export interface Parent {
  readonly runId: string;
  /** The step that began it, and under which fence. */
  readonly step: number;
  readonly fence: number;
  /** Parents above it: 1 for the child of a run that is no child. */
  readonly depth: number;
  /** What its parent's deadline leaves it; null: that has none. */
  readonly until: EpochMs | null;
}

export interface Run {
  readonly state: RunState;
  /** Grows by one with each pass that changes the run. */
  readonly version: number;
  /** Steps, without the `always` ones and without items, whose forward state is not final. */
  readonly stepsLeft: number;
  /** `always` steps whose forward state is not final. */
  readonly finallyLeft: number;
  /** Steps whose forward or undo state is moving. */
  readonly moving: number;
  /** Steps that wait for a person: forward ESCALATED, or an undo that FAILED. */
  readonly asking: number;
  /** Steps whose effects are to be undone and are not yet. */
  readonly undosLeft: number;
  /** A map counts by its items. */
  readonly undone: number;
  /** Failures that the run continued after. */
  readonly warnings: number;
  /** A pivot has succeeded: from here on only forward. */
  readonly pivoted: boolean;
  /** It begins only with a slot of its concurrency key, and gives it back when it ends. */
  readonly keyed: boolean;
  /** null: no step of another run has begun it. */
  readonly parent: Parent | null;
  /** Escalations opened so far; the next one is numbered one more. */
  readonly escalations: number;
}

/**
 * The part of a run that a pass has loaded. Steps in no page are BLOCKED with all their needs.
 */
export interface View {
  readonly run: Run;
  readonly steps: ReadonlyMap<number, Step>;
  /** Ended attempts that reports of this pass may be about. */
  readonly attempts: readonly EndedAttempt[];
  /** For the expressions of the steps that this pass may open; null: they have none. */
  readonly facts: Facts | null;
  /** The run's signals, where a step may take one. */
  readonly signals: readonly StoredSignal[];
  /** What approvers have said, where one speaks. */
  readonly decisions: readonly Decision[];
  /** The escalations that are being answered. */
  readonly escalations: readonly OpenEscalation[];
  /** What other runs have told it, where the pass is to apply that. */
  readonly messages: readonly StoredMessage[];
  /**
   * By number of the step: how long circuits of its lanes have been open since it was first ready,
   * in milliseconds. Its `total` stands still meanwhile.
   */
  readonly suspendedMs: ReadonlyMap<number, number>;
  /** By number of a map that the pass ends, the outputs of its items; absent: none has one. */
  readonly outputs: ReadonlyMap<number, ItemOutputs>;
}

/** What a pass has loaded of a run, before it has loaded anything. */
export function emptyView(run: Run): View {
  return {
    run,
    steps: new Map(),
    attempts: [],
    facts: null,
    signals: [],
    decisions: [],
    escalations: [],
    messages: [],
    suspendedMs: new Map(),
    outputs: new Map(),
  };
}

export function isMoving(state: Forward | Undo): state is Moving {
  return (
    state.kind === "READY" ||
    state.kind === "LEASED" ||
    state.kind === "BACKOFF" ||
    state.kind === "WAITING" ||
    state.kind === "HELD"
  );
}

export function isFinal(forward: Forward): boolean {
  return (
    forward.kind === "SUCCEEDED" ||
    forward.kind === "FAILED" ||
    forward.kind === "SKIPPED" ||
    forward.kind === "CANCELLED"
  );
}

export function isEnded(state: RunState): state is End {
  return isEndKind(state.kind);
}

export function isEndKind(kind: RunState["kind"]): kind is EndKind {
  return (
    kind === "COMPLETED" || kind === "FAILED" || kind === "COMPENSATED" || kind === "CANCELLED"
  );
}

/** What the run does, or did when it came to stand. */
export function stageOf(state: RunState): Stage["kind"] {
  if (state.kind === "ESCALATED") return state.from.kind;
  return state.kind === "STOPPING" || state.kind === "COMPENSATING" || state.kind === "FINISHING"
    ? state.kind
    : "RUNNING";
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
