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
/** A step that only waits has no input to change, and nothing that trying again would change. */
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

/** What a step does, as far as answers depend on it. */
export type AskedWork =
  /** An agent performs it. */
  | "task"
  /** A child run does: it is begun anew with the input that it had. */
  | "run"
  /** Nobody does. */
  | "none";

/** Of a map its gate is performed, once it has been handed out. */
export function askedWork(
  planned: PlanStep | undefined,
  step: Pick<Step, "fence"> | undefined,
): AskedWork {
  switch (planned?.work.kind) {
    case "task":
    case "run":
      return planned.work.kind;
    case "map":
      return (step?.fence ?? 0) > 0 ? "task" : "none";
    default:
      return "none";
  }
}

/** Of a strategy that is undone before the step goes on: the run has not stopped. */
const UNDO_OF_STRATEGY: readonly AnswerKind[] = Object.freeze([
  "retry",
  "succeed",
  "compensate",
  "fail",
]);

/** A run as an answer finds it. */
export interface AskedOf {
  readonly state: RunState;
  readonly pivoted: boolean;
  readonly work: AskedWork;
}

/**
 * The answers that an open escalation takes as its run stands, in the order in which they are
 * shown; of an ended run, none but one.
 */
export function answersNow(
  reason: EscalationReason,
  { state, pivoted, work }: AskedOf,
): readonly AnswerKind[] {
  if (reason === "doubled") return NOTED;
  if (isEnded(state)) return [];
  const stage = stageOf(state);
  if (reason === "undo-failed" && stage === "RUNNING") return pivoted ? UNDO : UNDO_OF_STRATEGY;
  // To leave an effect ends the run, and other undos of it may still move.
  if (reason === "undo-failed") return state.kind === "ESCALATED" ? UNDO : UNDO_WHILE_OTHERS_MOVE;
  // Only whether the effect took place is still open.
  if (stage === "STOPPING" || stage === "COMPENSATING") return SETTLING;
  if (stage === "FINISHING") return ofWork(work, FINISHING, SKIPPING);
  const all = ofWork(work, FORWARD, DECIDED);
  return pivoted ? all.filter((answer) => answer !== "compensate") : all;
}

function ofWork(
  work: AskedWork,
  performed: readonly AnswerKind[],
  waited: readonly AnswerKind[],
): readonly AnswerKind[] {
  if (work === "none") return waited;
  return work === "task" ? performed : performed.filter((answer) => answer !== "retry-changed");
}
