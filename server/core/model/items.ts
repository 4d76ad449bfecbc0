// The counters of a map, and the outputs of its items.
import type { PlanWork, Share } from "../plan/plan.ts";

/** Progress of a map. The items that have started are numbered from 1. */
export interface Items {
  readonly total: number;
  readonly started: number;
  /** Started, and not ended. */
  readonly open: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  /** Items are undone from the last started one downwards; those above this number are handled. */
  readonly undoFrom: number;
  /** Handled items whose undo moves, and those whose undo is not done. */
  readonly undosMoving: number;
  readonly undosLeft: number;
}

/** By number of the item. Items without an output, or with one that is not JSON, are left out. */
export type ItemOutputs =
  | { readonly kind: "all"; readonly json: ReadonlyMap<number, string> }
  /** Together the outputs are larger than a payload may be. */
  | { readonly kind: "too-large" };

export type MapPlan = Extract<PlanWork, { kind: "map" }>;

/** Error code of a map of which more items have failed than it tolerates. */
export const TOO_MANY_FAILED = "drover.items";

/** A map may stop before all items have started: frequent failures probably affect all items. */
export function isFailed({ failed, total }: Items, { tolerate }: MapPlan): boolean {
  const most = tolerate.kind === "count" ? tolerate.count : (total * tolerate.percent) / 100;
  return failed > most;
}

/** `3 of 200 items failed, and 10 may` */
export function itemsFailed({ failed, total }: Items, { tolerate }: MapPlan): string {
  return `${failed} of ${total} items failed, and ${inWords(tolerate)} may`;
}

function inWords(share: Share): string {
  return share.kind === "count" ? String(share.count) : `${share.percent}%`;
}
