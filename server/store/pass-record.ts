// A pass to be written: what it has read of its run, what it has decided, and who acts.
import type { Effect } from "../core/model/effect.ts";
import type { View } from "../core/model/model.ts";
import type { LaneOf } from "../core/page/apply-pass.ts";
import type { AuditEntry } from "./audit.ts";
import type { RunHead } from "./run-head.ts";

export type { LaneOf };

/** Who acted, for interventions: the owner of the partition, in its epoch. */
export interface Actor {
  readonly node: string;
  readonly epoch: number;
}

/** `actor` null: no supervisor acted; the pass was caused by a report of an agent. */
export interface PassRecord {
  readonly head: RunHead;
  readonly before: View;
  readonly after: View;
  readonly effects: readonly Effect[];
  readonly laneOf: LaneOf;
  /**
   * How long an attempt to perform the step may run until the supervisor checks whether it is slow,
   * in milliseconds; null or left out: not known.
   */
  readonly slowAfter?: (step: number) => number | null;
  readonly actor: Actor | null;
  /** Of the commands that have changed the run; left out: none. */
  readonly audit?: readonly AuditEntry[];
}
