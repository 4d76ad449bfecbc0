// How long what somebody has said of himself counts, in milliseconds; a server decides both.
import { POLLED_MS } from "../core/plan.ts";

export interface StoreTimes {
  /** A lane counts as polled for so long after a poll. */
  readonly polledMs: number;
  /** A node that has said nothing for so long is gone, and what it owned is free. */
  readonly ownerLostMs: number;
}

export const STORE_TIMES: StoreTimes = Object.freeze({
  polledMs: POLLED_MS,
  ownerLostMs: 3_000,
});
