/**
 * Where a step of a run stands: the word of its state, what there is to tell, and how it looks. A
 * look is a colour and a sign, so that nobody has to see colours.
 */
import {
  type Step,
  StepState,
  StepStateSchema,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import { errorWords, mannerWords, undoWords } from "../run-words.ts";
import { clip, timeOfDay, word } from "../words.ts";

/**
 *     ahead    has not begun          well      done
 *     moving   queued or with agents  badly     failed
 *     waiting  for an event           undone    taken back
 *     trouble  tried again, looked up left-out  not needed, or not done any more
 *     person   a person has to say
 */
export type Look =
  | "ahead"
  | "moving"
  | "waiting"
  | "trouble"
  | "person"
  | "well"
  | "badly"
  | "undone"
  | "left-out";

export interface Standing {
  /** SUCCEEDED, BACKOFF, undone */
  readonly word: string;
  readonly look: Look;
  readonly details: readonly string[];
}

const looks: Readonly<Partial<Record<StepState, Look>>> = {
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

const undoLooks: Readonly<Partial<Record<UndoState, Look>>> = {
  [UndoState.PENDING]: "ahead",
  [UndoState.ACTIVE]: "moving",
  [UndoState.DONE]: "undone",
  [UndoState.FAILED]: "person",
};

const errorShownMax = 80;

/** While it is undone, agent and attempts are those of that. */
export function standingOf(step: Step): Standing {
  const { state, error } = step;
  const isOver = state === StepState.SUCCEEDED || state === StepState.SKIPPED;
  const details = [
    ...(step.undoState === UndoState.ACTIVE ? [] : mannerOf(step)),
    isOver ? "" : clip(errorWords(error), errorShownMax),
  ];
  return {
    word: word(StepStateSchema, state),
    look: looks[state] ?? "ahead",
    details: details.filter((detail) => detail !== ""),
  };
}

/** null: nothing of it is to be undone, at least by now. */
export function undoStandingOf(step: Step): Standing | null {
  const look = undoLooks[step.undoState];
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
