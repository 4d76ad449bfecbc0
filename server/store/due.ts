// Timers of runs that are due, and leases whose session is silent for longer than they allow.
import type { EpochMs } from "../core/model/attempt.ts";
import type { WaitingFor } from "../core/model/model.ts";
import type { RunId, RunRef } from "./run-head.ts";
import type { ScheduleRef } from "./schedules.ts";

export type DueKind = "lease" | "ready" | "backoff" | WaitingFor | "escalation" | "run" | "message";

export interface DueRow extends RunRef {
  readonly kind: DueKind;
  /** -1: the timer is one of the run itself, or the row is a message to the run. */
  readonly step: number;
  /** The fence of the task; for an escalation its number. */
  readonly fence: number;
  readonly wakeAt: EpochMs;
  /**
   * Of ready rows. True: an agent has polled the lane recently (`polledMs`) and has not fallen
   * silent, or nothing may be claimed from the lane at present (a pause, an open circuit).
   */
  readonly polled: boolean;
  /** Of ready rows: the lane in which they wait. */
  readonly lane: number | null;
  /** Of ready rows that a pin reserves for the agents of one version: that version. */
  readonly agentVersion: string | null;
}

/** A cron schedule whose next occurrence is due. */
export interface DueSchedule extends ScheduleRef {
  readonly wakeAt: EpochMs;
}

/**
 * Work of a partition's owner other than timers: rows that users have put into the inbox, webhooks
 * to send, ends of runs that triggers wait for.
 */
export type Outside = "inbox" | "deliveries" | "triggers";

/** Identifies a due row of a run or a cron schedule. */
export interface DueRef {
  readonly kind: DueKind | "schedule";
  /** The id of the run, or of the cron schedule. */
  readonly id: RunId;
  /** The step; the number of an escalation; -1: the run itself, a message, or a schedule. */
  readonly place: number;
}

export function dueRefOf({ kind, runId, step, fence }: DueRow): DueRef {
  return { kind, id: runId, place: kind === "escalation" ? fence : step };
}

/** Where a scan begins and ends: rows that are long dead may slow it down. */
export interface DueRange {
  /** The scan leaves out what was due before this time; null: it leaves out nothing. */
  readonly since: EpochMs | null;
  /** `nextAt` leaves out timers further ahead than this, in milliseconds; null: no bound. */
  readonly aheadMs: number | null;
  /**
   * Rows that are suspended after a failure. The scan leaves them out, and they do not count
   * against its limit. Left out: none are.
   */
  readonly without?: readonly DueRef[];
  /**
   * By partition: since when heartbeats of the sessions that hold its leases could have been
   * received. Silence counts from then on at the earliest. Leases of other partitions are not
   * scanned. Left out: no leases are scanned.
   */
  readonly silenceCountsSince?: ReadonlyMap<number, EpochMs>;
}

export const WHOLE_RANGE: DueRange = Object.freeze({ since: null, aheadMs: null });

export interface DueScan {
  readonly now: EpochMs;
  /** The kinds of such work that can be done now. */
  readonly outside: readonly Outside[];
  readonly due: readonly DueRow[];
  readonly schedules: readonly DueSchedule[];
  /** The earliest time still to come in these partitions; now, if more rows may be due. */
  readonly nextAt: EpochMs | null;
  /** The scan has left out nothing that is due before this time. */
  readonly foundTo: EpochMs;
}

interface Scanned extends Pick<DueScan, "now" | "outside" | "foundTo" | "due" | "schedules"> {
  /** More rows may be due. */
  readonly isMore: boolean;
  /** The earliest time that was still to come. */
  readonly nextAt: EpochMs | null;
}

export function dueScan({ isMore, ...scanned }: Scanned): DueScan {
  return isMore ? { ...scanned, nextAt: scanned.now } : scanned;
}
