/**
 * The state of a step of a run: the word of its state, details, and its style. A style is a colour
 * and a sign, so that readers need not see colours.
 */
import { type Step, StepState, UndoState } from "@drover/proto/drover/v1/run_pb.ts";
import { errorWords, mannerWords, undoWords } from "../run-words.ts";
import { stepStateWord } from "../state-words.ts";
import { clip, timeOfDay } from "../words.ts";

/**
 *     ahead    not started yet              well      done
 *     moving   queued or with agents      badly     failed
 *     waiting  for an event               undone    compensated
 *     trouble  retried, or being verified left-out  not needed, or cancelled
 *     person   a person must answer
 */
export type NodeStyle =
  | "ahead"
  | "moving"
  | "waiting"
  | "trouble"
  | "person"
  | "well"
  | "badly"
  | "undone"
  | "left-out";

export interface StateView {
  /** As succeeded, to be retried, compensated. */
  readonly word: string;
  readonly look: NodeStyle;
  readonly details: readonly string[];
}

const styles: Readonly<Partial<Record<StepState, NodeStyle>>> = {
  [StepState.BLOCKED]: "ahead",
  [StepState.READY]: "moving",
  [StepState.LEASED]: "moving",
  [StepState.BACKOFF]: "trouble",
  [StepState.WAITING]: "waiting",
  [StepState.VERIFYING]: "trouble",
  [StepState.ESCALATED]: "person",
  [StepState.SUCCEEDED]: "well",
  [StepState.FAILED]: "badly",
  [StepState.SKIPPED]: "left-out",
  [StepState.CANCELLED]: "left-out",
};

const undoStyles: Readonly<Partial<Record<UndoState, NodeStyle>>> = {
  [UndoState.PENDING]: "ahead",
  [UndoState.ACTIVE]: "moving",
  [UndoState.DONE]: "undone",
  [UndoState.FAILED]: "person",
};

const errorShownMax = 80;

/** While the step is being compensated, agent and attempts are those of the compensation. */
export function statusOf(step: Step): StateView {
  const { state, error } = step;
  const isOver = state === StepState.SUCCEEDED || state === StepState.SKIPPED;
  const details = [
    ...(step.undoState === UndoState.ACTIVE ? [] : mannerOf(step)),
    isOver ? "" : clip(errorWords(error), errorShownMax),
  ];
  return {
    word: stepStateWord(state),
    look: styles[state] ?? "ahead",
    details: details.filter((detail) => detail !== ""),
  };
}

/** null: the step has nothing to undo, or not yet. */
export function undoStatusOf(step: Step): StateView | null {
  const look = undoStyles[step.undoState];
  const details = step.undoState === UndoState.ACTIVE ? mannerOf(step) : [];
  return look ? { word: undoWords(step), look, details } : null;
}

function mannerOf(step: Step): readonly string[] {
  const { state, attempt, agentId, nextTime } = step;
  const tries = attempt > 1 || state === StepState.LEASED ? `attempt ${attempt}` : "";
  return [
    [tries, agentId].filter((text) => text !== "").join(", "),
    state === StepState.BACKOFF && nextTime ? `next ${timeOfDay(nextTime)}` : "",
    ...mannerWords(step),
  ].filter((detail) => detail !== "");
}
