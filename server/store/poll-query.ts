// The poll query: what a process asks once a second for everything that waits in it.
import type { CircuitVersion } from "./circuits.ts";
import type { RunRef, WatchedRun } from "./store.ts";
import type { SeenWatermarks, Watermark } from "./watermarks.ts";

export const SILENT_MAX = 1_000;
export const SILENT_REPORTED_MS = 60_000;

export interface PollQuery {
  readonly lanes: readonly number[];
  readonly runs: readonly RunRef[];
  /** Ready rows before these watermarks are not scanned. */
  readonly watermarks: readonly Watermark[];
  /**
   * How far back a bad outcome makes a lane watched, in milliseconds; null or left out: circuits
   * are not asked for.
   */
  readonly circuitsMs?: number | null;
}

export interface PollQueryResult {
  /** Those of the lanes asked for that have a ready row which may be claimed. */
  readonly lanes: readonly number[];
  /** Watched runs that are still open, with their version; a run that is left out has ended. */
  readonly runs: readonly WatchedRun[];
  /** What was found from the watermarks on; null: the query had none. */
  readonly watermarks: SeenWatermarks | null;
  /** null: the query did not ask for circuits. */
  readonly circuits: CircuitVersion | null;
  /**
   * Sessions that fell silent in the last minute, up to 1,000. A server that one of them has called
   * since reports that with its next `markAgents`.
   */
  readonly silent: readonly string[];
}
