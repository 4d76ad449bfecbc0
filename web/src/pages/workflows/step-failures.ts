// How often each step of a workflow has failed, for its node in the graph.
import type { FailingStep } from "@drover/proto/drover/v1/overview_pb.ts";
import { counted } from "../../words/counts.ts";

interface StepFailures {
  readonly number: number;
  /** "3 failures in 24 hours" */
  readonly words: string;
  /** 0 to 1: its part of the failures of the step that failed most. */
  readonly heat: number;
}

/**
 * By the id of the step: its failed attempts of all codes, with those of its compensation. A step
 * that no agent performs fails without an attempt.
 */
export function stepFailures(failing: readonly FailingStep[]): ReadonlyMap<string, StepFailures> {
  const numbers = new Map<string, number>();
  for (const { stepId, failedAttempts, failedSteps } of failing)
    numbers.set(stepId, (numbers.get(stepId) ?? 0) + Math.max(failedAttempts, failedSteps));
  const most = Math.max(...numbers.values());
  return new Map(
    [...numbers].map(([stepId, number]) => {
      const words = `${counted(number, "failure")} in 24 hours`;
      return [stepId, { number, words, heat: number / most }];
    }),
  );
}
