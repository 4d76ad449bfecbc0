// What a write says of itself, beside the rows.
import type { EndedTask } from "./ended-tasks.ts";

/** What came of writing passes, besides the rows. */
export interface Written {
  /** Lanes that claims of this transaction look at for what it has made ready. */
  readonly filled: readonly number[];
  /** Known when the store has answered, which a look of a claim need not wait for. */
  readonly ended: Promise<Ended>;
  /** No task that has ended was of a queue with limits, as far as the process knows. */
  readonly freesNothing: boolean;
}

export interface Ended {
  /** Lanes of queues with limits of which a task has ended: others of them may be handed out. */
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
