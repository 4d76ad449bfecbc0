// How long attempts of a step take, by workflow version: what servers have measured, and what the
// store has learned from it.
import type { Quantiles, Sketch } from "./sketch.ts";

/** Stored by definition and step key; all items of a map share the key of the first item. */
export interface DurationsKey {
  readonly definitionId: number;
  readonly step: number;
}

/** What one server has measured since its last `add`. */
export interface SeenDurations extends DurationsKey {
  readonly sketch: Sketch;
}

export interface LearnedDurations extends DurationsKey, Quantiles {}

export interface Durations {
  /**
   * Adds to the stored durations. Servers that do so at the same time wait for each other.
   * Definitions that are not a version of their workflow (inline ones) are left out.
   */
  add(seen: readonly SeenDurations[]): Promise<void>;
  learned(definitionIds: readonly number[]): Promise<readonly LearnedDurations[]>;
}
