// The progress of a map's items in words.
import { type ItemCounts, type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { numberWords } from "./counts.ts";

/** `197 of 200, 3 failed`: how many of all items have succeeded. */
export function itemWords({ total, succeeded, failed, skipped }: ItemCounts): string {
  return [
    `${numberWords(succeeded)} of ${numberWords(total)}`,
    ...(failed > 0 ? [`${numberWords(failed)} failed`] : []),
    ...(skipped > 0 ? [`${numberWords(skipped)} skipped`] : []),
  ].join(", ");
}

/** The map has succeeded although items have failed, because it tolerates that many. */
export function isPartial({ state, items }: Pick<Step, "state" | "items">): boolean {
  return state === StepState.SUCCEEDED && (items?.failed ?? 0) > 0;
}
