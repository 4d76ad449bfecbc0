// What people say about what is handed out: nothing of a queue, a namespace or a workflow; so much
// of a queue at most.

import type { LanePause } from "../core/explanation.ts";
import type { QueueLimits, QueueUse } from "../core/limits.ts";
import type { RunId } from "./run-head.ts";

export type { LanePause };

export interface WorkflowRef {
  readonly namespaceId: number;
  readonly workflow: string;
}

/** A queue, or with `queue` "" all queues of the namespace. */
export interface QueueRef {
  readonly namespaceId: number;
  readonly queue: string;
}

export type Pause = Pick<LanePause, "since" | "reason">;

/** A lane whose queue has limits. */
export interface LimitedLane extends QueueRef {
  readonly lane: number;
}

/** What a person is asked about all tasks of a lane. */
export interface LaneQuestion {
  readonly lane: number;
  /** The escalation. */
  readonly runId: RunId;
  readonly n: number;
}

export interface QueueRecord {
  readonly name: string;
  /** Tasks that wait for an agent: counted up to 10,000 of each of its task names. */
  readonly ready: number;
  /** Tasks with agents. */
  readonly leased: number;
  /** Of the queue itself. */
  readonly pause: Pause | null;
  readonly limits: QueueLimits;
}

/** A queue with limits whose row the transaction has locked. */
export interface LockedQueue extends QueueRef, QueueUse {}

/** Tasks of one lane that are counted. */
export const READY_COUNTED_MAX = 10_000;

export interface QueuePage {
  /** Queues of these names, in any case; null: all that are known. */
  readonly names: readonly string[] | null;
  readonly after: string | null;
  readonly limit: number;
}

export interface Queues {
  /**
   * From its return on no claim takes from these lanes, on any server: claims that were under way
   * have ended. Idempotent: the first reason stays.
   */
  pause(of: QueueRef, reason: string): Promise<Pause>;
  /** Returns its lanes, of which waiters may take again. */
  resume(of: QueueRef): Promise<readonly number[]>;
  /**
   * From its return on no claim takes more, on any server. A new rate begins with a full bucket.
   * Returns the queue's lanes, of which waiters may perhaps take more.
   */
  setLimits(of: QueueRef, limits: QueueLimits): Promise<readonly number[]>;
  /**
   * From its return on no claim takes a task of its runs, on any server, also of those that begin
   * later. null: no run can have this workflow. Idempotent: the first reason stays.
   */
  pauseWorkflow(of: WorkflowRef, reason: string): Promise<Pause | null>;
  /** Returns the lanes that have got ready rows by it. */
  resumeWorkflow(of: WorkflowRef): Promise<readonly number[]>;
}
