// Lanes in which the last scan has left nothing and which have no limits. What a small batch makes
// ready there may be handed out without another scan. That is a guess, which a statement
// (assert_lanes_empty) confirms or refuses.
import type { Clock } from "../../clock.ts";

/** A scan is forgotten after this time, in milliseconds. */
const SCANNED_MS_MAX = 1_000;
/** The oldest scans are dropped first. */
const LANES_MAX = 50_000;

export interface EmptyLanes {
  /** A scan has found that the lane has no limits. `isEmpty`: the scan left nothing in it. */
  scanned(lane: number, isEmpty: boolean): void;
  /** A transaction leaves ready tasks in the lane. */
  filled(lane: number): void;
  /** It has limits, or a pin or a pause affects it; or a guess about it was refused. */
  drop(lane: number): void;
  /** None of them has limits, as far as is known. */
  areOpen(lanes: readonly number[]): boolean;
  /** None of them has limits or ready tasks, as far as is known. */
  areEmpty(lanes: readonly number[]): boolean;
  forget(): void;
}

export function createEmptyLanes(clock: Pick<Clock, "monotonicMs">): EmptyLanes {
  const scans = new Map<number, { readonly isEmpty: boolean; readonly atMs: number }>();

  function known(lane: number): { readonly isEmpty: boolean } | null {
    const scan = scans.get(lane);
    return scan && clock.monotonicMs() - scan.atMs <= SCANNED_MS_MAX ? scan : null;
  }

  return Object.freeze({
    scanned(lane: number, isEmpty: boolean): void {
      scans.delete(lane);
      scans.set(lane, { isEmpty, atMs: clock.monotonicMs() });
      const [oldest] = scans.keys();
      if (scans.size > LANES_MAX && oldest !== undefined) scans.delete(oldest);
    },
    filled(lane: number): void {
      const scan = scans.get(lane);
      if (scan) scans.set(lane, { ...scan, isEmpty: false });
    },
    drop: (lane: number) => void scans.delete(lane),
    areOpen: (lanes: readonly number[]) => lanes.every((lane) => known(lane) !== null),
    areEmpty: (lanes: readonly number[]) => lanes.every((lane) => known(lane)?.isEmpty === true),
    forget: () => scans.clear(),
  });
}
