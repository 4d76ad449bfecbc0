// What a process asks once a second, whatever waits in it.
import type { CircuitSign } from "./circuits.ts";
import type { RunRef, WatchedRun } from "./store.ts";
import type { SeenWatermarks, Watermark } from "./watermarks.ts";

export const SILENT_MAX = 1_000;
export const SILENT_REPORTED_MS = 60_000;

export interface PollQuery {
  readonly lanes: readonly number[];
  readonly runs: readonly RunRef[];
  /** Rows before them are not looked at. */
  readonly watermarks: readonly Watermark[];
  /**
   * How far back a bad end makes a lane watched, in milliseconds; null, or left out: circuits are
   * not asked about.
   */
  readonly circuitsMs?: number | null;
}

export interface PollQueryResult {
  /** Lanes of the question that have a ready row which may be taken. */
  readonly lanes: readonly number[];
  /** Watched runs that are still open, with their version; one left out has ended. */
  readonly runs: readonly WatchedRun[];
  /** What stands from the marks on; null: there was none in the question. */
  readonly watermarks: SeenWatermarks | null;
  /** null: they were not in the question. */
  readonly circuits: CircuitSign | null;
  /** Sessions that fell silent in the last minute, up to 1,000: who hears one of them says so. */
  readonly silent: readonly string[];
}
