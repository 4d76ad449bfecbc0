// The state of a run and of its steps, which the rules read and change.
//
//   Run      PENDING → RUNNING → STOPPING → COMPENSATING → FINISHING → an end; PAUSED and
//            ESCALATED suspend it
//   Step     a forward state and an undo state. At most one of the two is moving: READY (found by
//            its lane), LEASED (found by its session), BACKOFF or WAITING (with a timer), or HELD
//            (ready, but the run is paused). A map is MAPPING while its items move; they are steps
//            of their own, and the map counts them
//
// The run's counters decide its state, not a scan of its steps, so a pass loads only the steps that
// it touches (docs/ARCHITECTURE.md, "Pure core").
import type { AttemptKind, EndedAttempt, EpochMs, TaskKind } from "./attempt.ts";
import type { Outage } from "./circuit.ts";
import type { Facts } from "./facts.ts";
import type { Decision, OpenEscalation, StoredSignal } from "./history.ts";
import type { ItemOutputs, Items } from "./items.ts";
import type { StoredMessage } from "./message.ts";
import type { Strategy } from "./strategy.ts";
import type { WaitCounts } from "./waits.ts";

export interface Ready {
  readonly kind: "READY";
  readonly task: TaskKind;
  /** The fence of the next claim. A verify has the fence of the attempt that it is about. */
  readonly fence: number;
  /** The number of the attempt that the next claim begins; verifies have numbers of their own. */
  readonly attempt: number;
  readonly readyAt: EpochMs;
  /** Latest end of an attempt (the rest of `total` and of the run); null: no bound. */
  readonly until: EpochMs | null;
  /** A session that should not get the task, so that a lost task goes to another session. */
  readonly avoid: { readonly session: string; readonly until: EpochMs } | null;
  /** Pickup alarms so far. */
  readonly alarms: number;
  readonly wakeAt: EpochMs;
}

export type CancelCause = "run" | "timeout" | "stalled";

export type LeaseCancel =
  | { readonly kind: "none" }
  | { readonly kind: "asked"; readonly cause: CancelCause; readonly at: EpochMs }
  /** A heartbeat was answered *cancel*: the lease ends at `by`, whatever the agent does. */
  | { readonly kind: "received"; readonly cause: CancelCause; readonly by: EpochMs };

export interface Lease {
  readonly kind: "LEASED";
  readonly task: TaskKind;
  readonly fence: number;
  readonly attempt: number;
  /** 16 random bytes of this claim, in hex. */
  readonly secret: string;
  /** The agent session that holds it, 16 bytes in hex. */
  readonly session: string;
  readonly agentId: string;
  /** Number of the session's poll to which it was granted. */
  readonly pollSeq: number;
  readonly grantedAt: EpochMs;
  readonly attemptBy: EpochMs;
  readonly heartbeatMs: number;
  readonly cancelMs: number;
  /** Longest time without progress; null: progress is not checked. */
  readonly stallMs: number | null;
  /** When the progress last changed; the time of the grant until the first report. */
  readonly progressAt: EpochMs;
  readonly cancel: LeaseCancel;
  /** When it was found to run far longer than others of its step; null: it was not. */
  readonly suspectAt: EpochMs | null;
  readonly wakeAt: EpochMs;
}

/** Why a task is not ready before `wakeAt`. */
export type BackoffCause =
  /** The retry policy delays the next try. */
  | "retry"
  /** The agent asked to get the task again later. */
  | "again"
  /** A lost attempt may still take effect until then. */
  | "settle";

export interface Backoff {
  readonly kind: "BACKOFF";
  /** The task that becomes ready then. */
  readonly task: TaskKind;
  readonly cause: BackoffCause;
  readonly wakeAt: EpochMs;
}

/** What a step without a task waits for. */
export type WaitingFor =
  | "timer"
  | "signal"
  | "approval"
  | "callback"
  /** A child run. */
  | "child"
  /** The end of a child run that was sent a cancel. */
  | "child-end"
  /** The map's next action on its items, in a pass of its own that loads what it needs. */
  | "items";

export interface Waiting {
  readonly kind: "WAITING";
  readonly on: WaitingFor;
  readonly wakeAt: EpochMs;
}

/** Ready while its run is paused: not in its queue. Resuming the run puts it there. */
export interface Held {
  readonly kind: "HELD";
  readonly task: TaskKind;
}

/** A state that ends by itself, or when the run is resumed. */
export type Moving = Ready | Lease | Backoff | Waiting | Held;

export type Forward =
  /** Counts of its needs: not ended, succeeded, skipped. */
  | {
      readonly kind: "BLOCKED";
      readonly waitingFor: number;
      readonly ok: number;
      readonly skipped: number;
    }
  | Moving
  | { readonly kind: "MAPPING" }
  /** The undo side first undoes the strategy that it leaves; `unknownOutcome` says what follows. */
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

