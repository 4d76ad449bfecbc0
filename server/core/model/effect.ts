// The effects of a decision, as data. `evolve` alone defines how an effect changes the state. The
// store writes the changed steps into pages, and appends the rows that an effect carries.
import type { Attempt, Counted, EpochMs, TaskKind } from "./attempt.ts";
import type { AnswerKind, EscalationReason, Intervention } from "./history.ts";
import type { Message, ParentCommand } from "./message.ts";
import type {
  BackoffCause,
  FailureEffect,
  Ready,
  ResultRef,
  RunState,
  UnknownOutcome,
  WaitingFor,
} from "./model.ts";
import type { Payload } from "./payload.ts";
import type { EffectStatus, Strategy } from "./strategy.ts";

/** The cause of a change of a run's state. */
export type RunMoveCause =
  /** The start time or the permit of a PENDING run has come. */
  | "start"
  /** There is no permit for a PENDING run that does not wait for one. */
  | "refuse"
  /** The counters ask for it at the end of an event (`nextRunState`). */
  | "counters"
  /** A step has failed for good. */
  | "stop"
  | "deadline"
  | "cancel"
  | "pause"
  | "resume"
  /** An answer, a late report or a command resumes an ESCALATED run. */
  | "continue"
  /** A person ends the run and leaves its effects as they are. */
  | "leave";

export type Side = "forward" | "undo";

/** How a need of a step has ended. */
export type NeedEnd = "ok" | "skipped" | "failed";

export type Effect =
  /** One need of the step has ended. The first such effect adds the step to its page. */
  | { readonly kind: "need-ended"; readonly step: number; readonly how: NeedEnd }
  /** The step is reused from an earlier run and is not executed again. */
  | {
      readonly kind: "reused";
      readonly step: number;
      readonly as: "SUCCEEDED" | "SKIPPED";
      readonly strategies: readonly Strategy[];
      readonly fence: number;
      readonly result: ResultRef | null;
      /** By index of a strategy: the input with which it made an effect. */
      readonly inputs: ReadonlyMap<number, Payload | null>;
      /** The run that made the effect. */
      readonly of: string;
    }
  | { readonly kind: "made-ready"; readonly step: number; readonly ready: Ready }
  /** The task is ready, but its run is paused. */
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
  /** A map of `total` items begins. */
  | { readonly kind: "map-started"; readonly step: number; readonly total: number }
  /** The next `count` items of the map begin. */
  | { readonly kind: "items-started"; readonly step: number; readonly count: number }
  /** The next action of the map on its items gets a pass of its own, at once. */
  | {
      readonly kind: "items-due";
      readonly step: number;
      readonly side: Side;
      readonly wakeAt: EpochMs;
    }
  /** The gate has let the next wave begin, or the pause between two waves is over. */
  | { readonly kind: "wave-started"; readonly step: number }
  /** Items above `undoFrom` are being undone, or have nothing to undo. */
  | { readonly kind: "items-undoing"; readonly step: number; readonly undoFrom: number }
  /** A child run begins, under the next fence of the step. */
  | {
      readonly kind: "child-began";
      readonly step: number;
      readonly fence: number;
      readonly workflow: string;
      /** 0: the default version. */
      readonly version: number;
      readonly input: Payload | null;
      readonly at: EpochMs;
      /** The end of `total`. */
      readonly wakeAt: EpochMs;
      /** The deadline of this run, which the child may not exceed; null: there is none. */
      readonly until: EpochMs | null;
    }
  /** Sends a message to the child of this fence, as `message-sent` does. */
  | {
      readonly kind: "child-messaged";
      readonly step: number;
      readonly fence: number;
      readonly message: ParentCommand;
    }
  /** A timer was due and nothing else has to be done: the step waits for its next timer. */
  | {
      readonly kind: "wake-moved";
      readonly step: number;
      readonly wakeAt: EpochMs;
      /** Of a ready task: its new time limit, if that has moved too. */
      readonly until?: EpochMs | null;
    }
  | { readonly kind: "pickup-alarmed"; readonly step: number; readonly wakeAt: EpochMs }
  | {
      readonly kind: "cancel-asked";
      readonly step: number;
      readonly cause: "run" | "timeout" | "stalled";
      readonly at: EpochMs;
    }
  /** The attempt runs far longer than others of its step. It is shown as suspect and continues. */
  | {
      readonly kind: "suspected";
      readonly step: number;
      readonly at: EpochMs;
      readonly wakeAt: EpochMs;
    }
  /** The lease ends, and the attempt is stored. */
  | {
      readonly kind: "task-ended";
      /** The step as people name it: `hotel`, `load[101]`. */
      readonly id: string;
      readonly attempt: Attempt;
      readonly counted: Counted;
      readonly lost: boolean;
    }
  /** A report for an ended attempt whose outcome was open: it now counts as reported. */
  | {
      readonly kind: "attempt-settled";
      readonly attempt: Attempt;
      /** What it was charged to before. */
      readonly was: Counted;
      readonly counted: Counted;
    }
  /**
   * Stores an attempt that changes no state: a late report, or an outcome that no agent reported.
   */
  | { readonly kind: "attempt-stored"; readonly attempt: Attempt }
  | {
      readonly kind: "effect-status-set";
      readonly step: number;
      readonly strategy: number;
      readonly mark: EffectStatus;
    }
  | { readonly kind: "settling"; readonly step: number; readonly until: EpochMs }
  /** Sets the unknown outcome of the step; null: it is settled. */
  | {
      readonly kind: "outcome-unknown";
      readonly step: number;
      readonly unknownOutcome: UnknownOutcome | null;
    }
  /**
   * The step leaves a strategy that may have an effect. That is undone before the step continues.
   */
  | {
      readonly kind: "strategy-undoing";
      readonly step: number;
      readonly unknownOutcome: UnknownOutcome;
    }
  /** That undo is done, or is left to the compensation of the run. */
  | {
      readonly kind: "strategy-undo-ended";
      readonly step: number;
      /** Attempts of the current strategy that still count, if it is tried again. */
      readonly attempt: number;
    }
  /** Another way to try the step begins, with new retries and an effect of its own. */
  | {
      readonly kind: "strategy-started";
      readonly step: number;
      /** Its index in the list. A strategy there, in which nothing was done, is replaced. */
      readonly index: number;
      readonly planned: number;
      /** The whole input that a person gave instead; null: as planned. */
      readonly input: Payload | null;
    }
  /** The previous strategy has succeeded after all, and no task of this one was claimed. */
  | { readonly kind: "strategy-dropped"; readonly step: number; readonly attempt: number }
  /** A person lets the step be tried again: new retries of the same strategy, a new `total`. */
  | { readonly kind: "retries-renewed"; readonly step: number; readonly side: Side }
  /** The run, and with it the step's `total`, was suspended for `byMs`. */
  | { readonly kind: "total-moved"; readonly step: number; readonly byMs: number }
  | { readonly kind: "succeeded"; readonly step: number; readonly result: ResultRef | null }
  | {
      readonly kind: "failed";
      readonly step: number;
      /** The step as people name it: `hotel`, `load[101]`. */
      readonly id: string;
      readonly code: string;
      readonly message: string;
      /** What follows for the run. */
      readonly effect: FailureEffect;
    }
  /** The run continues after the failure. */
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
      /** The step as people name it: `hotel`, `load[101]`. */
      readonly id: string;
      /** Its number within the run. */
      readonly n: number;
      readonly reason: EscalationReason;
      /** The error code that caused it; empty: none. */
      readonly code: string;
      readonly message: string;
      readonly wakeAt: EpochMs;
      /** null: no deadline. */
      readonly deadlineAt: EpochMs | null;
    }
  /**
   * The escalation is still open. `tell`: no person has claimed it, so hooks are notified again.
   */
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
      /** The person proved the name; left out, here and below: it is only claimed. */
      readonly verified?: boolean;
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
      readonly verified?: boolean;
      readonly approved: boolean;
      readonly comment: string;
      readonly form: Payload | null;
      readonly at: EpochMs;
    }
  | { readonly kind: "run-moved"; readonly by: RunMoveCause; readonly state: RunState }
  /** A person gave this command, with a note. */
  | {
      readonly kind: "command-noted";
      readonly command: "cancel" | "pause" | "resume";
      readonly note: string;
    }
  /** Sends a message to another run, as a row that is written with this change. */
  | { readonly kind: "message-sent"; readonly to: string; readonly message: Message }
  | { readonly kind: "message-applied"; readonly no: number }
  | { readonly kind: "intervened"; readonly intervention: Intervention };

