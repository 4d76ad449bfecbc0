/** Runs and steps in words and colours, the same in lists, trees and lines. */
import {
  type Run,
  RunReason,
  RunReasonSchema,
  RunState,
  RunStateSchema,
  type Step,
  StepState,
  StepStateSchema,
  UndoState,
  UndoStateSchema,
} from "@drover/proto/drover/v1/run_pb.ts";
import type { Output, Style } from "./output.ts";
import { clean, phrase, word } from "./words.ts";

const finalStates: ReadonlySet<RunState> = new Set([
  RunState.COMPLETED,
  RunState.FAILED,
  RunState.COMPENSATED,
  RunState.CANCELLED,
]);

export function isFinal(state: RunState): boolean {
  return finalStates.has(state);
}

const runStyles: Readonly<Partial<Record<RunState, Style>>> = {
  [RunState.RUNNING]: "cyan",
  [RunState.STOPPING]: "yellow",
  [RunState.COMPENSATING]: "yellow",
  [RunState.ESCALATED]: "red",
  [RunState.COMPLETED]: "green",
  [RunState.FAILED]: "red",
  [RunState.COMPENSATED]: "yellow",
  [RunState.CANCELLED]: "yellow",
};

const stepStyles: Readonly<Partial<Record<StepState, Style>>> = {
  [StepState.BLOCKED]: "dim",
  [StepState.LEASED]: "cyan",
  [StepState.BACKOFF]: "yellow",
  [StepState.ESCALATED]: "red",
  [StepState.SUCCEEDED]: "green",
  [StepState.FAILED]: "red",
  [StepState.SKIPPED]: "dim",
  [StepState.CANCELLED]: "dim",
};

export function runState(run: Run, output: Output): string {
  const style = runStyles[run.state];
  const text = word(RunStateSchema, run.state);
  return style ? output.paint(style, text) : text;
}

/** `COMPENSATED (step failed)` */
export function runVerdict(run: Run, output: Output): string {
  const told = run.reason !== RunReason.UNSPECIFIED && run.reason !== RunReason.DONE;
  const reason = told ? ` (${phrase(RunReasonSchema, run.reason)})` : "";
  return `${runState(run, output)}${reason}`;
}

export function stepState(step: Step, output: Output): string {
  const style = stepStyles[step.state];
  const text = word(StepStateSchema, step.state);
  return style ? output.paint(style, text) : text;
}

/** Empty while nothing is to be undone. */
export function undoWords(step: Step): string {
  switch (step.undoState) {
    case UndoState.UNSPECIFIED:
    case UndoState.NONE:
      return "";
    case UndoState.PENDING:
      return "to be undone";
    case UndoState.ACTIVE:
      return "being undone";
    case UndoState.DONE:
      return "undone";
    case UndoState.FAILED:
      return "not undone";
    default:
      return phrase(UndoStateSchema, step.undoState);
  }
}

/** `rate-limited: too many requests` */
export function errorWords(error: Step["error"]): string {
  if (error === undefined) return "";
  return clean(error.message === "" ? error.code : `${error.code}: ${error.message}`);
}

/** `book-holiday v3`; a definition that came with the run has no version. */
export function workflowWords({ workflow, workflowVersion }: Run): string {
  return workflowVersion > 0 ? `${clean(workflow)} v${workflowVersion}` : clean(workflow);
}
