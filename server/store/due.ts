// Timers of runs that have come, and leases whose session is silent for longer than they allow.
import type { EpochMs } from "../core/attempt.ts";
import type { WaitingFor } from "../core/model.ts";
import type { RunId, RunRef } from "./run-head.ts";
import type { ScheduleRef } from "./schedules.ts";

export type DueKind = "lease" | "ready" | "backoff" | WaitingFor | "escalation" | "run" | "message";

export interface DueRow extends RunRef {
  readonly kind: DueKind;
  /** -1 for the run's own moment, and for a message to it. */
  readonly step: number;
  /** Of the task; of an escalation its number. */
  readonly fence: number;
  readonly wakeAt: EpochMs;
  /** Somebody polled its lane in the last minute, or nobody may take of it (ready rows). */
  readonly polled: boolean;
  /** Of ready rows: where they wait. */
  readonly lane: number | null;
  /** Of ready rows that a pin keeps for the agents of one version. */
  readonly agentVersion: string | null;
}

/** A schedule whose next moment has come. */
export interface DueSchedule extends ScheduleRef {
  readonly wakeAt: EpochMs;
}

/**
 * Work of a partition's owner that is no moment of a run: what users have put into the inbox,
 * webhooks to be sent, ends of runs that triggers wait for.
 */
export type Outside = "inbox" | "deliveries" | "triggers";

/** Which due row it is, of those of a run or a schedule. */
export interface DueRef {
  readonly kind: DueKind | "schedule";
  /** Of the run, or of the schedule. */
  readonly id: RunId;
  /** The step; the number of an escalation; -1 of the run's own, of a message and of a schedule. */
  readonly place: number;
}

export function dueRefOf({ kind, runId, step, fence }: DueRow): DueRef {
  return { kind, id: runId, place: kind === "escalation" ? fence : step };
}

/** Where a look begins and ends: what has long been dead may be in its way. */
export interface DueRange {
  /** What has come before this moment is left out; null: nothing is. */
  readonly since: EpochMs | null;
  /** What comes later than so long from now is not told as the next; null: whatever comes is. */
  readonly aheadMs: number | null;
  /** Rows that rest after a failure: they take the place of no other. Left out: none does. */
  readonly without?: readonly DueRef[];
  /**
   * By partition: since when somebody could have heard the sessions that hold its leases; those of
   * others are not looked at. Left out: none is.
   */
  readonly heardSince?: ReadonlyMap<number, EpochMs>;
}

export const WHOLE_RANGE: DueRange = Object.freeze({ since: null, aheadMs: null });

export interface DueScan {
  readonly now: EpochMs;
  /** Where something can be done now. */
  readonly outside: readonly Outside[];
  readonly due: readonly DueRow[];
  readonly schedules: readonly DueSchedule[];
  /** The earliest moment still to come in these partitions. */
  readonly nextAt: EpochMs | null;
  /** Nothing was left out that is due before it. */
  readonly foundTo: EpochMs;
}

export interface Scanned
  extends Pick<DueScan, "now" | "outside" | "foundTo" | "due" | "schedules"> {
  /** There may be more that is due. */
  readonly isMore: boolean;
  /** The earliest moment that was still to come. */
  readonly nextAt: EpochMs | null;
}

export function dueScan({ isMore, ...looked }: Scanned): DueScan {
  return isMore ? { ...looked, nextAt: looked.now } : looked;
}
