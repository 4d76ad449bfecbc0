/** Runs and steps in words and colours, the same in lists, trees and lines. */
import {
  type Failure,
  type Run,
  RunState,
  RunSubstate,
  type RunSubstateCount,
  type Step,
  StepKind,
  StepState,
  UndoState,
  WaitingOn,
  WaitingOnSchema,
} from "@drover/proto/drover/v1/run_pb.ts";
import type { Output, Style } from "./output.ts";
import { reasonWords, runStateWord, stepStateWord, undoWord } from "./state-words.ts";
import { substateWords } from "./substate-words.ts";
import { clean, counted, phrase, timeOfDay, timeWords } from "./words.ts";

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
  [RunState.PAUSED]: "yellow",
  [RunState.STOPPING]: "yellow",
  [RunState.COMPENSATING]: "yellow",
  [RunState.ESCALATED]: "red",
  [RunState.FINISHING]: "cyan",
  [RunState.COMPLETED]: "green",
  [RunState.FAILED]: "red",
  [RunState.COMPENSATED]: "yellow",
  [RunState.CANCELLED]: "yellow",
};

const stepStyles: Readonly<Partial<Record<StepState, Style>>> = {
  [StepState.BLOCKED]: "dim",
  [StepState.LEASED]: "cyan",
  [StepState.BACKOFF]: "yellow",
  [StepState.WAITING]: "cyan",
  [StepState.VERIFYING]: "yellow",
  [StepState.ESCALATED]: "red",
  [StepState.SUCCEEDED]: "green",
  [StepState.FAILED]: "red",
  [StepState.SKIPPED]: "dim",
  [StepState.CANCELLED]: "dim",
};

export function runState(run: Run, output: Output): string {
  const style = runStyles[run.state];
  const text = runStateWord(run.state);
  return style ? output.paint(style, text) : text;
}

/** `compensated (a step failed)`, `completed, 1 warning` */
export function runOutcome(run: Run, output: Output): string {
  const why = reasonWords(run.reason);
  const reason = why === "" ? "" : ` (${why})`;
  const warnings = run.warnings > 0 ? `, ${counted(run.warnings, "warning")}` : "";
  return `${runState(run, output)}${reason}${warnings}`;
}

/**
 * The state with what an open run does or waits for, or how the run ended: `running: working,
 * retrying (3 steps)`, `failed: "hotel" failed after 1 attempt: sold-out: …`.
 */
export function runStatus(run: Run, output: Output): string {
  const summary = clean(run.summary);
  if (summary !== "") return `${runState(run, output)}: ${summary}`;
  const substates = substateWords(run.substates);
  return `${runOutcome(run, output)}${substates === "" ? "" : `: ${substates}`}`;
}

/** Prints the state of the run after a command, and the next command. */
export function printRunState(
  run: Run | undefined,
  output: Output,
  next = run && isFinal(run.state) ? "show" : "watch",
): void {
  if (output.format !== "table" || run === undefined) return;
  const id = clean(run.runId);
  output.line(`run ${id} is ${runOutcome(run, output)}`);
  output.next(`drover run ${next} ${id}`);
}

export function stepState(step: Step, output: Output): string {
  const style = stepStyles[step.state];
  const text = stepStateWord(step.state);
  return style ? output.paint(style, text) : text;
}

/** Whether a part of the run can move only after a person answers. */
export function needsPerson(run: Run, steps: readonly Step[]): boolean {
  if (isFinal(run.state)) return false;
  const stuck = ({ state, undoState }: Step) =>
    state === StepState.ESCALATED || undoState === UndoState.FAILED;
  return run.state === RunState.ESCALATED || steps.some(stuck);
}

/**
 * What the run waits for if only a person can move it, as `a step waits for approval`; empty: a
 * part of it can move without one, or it has ended.
 */
export function personWords({ state, substates }: Run): string {
  if (isFinal(state)) return "";
  if (state === RunState.ESCALATED) return "an escalation is open";
  const isApproval = ({ substate }: RunSubstateCount) =>
    substate === RunSubstate.WAITING_FOR_APPROVAL;
  return substates.length > 0 && substates.every(isApproval) ? "a step waits for approval" : "";
}

/**
 * How a step is tried or what it waits for; each part may be absent: `fallback 1`, `for the signal
 * paid until 2026-02-07 12:00:00Z`, `2 verifies without a result`, `1 approval`.
 */
export function mannerWords(step: Step): readonly string[] {
  const { strategy, verifies, approvals, suspectTime } = step;
  return [
    strategy > 0 ? `fallback ${strategy}` : "",
    waitingWords(step),
    step.kind === StepKind.MAP && step.task !== "" ? "its gate is being checked" : "",
    itemWords(step),
    verifies > 0 ? `${counted(verifies, "verify", "verifies")} without a result` : "",
    approvals > 0 ? counted(approvals, "approval") : "",
    suspectTime ? `suspect since ${timeOfDay(suspectTime)}` : "",
  ].filter((text) => text !== "");
}

/** `12 of 40 items ended, 1 failed` */
function itemWords({ items }: Step): string {
  if (!items) return "";
  const failed = items.failed > 0 ? `, ${items.failed} failed` : "";
  return `${items.started - items.open} of ${items.total} items ended${failed}`;
}

/** The child run is always named: what it did is recorded in its own run. */
function waitingWords(step: Step): string {
  const { state, waitingOn, nextTime, childRunId } = step;
  const child = childRunId === "" ? "" : `run ${clean(childRunId)}`;
  if (state !== StepState.WAITING) return child;
  if (waitingOn === WaitingOn.CHILD_END) return `for ${child} to end`;
  const until = nextTime ? `until ${timeWords(nextTime)}` : "";
  return [child === "" ? waitedFor(step) : `for ${child}`, until]
    .filter((text) => text !== "")
    .join(" ");
}

function waitedFor({ waitingOn, signalName }: Step): string {
  switch (waitingOn) {
    case WaitingOn.UNSPECIFIED:
    case WaitingOn.TIMER:
      return "";
    case WaitingOn.SIGNAL:
      return signalName === "" ? "for a signal" : `for the signal ${clean(signalName)}`;
    case WaitingOn.APPROVAL:
      return "for approval";
    case WaitingOn.CALLBACK:
      return "for a callback";
    // The number of ended items is shown separately.
    case WaitingOn.ITEMS:
      return "";
    default:
      return `for ${phrase(WaitingOnSchema, waitingOn)}`;
  }
}

/** Empty while there is nothing to compensate. */
export function undoWords({ undoState }: Step): string {
  return undoWord(undoState);
}

/** `rate-limited: too many requests` */
export function errorWords(error: Pick<Failure, "code" | "message"> | undefined): string {
  if (error === undefined) return "";
  return clean([error.code, error.message].filter((text) => text !== "").join(": "));
}

/** `book-holiday v3`; a definition that was sent with the run has no version. */
export function workflowWords({ workflow, workflowVersion }: Run): string {
  return workflowVersion > 0 ? `${clean(workflow)} v${workflowVersion}` : clean(workflow);
}
