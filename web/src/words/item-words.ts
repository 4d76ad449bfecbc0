// How far the items of a map are, and what a run that went on after failures went on after.
import {
  type ItemCounts,
  type Run,
  RunReason,
  type Step,
  StepState,
} from "@drover/proto/drover/v1/run_pb.ts";
import { numberWords } from "./counts.ts";

/** `197 of 200, 3 failed`: of all, how many have succeeded. */
export function itemWords({ total, succeeded, failed, skipped }: ItemCounts): string {
  return [
    `${numberWords(succeeded)} of ${numberWords(total)}`,
    ...(failed > 0 ? [`${numberWords(failed)} failed`] : []),
    ...(skipped > 0 ? [`${numberWords(skipped)} skipped`] : []),
  ].join(", ");
}

/** It has succeeded although items of it failed: it tolerates so many. */
export function isPartial({ state, items }: Pick<Step, "state" | "items">): boolean {
  return state === StepState.SUCCEEDED && (items?.failed ?? 0) > 0;
}

/** The steps after whose failure the run went on, or after that of some of their items. */
export function warningSteps(run: Run, steps: readonly Step[]): readonly Step[] {
  if (run.warnings === 0) return [];
  // With a verdict against it, a step that has failed may be why.
  const goesOn = run.reason === RunReason.UNSPECIFIED || run.reason === RunReason.DONE;
  return steps.filter((step) => isPartial(step) || (goesOn && step.state === StepState.FAILED));
}