/**
 * Effects that change the pages of their run and nothing else: they append no row beside these
 * pages, start or end no run, and reach no other run.
 */
const PAGES_ONLY: Readonly<Record<Effect["kind"], boolean>> = {
  "attempt-settled": true,
  "attempt-stored": true,
  "backed-off": true,
  "began-waiting": true,
  "cancel-asked": true,
  cancelled: true,
  "child-began": false,
  "child-messaged": false,
  "command-noted": true,
  "decision-stored": false,
  "effect-status-set": true,
  "effect-undone": true,
  escalated: false,
  "escalation-answered": false,
  "escalation-closed": false,
  "escalation-reminded": false,
  failed: true,
  held: true,
  intervened: false,
  "items-started": true,
  "items-due": true,
  "items-undoing": true,
  reused: false,
  "made-ready": true,
  "map-started": true,
  "message-applied": false,
  "message-sent": false,
  "need-ended": true,
  "outcome-unknown": true,
  "pickup-alarmed": true,
  "retries-renewed": true,
  "run-moved": false,
  settling: true,
  "signal-stored": false,
  "signal-taken": false,
  skipped: true,
  "strategy-started": false,
  "strategy-dropped": true,
  "strategy-undo-ended": true,
  "strategy-undoing": true,
  succeeded: true,
  suspected: true,
  "task-ended": true,
  "total-moved": true,
  "undo-failed": true,
  "undo-planned": true,
  undone: true,
  "wake-moved": true,
  warned: true,
  "wave-started": true,
};

/** Whether a pass with these effects has nothing to do beside the pages of its run. */
export function changesPagesOnly(effects: readonly Effect[]): boolean {
  return effects.every((effect) => PAGES_ONLY[effect.kind] && !requestsApproval(effect));
}

/** Hooks receive it, as a row beside the pages. */
export function requestsApproval(effect: Effect): boolean {
  return effect.kind === "began-waiting" && effect.on === "approval";
}
