// Queues that give the tasks of a workflow to one version of agents alone.
//
// A lane has a class: 0, of which all agents may take, or one for each version of agents that its
// queue has ever named in a pin. The statement that makes a row ready puts it into the lane of its
// class, so that a claim knows nothing of pins, and a poll asks for the lanes of its version beside
// those of class 0.
import type { EpochMs } from "../core/attempt.ts";
import type { WorkflowRef } from "./queues.ts";
import type { LaneKey } from "./store.ts";

/** Tasks of a workflow in a queue; version 0: of each version that has no pin of its own there. */
export interface PinRef extends WorkflowRef {
  readonly queue: string;
  readonly version: number;
}

export interface Pin extends PinRef {
  /** Agents of this version alone get them. */
  readonly agentVersion: string;
  readonly at: EpochMs;
}

/** A pin as rows are evaluated by it. */
export interface KnownPin extends WorkflowRef {
  readonly queue: string;
  /** null: of each version that has no pin of its own. */
  readonly definitionId: number | null;
  readonly agentVersion: string;
}

/** A lane that agents of one version ask for. */
export interface VersionLane extends LaneKey {
  readonly lane: number;
  /** The lane of the same task for all agents. */
  readonly base: number;
  readonly agentVersion: string;
}

/** All that a server has to know of them. */
export interface Pinned {
  readonly pins: readonly KnownPin[];
  readonly lanes: readonly VersionLane[];
}

export interface Pins {
  /**
   * From its return on no agent of another version gets such a task; one that an agent has stays
   * with it. Another version takes the place of the one before. Idempotent. Returns the lanes that
   * have got ready rows by it; null: there is no such workflow, or no such version of it.
   */
  pin(of: PinRef, agentVersion: string): Promise<readonly number[] | null>;
  /** The same backwards: what another pin does not keep goes to any agent. */
  unpin(of: PinRef): Promise<readonly number[]>;
}
