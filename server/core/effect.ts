// What a decision does, as data. `evolve` alone says what an effect means for the state; the store
// writes what has changed into pages and appends the rows that an effect carries.
import type { Attempt, Counted, EpochMs, TaskKind } from "./attempt.ts";
import type { AnswerKind, EscalationReason, Intervention } from "./history.ts";
import type { Message, ParentWord } from "./message.ts";
import type {
  BackoffCause,
  Ready,
  ResultRef,
  RunState,
  UnknownOutcome,
  WaitingFor,
} from "./model.ts";
import type { Payload } from "./payload.ts";
import type { EffectStatus, Strategy } from "./strategy.ts";

/** What moves a run from one state to another. */
export type RunTrigger =
  /** What a PENDING run waited for has come. */
  | "start"
  /** There is no slot for a PENDING run that does not wait for one. */
  | "refuse"
  /** What the counters say at the end of any event (`nextRunState`). */
  | "counters"
  /** A step has failed for good. */
  | "verdict"
  | "deadline"
  | "cancel"
  | "pause"
  | "resume"
  /** Somebody has spoken to a run that stood still: an answer, a late report, a command. */
  | "thaw"
  /** A person ends it as things are. */
  | "leave";

export type Side = "forward" | "undo";

/** How a need of a step has ended. */
export type NeedEnd = "ok" | "skipped" | "failed";

