// How long the last poll of a lane and the last call of a node count, in milliseconds. The server
// sets both.
import { POLLED_MS } from "../core/plan/plan.ts";

export interface StoreTimes {
  /** A lane counts as polled for this long after a poll. */
  readonly polledMs: number;
  /** A node that has not called for this long is gone, and its partitions are free. */
  readonly ownerLostMs: number;
}

export const STORE_TIMES: StoreTimes = Object.freeze({
  polledMs: POLLED_MS,
  ownerLostMs: 3_000,
});
