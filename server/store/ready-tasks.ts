// Ready tasks as a claim locks them, and to whom it hands them out.
import type { EpochMs, TaskKind } from "../core/attempt.ts";
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
  /** Its step's first try, as planned: the task is made of the plan and of the run alone. */
  readonly plain: boolean;
}

export interface LockedReady {
  readonly rows: readonly ReadyRow[];
  /** Those that gave nothing yet: their queues have to be locked first. */
  readonly limited: readonly LimitedLane[];
}

/** Who gets a locked ready row. */
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
