// A pass to be written: what it has read of its run, what it has decided, and on whose behalf.
import type { Effect } from "../core/effect.ts";
import type { View } from "../core/model.ts";
import type { LaneOf } from "../core/page/apply-pass.ts";
import type { RunHead } from "./run-head.ts";

export type { LaneOf };

/** Who acted, for interventions: the owner of the partition, or nobody but an agent's word. */
export interface Actor {
  readonly node: string;
  readonly epoch: number;
}

/** A pass to be written. */
export interface PassRecord {
  readonly head: RunHead;
  readonly before: View;
  readonly after: View;
  readonly effects: readonly Effect[];
  readonly laneOf: LaneOf;
  /**
   * How long an attempt to perform the step may run before somebody looks whether it is slow, in
   * milliseconds; null, or left out: nobody knows.
   */
  readonly slowAfter?: (step: number) => number | null;
  readonly actor: Actor | null;
}
