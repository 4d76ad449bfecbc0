// The answers that a person may give to an escalation.
import type { AnswerKind, EscalationReason } from "../model/history.ts";
import { isEnded, type RunState, type Step, stageOf } from "../model/model.ts";
import type { PlanStep } from "../plan/plan.ts";

const FORWARD: readonly AnswerKind[] = Object.freeze([
  "retry",
  "retry-changed",
  "succeed",
  "skip",
  "compensate",
  "fail",
]);
/** A step that only waits has no input to change and nothing to try again. */
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

/** The way in which a step is performed, as far as the allowed answers depend on it. */
type AskedWork =
  /** An agent performs it. */
  | "task"
  /** A child run performs it. A retry begins a new child with the same input. */
  | "run"
  /** Neither: the step only waits. */
  | "none";

/** A map counts as a task once its gate has been claimed. */
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

/** Answers for the undo of a strategy that the step leaves while its run continues. */
const UNDO_OF_STRATEGY: readonly AnswerKind[] = Object.freeze([
  "retry",
  "succeed",
  "compensate",
  "fail",
]);

/** The facts of a run on which the allowed answers depend. */
interface AskedOf {
  readonly state: RunState;
  readonly pivoted: boolean;
  readonly work: AskedWork;
}

/**
 * The answers that an open escalation accepts in the present state of its run, in the order in
 * which they are shown. An ended run accepts only the acknowledgement of a doubled effect.
 */
export function answersNow(
  reason: EscalationReason,
  { state, pivoted, work }: AskedOf,
): readonly AnswerKind[] {
  if (reason === "doubled") return NOTED;
  if (isEnded(state)) return [];
  const stage = stageOf(state);
  if (reason === "undo-failed" && stage === "RUNNING") return pivoted ? UNDO : UNDO_OF_STRATEGY;
  // `fail` leaves the effect and ends the run, so it is allowed only once no other undo moves.
  if (reason === "undo-failed") return state.kind === "ESCALATED" ? UNDO : UNDO_WHILE_OTHERS_MOVE;
  // The run stops: the only open question is whether the effect took place.
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
