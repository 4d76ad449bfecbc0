// Cron schedules: calendars by which runs begin, and the occurrences of each calendar time.
//
//   a time is due → the owner of the partition locks the schedule, begins the run, writes the
//   occurrence and moves `next`, in one transaction
//
// A calendar time has one occurrence, and so at most one run: the key of an occurrence is
// (schedule, series, nominal time).

import type { Calendar, Overlap, PlacedTime } from "../core/definition/calendar.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import type { RunState } from "../core/model/model.ts";
import type { Payload } from "../core/model/payload.ts";
import type { Concurrency } from "../core/model/permits.ts";
import type { Audit } from "./audit.ts";
import type { Notify } from "./outbox.ts";
import type { Pause } from "./queues.ts";
import type { RunId } from "./run-head.ts";

type ScheduleId = string;

/** What a person defines of a schedule. */
export interface ScheduleSpec {
  readonly calendar: Calendar;
  readonly workflow: string;
  /** 0: the version that is the default when a run begins. */
  readonly version: number;
  readonly input: Payload | null;
  /** 1: first, 9: last. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly notify: Notify | null;
  /** Concurrency of its runs; only if the overlap policy lets them run beside each other. */
  readonly concurrency: Concurrency | null;
  readonly overlap: Overlap;
  /** An occurrence that is later than this gets no run, in milliseconds. */
  readonly catchUpMs: number;
  readonly jitterMs: number;
}

export interface ScheduleRef {
  readonly id: ScheduleId;
  readonly partition: number;
}

export interface ScheduleRecord extends ScheduleRef {
  readonly namespace: { readonly id: number; readonly name: string; readonly region: number };
  readonly name: string;
  /** Grows with each new calendar: occurrences of different series are different. */
  readonly series: number;
  /** Grows when a person changes the schedule. */
  readonly revision: number;
  readonly spec: ScheduleSpec;
  /**
   * The next occurrence; null: there is none. While the schedule is paused, the one that was next
   * when it was paused.
   */
  readonly next: PlacedTime | null;
  readonly pause: Pause | null;
  readonly createdAt: EpochMs;
  readonly changedAt: EpochMs;
}

/** A schedule as people see it. */
export interface ShownSchedule extends ScheduleRecord {
  /** While its workflow is paused, its runs begin, and their tasks are held; null: it is not. */
  readonly workflowPause: Pause | null;
}

export interface NewSchedule extends ScheduleRef {
  readonly namespaceId: number;
  readonly name: string;
  readonly spec: ScheduleSpec;
  readonly next: PlacedTime | null;
  /** null: it is not paused. */
  readonly pauseReason: string | null;
}

/**
 * What caused it: the calendar, or the call of a person. The stored code is the index: lists only
 * grow at their end.
 */
export const OCCURRENCE_CAUSES = Object.freeze(["calendar", "backfill", "trigger"] as const);
export type OccurrenceCause = (typeof OCCURRENCE_CAUSES)[number];

export const OCCURRENCE_OUTCOMES = Object.freeze([
  /** It has a run. */
  "started",
  /** The run before was still open, and the overlap policy allows no other. */
  "overlapped",
  /** No supervisor could act within its catch-up window. */
  "missed",
  /** The schedule was paused. */
  "paused",
  /** The run could not begin: the message says why. */
  "refused",
] as const);
export type OccurrenceOutcome = (typeof OCCURRENCE_OUTCOMES)[number];

/** The series of runs that a person has triggered: they belong to no calendar. */
export const TRIGGER_SERIES = 0;

/** Series of marks: a mark covers many occurrences, some of which a backfill may start. */
export function markSeries({ series }: Pick<ScheduleRecord, "series">): number {
  return -series;
}

export interface OccurrenceKey {
  readonly scheduleId: ScheduleId;
  readonly series: number;
  readonly nominalTime: number;
}

export interface Occurrence extends OccurrenceKey {
  readonly at: EpochMs;
  readonly cause: OccurrenceCause;
  readonly outcome: OccurrenceOutcome;
  /** null: it has no run. */
  readonly runId: RunId | null;
  /** Why it has no run; empty: the outcome says all. */
  readonly message: string;
  /** Of a mark: `count` occurrences from this one on, before `until`, got no run when due. */
  readonly missed: { readonly count: number; readonly until: EpochMs } | null;
  /** The supervisor that acted; null: a person's call caused it. */
  readonly actor: { readonly node: string; readonly epoch: number } | null;
}

export interface OccurrenceRecord extends Occurrence {
  readonly handledAt: EpochMs;
  readonly runState: RunState["kind"] | null;
}

export interface SchedulePage {
  /** Only schedules that start this workflow; null: all. */
  readonly workflow: string | null;
  /** The name of the last schedule of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

/** Plain reads, and a change that needs no lock. */
export interface Schedules {
  find(namespaceId: number, name: string): Promise<ShownSchedule | null>;
  /** Those of these schedules that exist. */
  byId(ids: readonly ScheduleId[]): Promise<readonly ScheduleRecord[]>;
  /** The last occurrences of each of these, up to `limit`, the newest first. */
  lastOccurrences(ids: readonly ScheduleId[], limit: number): Promise<readonly OccurrenceRecord[]>;
  /** false: there is none. Its runs go on; its occurrences are deleted. */
  delete(namespaceId: number, name: string, audit?: Audit): Promise<boolean>;
}

/** A change by a person; `next` is the next occurrence after the change. */
interface ScheduleChange {
  readonly id: ScheduleId;
  readonly spec: ScheduleSpec;
  readonly series: number;
  readonly next: PlacedTime | null;
  readonly pause: Pause | null;
}

interface ScheduleMove {
  readonly id: ScheduleId;
  readonly next: PlacedTime | null;
}

/** The part of a transaction that is about cron schedules. */
export interface ScheduleTx {
  /**
   * Locks schedules by id, before any idempotency key. Without `wait`, schedules that another
   * transaction holds are left out; deleted ones always are.
   */
  lockSchedules(ids: readonly ScheduleId[], wait: boolean): Promise<readonly ScheduleRecord[]>;
  /** false: the namespace has a schedule of this name already. */
  insertSchedule(schedule: NewSchedule): Promise<boolean>;
  /** The schedules must be locked. Returns the occurrences of these keys that exist. */
  loadOccurrences(keys: readonly OccurrenceKey[]): Promise<readonly Occurrence[]>;
  /** The schedules must be locked. Replaces an occurrence that has no run. */
  writeOccurrences(occurrences: readonly Occurrence[]): Promise<void>;
  /** The schedules must be locked. Stores their next occurrences. */
  moveSchedules(moves: readonly ScheduleMove[]): Promise<void>;
  /** The schedule must be locked. */
  changeSchedule(change: ScheduleChange): Promise<void>;
}
