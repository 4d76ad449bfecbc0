// Pins: a queue gives the tasks of a workflow only to agents of one version.
//
// A lane has a class. Class 0 is for all agents; each version of agents that a pin of the queue has
// ever named has a class of its own. The statement that makes a row ready puts it into the lane of
// its class. So a claim needs to know nothing of pins, and a poll asks for the lanes of its version
// besides those of class 0.
import type { EpochMs } from "../core/model/attempt.ts";
import type { Audit } from "./audit.ts";
import type { WorkflowRef } from "./queues.ts";
import type { LaneKey } from "./store.ts";

/** Tasks of a workflow in a queue. Version 0: of each version without a pin of its own there. */
export interface PinRef extends WorkflowRef {
  readonly queue: string;
  readonly version: number;
}

export interface Pin extends PinRef {
  /** Only agents of this version get the tasks. */
  readonly agentVersion: string;
  readonly at: EpochMs;
}

/** A pin in the form by which rows are evaluated. */
export interface KnownPin extends WorkflowRef {
  readonly queue: string;
  /** null: each version that has no pin of its own. */
  readonly definitionId: number | null;
  readonly agentVersion: string;
}

/** A lane for which agents of one version poll. */
export interface VersionLane extends LaneKey {
  readonly lane: number;
  /** The lane of the same task for all agents. */
  readonly base: number;
  readonly agentVersion: string;
}

/** All that a server has to know of pins. */
export interface Pinned {
  readonly pins: readonly KnownPin[];
  readonly lanes: readonly VersionLane[];
}

export interface Pins {
  /**
   * After it returns, no agent of another version gets such a task; a task that an agent holds
   * stays with it. Another version replaces the one before. Idempotent. Returns the lanes that have
   * received ready rows; null: there is no such workflow, or no such version of it.
   */
  pin(of: PinRef, agentVersion: string, audit?: Audit): Promise<readonly number[] | null>;
  /** Takes a pin back: what no other pin reserves goes to any agent. Returns lanes as `pin`. */
  unpin(of: PinRef, audit?: Audit): Promise<readonly number[]>;
}