/** A failure or an unknown outcome that the step has to recover from. */
export interface Setback {
  readonly code: string;
  readonly message: string;
  readonly permanent: boolean;
  /** It is unknown whether the attempt took effect. */
  readonly unknown: boolean;
  readonly retryAfterMs: number | null;
  /** The session that lost the attempt; null: it was not lost. */
  readonly lostBy: string | null;
}

/** A setback that recovery continues with once a verify, or an undo, has settled the effect. */
export interface UnknownOutcome extends Setback {
  /** Inconclusive verifies so far. */
  readonly tries: number;
}

/** The attempt that has a step's output. */
export interface ResultRef {
  readonly fence: number;
  readonly kind: AttemptKind;
  /** Distinguishes attempts of one fence and kind: the number of a verify, else 0. */
  readonly n: number;
}

export interface Step {
  /** Its step key: the number of the step, and which item of it (step-key.ts). */
  readonly no: number;
  readonly forward: Forward;
  readonly undo: Undo;
  /** The strategies started so far; the last one is current. Never empty. */
  readonly strategies: readonly Strategy[];
  /**
   * Perform and compensate tasks claimed and ended so far; a lease or a ready task has the next.
   */
  readonly fence: number;
  /** Attempts that counted, of the current strategy or, once it began, of the undo. */
  readonly attempt: number;
  /** Attempts lost in a row. */
  readonly lost: number;
  /** Tries by retry policy, in the plan's order; shorter than the list if the last are unused. */
  readonly tries: readonly number[];
  /** The unknown outcome that a verify or an undo has to settle first; null: none. */
  readonly unknownOutcome: UnknownOutcome | null;
  /** Verify tasks about this fence claimed and ended so far; they number the next one. */
  readonly verifies: number;
  /** The first time that it was ready, moved by the time that its run was paused or escalated. */
  readonly firstReadyAt: EpochMs | null;
  /**
   * No task that could conflict with a lost attempt starts before: its lease's end plus `settle`.
   */
  readonly settleUntil: EpochMs | null;
  readonly result: ResultRef | null;
  /** Set for a map that has started. */
  readonly items: Items | null;
}

export type EndKind = "COMPLETED" | "FAILED" | "COMPENSATED" | "CANCELLED";
export type Reason =
  | "DONE"
  | "STEP_FAILED"
  | "TIMED_OUT"
  | "CANCELLED_BY_USER"
  /** It ended before it began: none of its steps has run. */
  | "NEVER_STARTED"
  /**
   * There was no permit and the run does not wait for one; or it is a child that is nested too
   * deep, or whose workflow does not accept the input.
   */
  | "REFUSED"
  | "CANCELLED_BY_NEWER";

/** Why a run stops, and whether its effects are undone once it has stopped. */
export interface StopReason {
  readonly reason: Exclude<Reason, "DONE" | "NEVER_STARTED" | "REFUSED">;
  readonly undo: boolean;
}

/** What follows from a failure of a step, from the least important to the most. */
export const FAILURE_EFFECTS = ["none", "continue", "stop"] as const;
export type FailureEffect = (typeof FAILURE_EFFECTS)[number];

/** The failure of a step that says most about the run: the first of the most important effect. */
export interface RunFailure {
  /** The step as people name it: `hotel`, `load[101]`. */
  readonly id: string;
  /** `none`: an item of a map has failed, and its map decides. */
  readonly effect: FailureEffect;
  readonly code: string;
  /** At most `FAILURE_MESSAGE_MAX` characters. */
  readonly message: string;
  /** Attempts that counted. */
  readonly attempts: number;
}

export const FAILURE_MESSAGE_MAX = 300;

export interface End {
  readonly kind: EndKind;
  readonly reason: Reason;
}

/** The stage in which a run was suspended, when no step could move without a person. */
export type Stage =
  /** `leftMs`: the rest of the suspended deadline. `since`: when the run was suspended. */
  | { readonly kind: "RUNNING"; readonly leftMs: number | null; readonly since: EpochMs }
  | {
      readonly kind: "STOPPING";
      readonly stopReason: StopReason;
      readonly settleUntil: EpochMs | null;
    }
  | { readonly kind: "COMPENSATING"; readonly stopReason: StopReason }
  | { readonly kind: "FINISHING"; readonly end: End };

