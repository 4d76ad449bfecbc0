// The states of runs and steps as single words, for scenarios and timelines.
import {
  RunReason,
  RunState,
  type Step,
  StepState,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";

/** One word for both sides of a step: the state of its compensation takes precedence. */
export function stepWord(step: Step): string {
  const undo = undoWord(step);
  return undo === "" ? forwardWord(step) : undo;
}

export function forwardWord({ state }: Step): string {
  return wordIn(StepState, state);
}

/** "": there is nothing to undo. */
export function undoWord({ undoState }: Step): string {
  switch (undoState) {
    case UndoState.PENDING:
    case UndoState.ACTIVE:
      return "UNDOING";
    case UndoState.DONE:
      return "UNDONE";
    case UndoState.FAILED:
      return "UNDO_FAILED";
    default:
      return "";
  }
}

export function runWord(state: RunState): string {
  return wordIn(RunState, state);
}

export function reasonWord(reason: RunReason): string {
  return wordIn(RunReason, reason);
}

export const STEP_WORDS: readonly string[] = Object.freeze([
  ...wordsIn(StepState),
  "UNDOING",
  "UNDONE",
  "UNDO_FAILED",
]);
export const RUN_WORDS: readonly string[] = Object.freeze(wordsIn(RunState));
export const REASON_WORDS: readonly string[] = Object.freeze(wordsIn(RunReason));

function wordIn(words: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(words).find(([, number]) => number === value)?.[0] ?? "";
}

function wordsIn(words: Readonly<Record<string, number>>): readonly string[] {
  return Object.keys(words).filter((word) => word !== "UNSPECIFIED");
}
