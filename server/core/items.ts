// What a map counts of its items, and what they have come to.

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
