// What a write says of itself, beside the rows.
import type { EndedTask } from "./ended-tasks.ts";

/** What came of writing passes, besides the rows. */
export interface Written {
  /** Lanes of queues with limits of which a task has ended: others of them may be handed out. */
  readonly freed: readonly number[];
  /** Lanes that claims of this transaction look at for what it has made ready. */
  readonly filled: readonly number[];
  /** Tasks of agents that have ended. */
  readonly ended: readonly EndedTask[];
}

export const NOTHING_WRITTEN: Written = Object.freeze({ freed: [], filled: [], ended: [] });
