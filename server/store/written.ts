// The result of writing passes, besides the rows.
import type { EndedTask } from "./rows-of-effects.ts";

export interface Written {
  /** Lanes that claims of this transaction scan for what it has made ready. */
  readonly filled: readonly number[];
  /** Known when the store has answered; a claim need not wait for it to scan. */
  readonly ended: Promise<Ended>;
  /** No task that has ended was of a queue with limits, as far as the process knows. */
  readonly freesNothing: boolean;
}

export interface Ended {
  /** Lanes of queues with limits in which a task has ended: other tasks may be handed out there. */
  readonly freed: readonly number[];
  /** Tasks of agents that have ended. */
  readonly tasks: readonly EndedTask[];
}

export const NOTHING_ENDED: Ended = Object.freeze({ freed: [], tasks: [] });

export const NOTHING_WRITTEN: Written = Object.freeze({
  filled: [],
  ended: Promise.resolve(NOTHING_ENDED),
  freesNothing: true,
});