export type Effect =
  /** One need of the step has ended; it is stored with the first. */
  | { readonly kind: "need-ended"; readonly step: number; readonly how: NeedEnd }
  /** It has ended in a run before this one, and is not done again. */
  | {
      readonly kind: "kept";
      readonly step: number;
      readonly as: "SUCCEEDED" | "SKIPPED";
      readonly strategies: readonly Strategy[];
      readonly fence: number;
      readonly result: ResultRef | null;
      /** By the place of a strategy: the input under which it made an effect. */
      readonly inputs: ReadonlyMap<number, Payload | null>;
      /** The run that made the effect. */
      readonly of: string;
    }
  | { readonly kind: "made-ready"; readonly step: number; readonly ready: Ready }
  /** Ready, but its run is paused. */
  | { readonly kind: "held"; readonly step: number; readonly task: TaskKind }
  | {
      readonly kind: "backed-off";
      readonly step: number;
      readonly task: TaskKind;
      readonly cause: BackoffCause;
      readonly wakeAt: EpochMs;
    }
  | {
      readonly kind: "began-waiting";
      readonly step: number;
      readonly on: WaitingFor;
      readonly at: EpochMs;
      readonly wakeAt: EpochMs;
    }
  /** A map begins: so many items. */
  | { readonly kind: "map-begun"; readonly step: number; readonly total: number }
  /** The next items of the map begin, so many. */
  | { readonly kind: "items-begun"; readonly step: number; readonly count: number }
  /** What the map does next with its items has a pass of its own, at once. */
  | {
      readonly kind: "items-due";
      readonly step: number;
      readonly side: Side;
      readonly wakeAt: EpochMs;
    }
  /** The gate is passed, or the pause between two waves is over. */
  | { readonly kind: "wave-begun"; readonly step: number }
  /** Items down to this one are undone, or have nothing to undo. */
  | { readonly kind: "items-undoing"; readonly step: number; readonly undoFrom: number }
  /** A child run begins, under the next fence. */
  | {
      readonly kind: "child-began";
      readonly step: number;
      readonly fence: number;
      readonly workflow: string;
      /** 0: the default one. */
      readonly version: number;
      readonly input: Payload | null;
      readonly at: EpochMs;
      /** The end of `total`. */
      readonly wakeAt: EpochMs;
      /** The deadline of this run: the child may not run past it; null: there is none. */
      readonly until: EpochMs | null;
    }
  /** The child of this fence is told something, as by `message-sent`. */
  | {
      readonly kind: "child-messaged";
      readonly step: number;
      readonly fence: number;
      readonly message: ParentWord;
    }
  /** A moment fired too early, or an alarm was given: the step waits for its next timer. */
  | {
      readonly kind: "wake-moved";
      readonly step: number;
      readonly wakeAt: EpochMs;
      /** Of a ready task: how long it may run, where that has moved too. */
      readonly until?: EpochMs | null;
    }
  | { readonly kind: "pickup-alarmed"; readonly step: number; readonly wakeAt: EpochMs }
  | {
      readonly kind: "cancel-asked";
      readonly step: number;
      readonly cause: "run" | "timeout" | "stalled";
      readonly at: EpochMs;
    }
  /** It runs far longer than others of its step: shown, and nothing else. */
  | {
      readonly kind: "suspected";
      readonly step: number;
      readonly at: EpochMs;
      readonly wakeAt: EpochMs;
    }
  /** The lease is gone, and the attempt is kept. */
  | {
      readonly kind: "task-ended";
      readonly attempt: Attempt;
      readonly counted: Counted;
      readonly lost: boolean;
    }
  /** A report for an attempt that had ended open: it now counts as its agent says. */
  | {
      readonly kind: "attempt-settled";
      readonly attempt: Attempt;
      /** What it was charged to before. */
      readonly was: Counted;
      readonly counted: Counted;
    }
  /** An attempt that changes no state: a late report, or an outcome that no agent reported. */
  | { readonly kind: "attempt-kept"; readonly attempt: Attempt }
  | {
      readonly kind: "effect-marked";
      readonly step: number;
      readonly strategy: number;
      readonly mark: EffectStatus;
    }
  | { readonly kind: "settling"; readonly step: number; readonly until: EpochMs }
  /** The effect of the attempt that ended is in doubt, or (null) no longer. */
  | { readonly kind: "doubted"; readonly step: number; readonly doubt: UnknownOutcome | null }
  /** The step leaves a strategy that may have an effect: it is undone before what follows. */
  | { readonly kind: "strategy-undoing"; readonly step: number; readonly doubt: UnknownOutcome }
  /** That undo is done, or is left to the undoing of the whole run. */
  | { readonly kind: "strategy-undo-ended"; readonly step: number }
  /** Another way to try the step: fresh retries, an effect of its own. */
  | {
      readonly kind: "strategy-begun";
      readonly step: number;
      /** Its place in the list; one there, in which nothing was done, leaves it to this one. */
      readonly place: number;
      readonly planned: number;
      /** The whole input that a person gave instead; null: as planned. */
      readonly input: Payload | null;
    }
  /** The strategy before it has succeeded after all, and no task of this one was handed out. */
  | { readonly kind: "strategy-dropped"; readonly step: number; readonly attempt: number }
  /** A person lets the step be tried anew: fresh retries of the same strategy, a fresh `total`. */
  | { readonly kind: "retries-renewed"; readonly step: number; readonly side: Side }
  /** The run stood still for so long, and with it the step's `total`. */
  | { readonly kind: "total-moved"; readonly step: number; readonly byMs: number }
  | { readonly kind: "succeeded"; readonly step: number; readonly result: ResultRef | null }
  | { readonly kind: "failed"; readonly step: number; readonly code: string }
  /** The run goes on after the failure. */
  | { readonly kind: "warned"; readonly step: number }
  | { readonly kind: "skipped"; readonly step: number }
  | { readonly kind: "cancelled"; readonly step: number }
  | { readonly kind: "undo-planned"; readonly step: number }
  /** The effect of one strategy is undone. */
  | { readonly kind: "effect-undone"; readonly step: number; readonly strategy: number }
  | { readonly kind: "undone"; readonly step: number }
  | { readonly kind: "undo-failed"; readonly step: number }
  | {
      readonly kind: "escalated";
      readonly step: number;
      /** Its number within the run. */
      readonly n: number;
      readonly reason: EscalationReason;
      /** The error code that led to it: part of its cause. Empty: none did. */
      readonly code: string;
      readonly message: string;
      readonly wakeAt: EpochMs;
      /** null: it has none. */
      readonly deadlineAt: EpochMs | null;
    }
  /** Nobody has answered yet. `tell`: nobody looks after it either, so hooks hear of it again. */
  | {
      readonly kind: "escalation-reminded";
      readonly n: number;
      readonly wakeAt: EpochMs;
      readonly tell: boolean;
    }
  /** Closes the open escalations of the step, except `doubled` ones. */
  | { readonly kind: "escalation-closed"; readonly step: number; readonly by: string }
  | {
      readonly kind: "escalation-answered";
      readonly step: number;
      readonly n: number;
      readonly answer: AnswerKind;
      readonly by: string;
      readonly why: string;
    }
  | {
      readonly kind: "signal-stored";
      readonly seq: number;
      readonly id: string;
      readonly name: string;
      readonly payload: Payload | null;
    }
  | { readonly kind: "signal-taken"; readonly step: number; readonly seq: number }
  | {
      readonly kind: "decision-stored";
      readonly step: number;
      readonly approver: string;
      readonly approved: boolean;
      readonly comment: string;
      readonly form: Payload | null;
      readonly at: EpochMs;
    }
  | { readonly kind: "run-moved"; readonly by: RunTrigger; readonly state: RunState }
  /** A person asked for it, and said why. */
  | {
      readonly kind: "command-noted";
      readonly command: "cancel" | "pause" | "resume";
      readonly note: string;
    }
  /** Another run is told something, by a row that is written with this change. */
  | { readonly kind: "message-sent"; readonly to: string; readonly message: Message }
  | { readonly kind: "message-applied"; readonly no: number }
  | { readonly kind: "intervened"; readonly intervention: Intervention };
