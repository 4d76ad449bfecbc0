// How far the items of a map are.
import { type ItemCounts, type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
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
