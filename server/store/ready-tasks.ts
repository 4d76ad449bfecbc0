// Ready tasks as a claim locks them, and the sessions that it grants them to.
import type { EpochMs, TaskKind } from "../core/model/attempt.ts";
import type { LimitedLane } from "./queues.ts";
import type { RunRef } from "./run-head.ts";

/** A ready row that a claim has locked and may grant. */
export interface ReadyRow extends RunRef {
  readonly step: number;
  readonly lane: number;
  readonly priority: number;
  readonly task: TaskKind;
  readonly fence: number;
  readonly attempt: number;
  readonly readyAt: EpochMs;
  readonly until: EpochMs | null;
  readonly avoid: { readonly session: string; readonly until: EpochMs } | null;
  readonly attemptMs: number;
  readonly heartbeatMs: number;
  readonly cancelMs: number;
  readonly stallMs: number | null;
  /** The first try of its step, as planned: the task is made from the plan and the run alone. */
  readonly isFirstTry: boolean;
}

export interface LockedReady {
  readonly rows: readonly ReadyRow[];
  /** Lanes that gave nothing yet, because their queues have to be locked first. */
  readonly limited: readonly LimitedLane[];
}

/** A locked ready row, and the session that gets it. */
export interface Grant {
  readonly ready: ReadyRow;
  readonly secret: string;
  readonly session: string;
  readonly agentId: string;
  readonly pollSeq: number;
}

export interface Granted extends Grant {
  readonly grantedAt: EpochMs;
  readonly attemptBy: EpochMs;
}
