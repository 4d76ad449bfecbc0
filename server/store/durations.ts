// How long attempts of a step take, by workflow version: what servers add to it, what is known.
import type { Quantiles, Sketch } from "./sketch.ts";

/** Sketches are kept by definition and place: all items of a map are at the place of the first. */
export interface DurationsKey {
  readonly definitionId: number;
  readonly step: number;
}

/** What one server has seen since it told the last time. */
export interface SeenDurations extends DurationsKey {
  readonly sketch: Sketch;
}

export interface LearnedDurations extends DurationsKey, Quantiles {}

export interface Durations {
  /**
   * Adds to what is kept; servers that do so at the same time wait for each other. Definitions that
   * are no version of their workflow (inline ones) are left out.
   */
  add(seen: readonly SeenDurations[]): Promise<void>;
  learned(definitionIds: readonly number[]): Promise<readonly LearnedDurations[]>;
}
