// Which answers a person may give to an escalation.
import type { AnswerKind, EscalationReason } from "./history.ts";
import { isEnded, type RunState, type Step, stageOf } from "./model.ts";
import type { PlanStep } from "./plan.ts";

const FORWARD: readonly AnswerKind[] = Object.freeze([
  "retry",
  "retry-changed",
  "succeed",
  "skip",
  "compensate",
  "fail",
]);
/** A step without a task has no input to change, and nothing that trying again would change. */
const DECIDED: readonly AnswerKind[] = Object.freeze(["succeed", "skip", "compensate", "fail"]);
const SETTLING: readonly AnswerKind[] = Object.freeze(["succeed", "fail"]);
const UNDO: readonly AnswerKind[] = Object.freeze(["retry", "succeed", "fail"]);
const UNDO_WHILE_OTHERS_MOVE: readonly AnswerKind[] = Object.freeze(["retry", "succeed"]);
const FINISHING: readonly AnswerKind[] = Object.freeze([
  "retry",
  "retry-changed",
  "succeed",
  "skip",
]);
const SKIPPING: readonly AnswerKind[] = Object.freeze(["succeed", "skip"]);
const NOTED: readonly AnswerKind[] = Object.freeze(["acknowledge"]);

/** Whether an agent performs it; of a map, its gate. */
export function isTask({ work }: PlanStep, step: Pick<Step, "fence"> | undefined): boolean {
  return work.kind === "task" || (work.kind === "map" && (step?.fence ?? 0) > 0);
}

/** A run as an answer finds it. */
export interface AskedOf {
  readonly state: RunState;
  readonly pivoted: boolean;
  /** An agent performs the step. */
  readonly isTask: boolean;
}

/**
 * The answers that an open escalation takes as its run stands, in the order in which they are
 * shown; of an ended run, none but one.
 */
export function answersNow(
  reason: EscalationReason,
  { state, pivoted, isTask }: AskedOf,
): readonly AnswerKind[] {
  if (reason === "doubled") return NOTED;
  if (isEnded(state)) return [];
  // To leave an effect ends the run, and other undos of it may still move.
  if (reason === "undo-failed") return state.kind === "ESCALATED" ? UNDO : UNDO_WHILE_OTHERS_MOVE;
  const stage = stageOf(state);
  // Only whether the effect took place is still open.
  if (stage === "STOPPING" || stage === "COMPENSATING") return SETTLING;
  if (stage === "FINISHING") return isTask ? FINISHING : SKIPPING;
  const all = isTask ? FORWARD : DECIDED;
  return pivoted ? all.filter((answer) => answer !== "compensate") : all;
}
