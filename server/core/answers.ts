// Which answers a person may give to an escalation.
import type { AnswerKind, EscalationReason } from "./history.ts";
import { isEnded, type RunState, type Stage, stageOf } from "./model.ts";
import type { PlanWork } from "./plan.ts";

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
const FINISHING: readonly AnswerKind[] = Object.freeze([
  "retry",
  "retry-changed",
  "succeed",
  "skip",
]);
const SKIPPING: readonly AnswerKind[] = Object.freeze(["succeed", "skip"]);
const NOTED: readonly AnswerKind[] = Object.freeze(["acknowledge"]);

/** What the answers depend on besides the reason. */
export interface Asked {
  readonly stage: Stage["kind"];
  readonly pivoted: boolean;
  /** What the step does. */
  readonly work: PlanWork["kind"];
}

/**
 * The answers, in the order in which they are shown. `stage` is what the run does, or did when it
 * came to stand: while it stops, only whether the effect took place is still open.
 */
export function allowedAnswers(
  reason: EscalationReason,
  { stage, pivoted, work }: Asked,
): readonly AnswerKind[] {
  if (reason === "doubled") return NOTED;
  if (reason === "undo-failed") return UNDO;
  if (stage === "STOPPING" || stage === "COMPENSATING") return SETTLING;
  const all = stage === "FINISHING" ? finishing(work) : forward(work);
  return pivoted ? all.filter((answer) => answer !== "compensate") : all;
}

/** A child run is begun anew, with the input that it had. */
function withoutChange(answers: readonly AnswerKind[]): readonly AnswerKind[] {
  return answers.filter((answer) => answer !== "retry-changed");
}

function forward(work: PlanWork["kind"]): readonly AnswerKind[] {
  if (work === "task") return FORWARD;
  return work === "run" ? withoutChange(FORWARD) : DECIDED;
}

function finishing(work: PlanWork["kind"]): readonly AnswerKind[] {
  if (work === "task") return FINISHING;
  return work === "run" ? withoutChange(FINISHING) : SKIPPING;
}

/** A run as an answer finds it. */
export interface AskedOf {
  readonly state: RunState;
  readonly pivoted: boolean;
  readonly work: PlanWork["kind"];
}

/** The answers that an open escalation takes as its run stands; of an ended run, none but one. */
export function answersNow(
  reason: EscalationReason,
  { state, pivoted, work }: AskedOf,
): readonly AnswerKind[] {
  if (isEnded(state) && reason !== "doubled") return [];
  const allowed = allowedAnswers(reason, { stage: stageOf(state), pivoted, work });
  // To leave an effect ends the run, and other undos of it may still move.
  const moves = reason === "undo-failed" && state.kind !== "ESCALATED";
  return moves ? allowed.filter((answer) => answer !== "fail") : allowed;
}
