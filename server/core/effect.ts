// What a decision does, as data. `evolve` alone says what an effect means for the state; the store
// writes the difference and appends the rows that an effect carries.
import type {
  Attempt,
  EffectMark,
  EscalationReason,
  Intervention,
  Moment,
  Ready,
  RunState,
} from "./model.ts";

export type Side = "forward" | "undo";

export type Effect =
  /** One need of the step has ended; its row is written with the first. */
  | { readonly kind: "need-ended"; readonly step: number }
  | {
      readonly kind: "made-ready";
      readonly step: number;
      readonly side: Side;
      readonly ready: Ready;
    }
  | {
      readonly kind: "backed-off";
      readonly step: number;
      readonly side: Side;
      readonly wakeAt: Moment;
    }
  /** A moment fired too early, or an alarm was given: the row waits for its next moment. */
  | { readonly kind: "wake-moved"; readonly step: number; readonly wakeAt: Moment }
  | { readonly kind: "pickup-alarmed"; readonly step: number; readonly wakeAt: Moment }
  | {
      readonly kind: "cancel-asked";
      readonly step: number;
      readonly cause: "run" | "timeout";
      readonly at: Moment;
    }
  /** The lease is gone and its row is appended. */
  | {
      readonly kind: "task-ended";
      readonly attempt: Attempt;
      /**
       * A try that counts, by the index of the policy that it is charged to (null: none matched).
       */
      readonly counted: { readonly policy: number | null } | null;
      readonly lost: boolean;
    }
  /** A report for an attempt that had ended open: it now counts as its agent says. */
  | {
      readonly kind: "attempt-settled";
      readonly attempt: Attempt;
      readonly counted: { readonly policy: number | null } | null;
    }
  /** A row that changes no state: a late report, or a failure that no agent reported. */
  | { readonly kind: "attempt-kept"; readonly attempt: Attempt }
  | { readonly kind: "effect-marked"; readonly step: number; readonly mark: EffectMark }
  | { readonly kind: "settling"; readonly step: number; readonly until: Moment }
  | { readonly kind: "succeeded"; readonly step: number; readonly fence: number }
  | { readonly kind: "failed"; readonly step: number; readonly code: string }
  | { readonly kind: "cancelled"; readonly step: number }
  | { readonly kind: "undo-planned"; readonly step: number }
  | { readonly kind: "undone"; readonly step: number }
  | { readonly kind: "undo-failed"; readonly step: number }
  | {
      readonly kind: "escalated";
      readonly step: number;
      readonly reason: EscalationReason;
      readonly message: string;
    }
  | { readonly kind: "escalation-closed"; readonly step: number; readonly by: string }
  | { readonly kind: "run-moved"; readonly state: RunState }
  /** Who asked for the cancel said why. */
  | { readonly kind: "cancel-noted"; readonly note: string }
  | { readonly kind: "intervened"; readonly intervention: Intervention };
