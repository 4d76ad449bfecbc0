/**
 * A run as lines, one for each change, for pipes and logs. A watch sends whole states, so each
 * state is compared with the one before.
 */
import { type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import type { WatchRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Output } from "./output.ts";
import {
  errorWords,
  mannerWords,
  needsPerson,
  personWords,
  runOutcome,
  stepState,
  undoWords,
  workflowWords,
} from "./run-words.ts";
import { between, clean } from "./words.ts";

export function changeLines(
  before: WatchRunResponse | null,
  { run, steps }: WatchRunResponse,
  output: Output,
): string[] {
  const lines: string[] = [];
  const known = new Map(before?.steps.map((step) => [step.id, step]));
  if (run && before === null) lines.push(`run ${clean(run.runId)} of ${workflowWords(run)}`);
  for (const step of steps) {
    const old = known.get(step.id);
    if (old === undefined ? step.state !== StepState.BLOCKED : differs(old, step))
      lines.push(stepLine(old, step, output));
  }
  if (run && run.state !== before?.run?.state) {
    const took = between(run.createdTime, run.endedTime);
    lines.push(`run: ${runOutcome(run, output)}${took === "" ? "" : ` after ${took}`}`);
  }
  if (run && needsPerson(run, steps) && !(before?.run && needsPerson(before.run, before.steps)))
    lines.push(`run waits for a person: drover run show ${clean(run.runId)}`);
  else if (run && personWords(run) !== "" && !(before?.run && personWords(before.run) !== ""))
    lines.push(`run waits for a person: ${personWords(run)}: drover run why ${clean(run.runId)}`);
  return lines;
}

function differs(old: Step, step: Step): boolean {
  return (
    old.state !== step.state ||
    old.undoState !== step.undoState ||
    old.attempt !== step.attempt ||
    old.strategy !== step.strategy ||
    old.waitingOn !== step.waitingOn ||
    old.verifies !== step.verifies ||
    old.approvals !== step.approvals ||
    old.agentId !== step.agentId ||
    old.items?.open !== step.items?.open ||
    old.items?.started !== step.items?.started
  );
}

function stepLine(old: Step | undefined, step: Step, output: Output): string {
  const ended = step.state === StepState.SUCCEEDED;
  const words = [
    `step ${clean(step.id)}: ${stepState(step, output)}`,
    step.attempt > 0 && step.attempt !== old?.attempt ? `attempt ${step.attempt}` : "",
    step.agentId === "" ? "" : `agent ${clean(step.agentId)}`,
    ...mannerWords(step),
    undoWords(step),
    ended ? "" : errorWords(step.error),
  ];
  return words.filter((text) => text !== "").join(", ");
}
