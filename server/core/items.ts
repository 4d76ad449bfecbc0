// What a map counts of its items, and what they have come to.
import type { PlanWork, Share } from "./plan.ts";

/** How far the items of a map are. Those that have begun are numbered from 1. */
export interface Items {
  readonly total: number;
  readonly begun: number;
  /** Begun, and not ended. */
  readonly open: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  /** Undoing goes down from the last that has begun: those above this one have been looked at. */
  readonly undoFrom: number;
  /** Of those, the ones whose undo moves, and the ones whose undo is not done. */
  readonly undosMoving: number;
  readonly undosLeft: number;
}

/** By the number of the item; none of one that has none, or that is not JSON. */
export type ItemOutputs =
  | { readonly kind: "all"; readonly json: ReadonlyMap<number, string> }
  /** Together they are larger than a payload may be. */
  | { readonly kind: "too-large" };

export type MapPlan = Extract<PlanWork, { kind: "map" }>;

/** More items of a map have failed than it tolerates. */
export const TOO_MANY_FAILED = "drover.items";

/** It may stop before all have begun: what fails often fails for all. */
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
