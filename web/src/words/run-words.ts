// The states of runs and steps: one tone and one word for each, the same on every page.
import {
  type Run,
  RunReason,
  RunState,
  type Step,
  StepState,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import type { Status } from "../parts/badge.tsx";
import { counted } from "./counts.ts";
import { isPartial, itemWords } from "./item-words.ts";

const runs: Readonly<Record<RunState, Status>> = {
  [RunState.UNSPECIFIED]: { tone: "idle", word: "unknown" },
  [RunState.PENDING]: { tone: "idle", word: "pending" },
  [RunState.RUNNING]: { tone: "moving", word: "running" },
  [RunState.PAUSED]: { tone: "paused", word: "paused" },
  [RunState.STOPPING]: { tone: "undo", word: "stopping" },
  [RunState.COMPENSATING]: { tone: "undo", word: "compensating" },
  [RunState.ESCALATED]: { tone: "warning", word: "escalated" },
  [RunState.COMPLETED]: { tone: "ok", word: "completed" },
  [RunState.FAILED]: { tone: "bad", word: "failed" },
  [RunState.COMPENSATED]: { tone: "undo", word: "compensated" },
  [RunState.CANCELLED]: { tone: "bad", word: "cancelled" },
  [RunState.FINISHING]: { tone: "moving", word: "finishing" },
};

const steps: Readonly<Record<StepState, Status>> = {
  [StepState.UNSPECIFIED]: { tone: "idle", word: "unknown" },
  [StepState.BLOCKED]: { tone: "idle", word: "blocked" },
  [StepState.READY]: { tone: "waiting", word: "ready" },
  [StepState.LEASED]: { tone: "moving", word: "with an agent" },
  [StepState.BACKOFF]: { tone: "warning", word: "to be retried" },
  [StepState.WAITING]: { tone: "waiting", word: "waiting" },
  [StepState.VERIFYING]: { tone: "warning", word: "verifying" },
  [StepState.ESCALATED]: { tone: "warning", word: "escalated" },
  [StepState.SUCCEEDED]: { tone: "ok", word: "succeeded" },
  [StepState.FAILED]: { tone: "bad", word: "failed" },
  [StepState.SKIPPED]: { tone: "idle", word: "skipped" },
  [StepState.CANCELLED]: { tone: "idle", word: "cancelled" },
};

const undos: Readonly<Record<UndoState, Status | null>> = {
  [UndoState.UNSPECIFIED]: null,
  [UndoState.NONE]: null,
  [UndoState.PENDING]: { tone: "undo", word: "to be compensated" },
  [UndoState.ACTIVE]: { tone: "undo", word: "compensating" },
  [UndoState.DONE]: { tone: "undo", word: "compensated" },
  [UndoState.FAILED]: { tone: "bad", word: "compensation failed" },
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

const finals: ReadonlySet<RunState> = new Set([
  RunState.COMPLETED,
  RunState.FAILED,
  RunState.COMPENSATED,
  RunState.CANCELLED,
]);

/** A newer server may send states that this table does not know. */
const unknown: Status = { tone: "idle", word: "unknown" };

export function runStatus(state: RunState): Status {
  return runs[state] ?? unknown;
}

/**
 * `completed, 1 warning`: a run that continued after failures differs from one without failures.
 */
export function runOutcome({ state, warnings }: Pick<Run, "state" | "warnings">): Status {
  const { tone, word } = runStatus(state);
  if (warnings === 0) return { tone, word };
  return {
    tone: state === RunState.COMPLETED ? "warning" : tone,
    word: `${word}, ${counted(warnings, "warning")}`,
  };
}

export function stepStatus(step: Pick<Step, "state" | "undoState" | "items">): Status {
  const undo = undos[step.undoState];
  if (undo) return undo;
  if (step.items && isPartial(step)) return { tone: "warning", word: itemWords(step.items) };
  return steps[step.state] ?? unknown;
}

/** `RUNNING`, as written in addresses. */
export function stateName(state: RunState): string {
  return Object.entries(RunState).find(([, value]) => value === state)?.[0] ?? "";
}

/** Empty for a reason that needs no words. */
export function reasonWords(reason: RunReason): string {
  return reasons[reason] ?? "";
}

export function isFinal(state: RunState): boolean {
  return finals.has(state);
}

/** `book-holiday v3`; a definition that was sent with the run has no version. */
export function workflowWords({ workflow, workflowVersion }: Run): string {
  return workflowVersion > 0 ? `${workflow} v${workflowVersion}` : workflow;
}