export type RunState =
  /** Accepted, and no step has started. Its deadline counts from its start. */
  | {
      readonly kind: "PENDING";
      readonly on: "start" | "permit";
      /** When it starts; or, without a permit until then, when it ends. */
      readonly until: EpochMs;
    }
  /** No deadline: it has passed after the pivot, and the run only goes forward. */
  | { readonly kind: "RUNNING"; readonly deadline: EpochMs | null }
  /** By a person. If a step fails for good meanwhile, `stopReason` applies on resume. */
  | {
      readonly kind: "PAUSED";
      readonly leftMs: number | null;
      readonly since: EpochMs;
      readonly stopReason: StopReason | null;
    }
  | {
      readonly kind: "STOPPING";
      readonly stopReason: StopReason;
      readonly settleUntil: EpochMs | null;
    }
  | { readonly kind: "COMPENSATING"; readonly stopReason: StopReason }
  /** Its end is certain; its `always` steps run. */
  | { readonly kind: "FINISHING"; readonly end: End }
  | { readonly kind: "ESCALATED"; readonly from: Stage }
  | End;

/** The parent of a child run. */
export interface Parent {
  readonly runId: string;
  /** The step that began it, and the fence. */
  readonly step: number;
  readonly fence: number;
  /** Number of runs above it: 1 for the child of a run without a parent. */
  readonly depth: number;
  /** The deadline of its parent; null: the parent has none. */
  readonly until: EpochMs | null;
}

export interface Run {
  readonly state: RunState;
  /** Grows by one with each pass that changes the run. */
  readonly version: number;
  /** Steps whose forward state is not final, without `always` steps and without items. */
  readonly stepsLeft: number;
  /** `always` steps whose forward state is not final. */
  readonly alwaysLeft: number;
  /** Steps whose forward or undo state is moving. */
  readonly moving: number;
  /** What the moving steps wait for, other than an agent. */
  readonly waits: WaitCounts;
  /** Steps that wait for a person: forward ESCALATED, or an undo that FAILED. */
  readonly asking: number;
  /** Steps whose effects are to be undone and are not undone yet. */
  readonly undosLeft: number;
  /** Steps that are undone. A map is counted by its items. */
  readonly undone: number;
  /** Failures after which the run continued. */
  readonly warnings: number;
  /** null: no step has failed for good. */
  readonly failure: RunFailure | null;
  /** A pivot has succeeded: the run only goes forward. */
  readonly pivoted: boolean;
  /** It needs a permit of its concurrency key to begin, and returns it at its end. */
  readonly keyed: boolean;
  /** null: the run is no child. */
  readonly parent: Parent | null;
  /** Escalations opened so far; the next one is numbered one more. */
  readonly escalations: number;
}

/** The loaded part of a run. Steps in no page are BLOCKED with all their needs. */
export interface View {
  readonly run: Run;
  readonly steps: ReadonlyMap<number, Step>;
  /** Ended attempts that reports of this pass may be about. */
  readonly attempts: readonly EndedAttempt[];
  /** For the expressions of the steps that this pass may open; null: there are none. */
  readonly facts: Facts | null;
  /** The run's signals, if a step may take one. */
  readonly signals: readonly StoredSignal[];
  /** The decisions of approvers, if the pass handles one. */
  readonly decisions: readonly Decision[];
  /** The escalations that the pass is about. */
  readonly escalations: readonly OpenEscalation[];
  /** Pending messages of other runs, if the pass applies them. */
  readonly messages: readonly StoredMessage[];
  /**
   * By number of the step: when circuits of its lanes were open since it was first ready, merged.
   * Its `total` is suspended for that time.
   */
  readonly outages: ReadonlyMap<number, readonly Outage[]>;
  /** By number of a map that the pass ends: the outputs of its items; absent: none has one. */
  readonly outputs: ReadonlyMap<number, ItemOutputs>;
}

/** A view that contains only the run. */
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
    outages: new Map(),
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

/** The stage of the run; if it is suspended, the stage in which it was suspended. */
export function stageOf(state: RunState): Stage["kind"] {
  if (state.kind === "ESCALATED") return state.from.kind;
  return state.kind === "STOPPING" || state.kind === "COMPENSATING" || state.kind === "FINISHING"
    ? state.kind
    : "RUNNING";
}

/** An undo is left until it is DONE; a FAILED one waits for a person. */
export function isUndoLeft(undo: Undo): boolean {
  return undo.kind !== "NONE" && undo.kind !== "DONE";
}

/** The moving side of a step; null: none moves. */
export function movingSide(step: Step): { side: "forward" | "undo"; state: Moving } | null {
  if (isMoving(step.forward)) return { side: "forward", state: step.forward };
  if (isMoving(step.undo)) return { side: "undo", state: step.undo };
  return null;
}

/** The fence of the current attempt: of the last perform or compensate task that was claimed. */
export function currentFence(step: Step): number {
  const moving = movingSide(step);
  return moving?.state.kind === "LEASED" ? moving.state.fence : step.fence;
}
