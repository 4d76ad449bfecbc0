/**
 * The states of runs and steps, and why runs ended, in words: those of the dashboard, which
 * web/src/words has. A test compares them: a browser loads no code of the command line, and the
 * contract, which both load, is generated.
 */
import { RunReason, RunState, StepState, UndoState } from "@drover/proto/drover/v1/run_pb.ts";

const runs: Readonly<Record<RunState, string>> = {
  [RunState.UNSPECIFIED]: "unknown",
  [RunState.PENDING]: "pending",
  [RunState.RUNNING]: "running",
  [RunState.PAUSED]: "paused",
  [RunState.STOPPING]: "stopping",
  [RunState.COMPENSATING]: "compensating",
  [RunState.ESCALATED]: "escalated",
  [RunState.COMPLETED]: "completed",
  [RunState.FAILED]: "failed",
  [RunState.COMPENSATED]: "compensated",
  [RunState.CANCELLED]: "cancelled",
  [RunState.FINISHING]: "finishing",
};

const steps: Readonly<Record<StepState, string>> = {
  [StepState.UNSPECIFIED]: "unknown",
  [StepState.BLOCKED]: "blocked",
  [StepState.READY]: "ready",
  [StepState.LEASED]: "with an agent",
  [StepState.BACKOFF]: "to be retried",
  [StepState.WAITING]: "waiting",
  [StepState.VERIFYING]: "verifying",
  [StepState.ESCALATED]: "escalated",
  [StepState.SUCCEEDED]: "succeeded",
  [StepState.FAILED]: "failed",
  [StepState.SKIPPED]: "skipped",
  [StepState.CANCELLED]: "cancelled",
};

const undos: Readonly<Record<UndoState, string>> = {
  [UndoState.UNSPECIFIED]: "",
  [UndoState.NONE]: "",
  [UndoState.PENDING]: "to be compensated",
  [UndoState.ACTIVE]: "compensating",
  [UndoState.DONE]: "compensated",
  [UndoState.FAILED]: "compensation failed",
};

const reasons: Readonly<Record<RunReason, string>> = {
  [RunReason.UNSPECIFIED]: "",
  [RunReason.DONE]: "",
  [RunReason.STEP_FAILED]: "a step failed",
  [RunReason.TIMED_OUT]: "timed out",
  [RunReason.CANCELLED_BY_USER]: "cancelled by a person",
  [RunReason.NEVER_STARTED]: "never started",
  [RunReason.REFUSED]: "refused before it started",
  [RunReason.CANCELLED_BY_NEWER]: "replaced by a newer run",
};

export function runStateWord(state: RunState): string {
  return runs[state] ?? unknown(state);
}

export function stepStateWord(state: StepState): string {
  return steps[state] ?? unknown(state);
}

/** Empty while there is nothing to compensate. */
export function undoWord(state: UndoState): string {
  return undos[state] ?? unknown(state);
}

/** Empty for a reason that needs no words. */
export function reasonWords(reason: RunReason): string {
  return reasons[reason] ?? unknown(reason);
}

/** A value of a newer server. */
function unknown(value: number): string {
  return `unknown (${value})`;
}
