// What people set for dispatch: pauses of queues, namespaces and workflows, and limits of queues.

import type { LanePause } from "../core/explain/explanation.ts";
import type { QueueLimits, QueueUse } from "../core/model/limits.ts";
import type { Audit } from "./audit.ts";
import type { QueueShares } from "./queue-shares.ts";
import type { RunId } from "./run-head.ts";

export type { LanePause };

export interface WorkflowRef {
  readonly namespaceId: number;
  readonly workflow: string;
}

/** A queue; `queue` "": all queues of the namespace. */
export interface QueueRef {
  readonly namespaceId: number;
  readonly queue: string;
}

export type Pause = Pick<LanePause, "since" | "reason">;

/** A lane whose queue has limits. */
export interface LimitedLane extends QueueRef {
  readonly lane: number;
}

/** An escalation that asks a person about all tasks of a lane. */
export interface LaneQuestion {
  readonly lane: number;
  /** The run of the escalation. */
  readonly runId: RunId;
  readonly n: number;
}

export interface QueueRecord {
  readonly name: string;
  /** Tasks that wait for an agent, counted up to 10,000 for each of its task names. */
  readonly ready: number;
  /** Tasks that agents hold. */
  readonly leased: number;
  /** The pause of the queue itself. */
  readonly pause: Pause | null;
  readonly limits: QueueLimits;
}

/** A queue with limits whose row the transaction has locked. */
export interface LockedQueue extends QueueRef, QueueUse {}

/** Most tasks that are counted in one lane. */
export const READY_COUNTED_MAX = 10_000;

export interface QueuePage {
  /** Queues of these names, known or not; null: all known queues. */
  readonly names: readonly string[] | null;
  readonly after: string | null;
  readonly limit: number;
}

export interface Queues {
  /** How several shards divide the limits of queues. */
  readonly shares: QueueShares;
  /**
   * After it returns, no server claims from these lanes: claims that were in progress have ended.
   * Idempotent: the first reason stays.
   */
  pause(of: QueueRef, reason: string, audit?: Audit): Promise<Pause>;
  /** Returns its lanes, from which waiting polls may be served again. */
  resume(of: QueueRef, audit?: Audit): Promise<readonly number[]>;
  /**
   * After it returns, no server claims more than the limits allow; if there are several shards,
   * once the limits are divided anew (queue-shares.ts). A new rate begins with a full bucket.
   * Returns the lanes of the queue, from which waiting polls may perhaps get more.
   */
  setLimits(of: QueueRef, limits: QueueLimits, audit?: Audit): Promise<readonly number[]>;
  /**
   * After it returns, no server claims a task of the workflow's runs, of later runs neither. null:
   * no run can have this workflow. Idempotent: the first reason stays.
   */
  pauseWorkflow(of: WorkflowRef, reason: string, audit?: Audit): Promise<Pause | null>;
  /** Returns the lanes that have received ready rows. */
  resumeWorkflow(of: WorkflowRef, audit?: Audit): Promise<readonly number[]>;
}
