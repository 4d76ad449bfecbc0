// Schedules: calendars by which runs begin, and what became of each of their moments.
//
//   a moment is due → its owner locks the schedule, begins the run, writes the fire, moves `next`,
//   in one transaction. A moment has one fire, and so at most one run: its key is (schedule,
//   series, moment).

import type { EpochMs } from "../core/attempt.ts";
import type { Calendar, Overlap, PlacedTime } from "../core/calendar.ts";
import type { RunState } from "../core/model.ts";
import type { Payload } from "../core/payload.ts";
import type { Concurrency } from "../core/permits.ts";
import type { Notify } from "./outbox.ts";
import type { Pause } from "./queues.ts";
import type { RunId } from "./run-head.ts";

type ScheduleId = string;

/** What a person says about it. */
export interface ScheduleSpec {
  readonly calendar: Calendar;
  readonly workflow: string;
  /** 0: the one that is the default when a run begins. */
  readonly version: number;
  readonly input: Payload | null;
  /** 1 first to 9 last. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly notify: Notify | null;
  /** Of its runs; only where they may begin beside each other. */
  readonly concurrency: Concurrency | null;
  readonly overlap: Overlap;
  /** A moment that is later than that gets no run. */
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
  /** Grows with each other calendar: moments of different ones are different. */
  readonly series: number;
  /** Grows when a person changes it. */
  readonly revision: number;
  readonly spec: ScheduleSpec;
  /** null: none comes any more. While it is paused, the one that was next then. */
  readonly next: PlacedTime | null;
  readonly pause: Pause | null;
  readonly createdAt: EpochMs;
  readonly changedAt: EpochMs;
}

export interface NewSchedule extends ScheduleRef {
  readonly namespaceId: number;
  readonly name: string;
  readonly spec: ScheduleSpec;
  readonly next: PlacedTime | null;
  /** null: it is not paused. */
  readonly pauseReason: string | null;
}

/** Whose word it was: the calendar's, or a person's. A code is a place: lists grow at their end. */
export const OCCURRENCE_CAUSES = Object.freeze(["calendar", "backfill", "trigger"] as const);
export type OccurrenceCause = (typeof OCCURRENCE_CAUSES)[number];

export const OCCURRENCE_OUTCOMES = Object.freeze([
  /** It has a run. */
  "started",
  /** The run before was under way, by its overlap policy. */
  "overlapped",
  /** Nobody could act within its catch-up window. */
  "missed",
  /** The schedule was paused. */
  "paused",
  /** The run could not begin: the message says why. */
  "refused",
] as const);
export type OccurrenceOutcome = (typeof OCCURRENCE_OUTCOMES)[number];

/** Series of what a person has asked for: no moment of a calendar. */
export const TRIGGER_SERIES = 0;

/** Series of marks: each speaks of many moments, of which some may have a run by a backfill. */
export function markSeries({ series }: Pick<ScheduleRecord, "series">): number {
  return -series;
}

export interface OccurrenceKey {
  readonly scheduleId: ScheduleId;
  readonly series: number;
  readonly moment: number;
}

export interface Occurrence extends OccurrenceKey {
  readonly at: EpochMs;
  readonly cause: OccurrenceCause;
  readonly outcome: OccurrenceOutcome;
  /** null: it has none. */
  readonly runId: RunId | null;
  /** Why it has no run; empty: the outcome says all. */
  readonly message: string;
  /** Of a mark: this moment and those behind it, before `until`, got no run when they came. */
  readonly missed: { readonly count: number; readonly until: EpochMs } | null;
  /** Of the supervisor that acted; null: a person's call did. */
  readonly actor: { readonly node: string; readonly epoch: number } | null;
}

export interface OccurrenceRecord extends Occurrence {
  readonly firedAt: EpochMs;
  readonly runState: RunState["kind"] | null;
}

export interface SchedulePage {
  /** The name of the last one of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

/** Plain reads, and what needs no lock. */
export interface Schedules {
  find(namespaceId: number, name: string): Promise<ScheduleRecord | null>;
  /** Those of them that there are. */
  byId(ids: readonly ScheduleId[]): Promise<readonly ScheduleRecord[]>;
  /** The last fires of each of these, up to `limit`, the newest moment first. */
  lastFires(ids: readonly ScheduleId[], limit: number): Promise<readonly OccurrenceRecord[]>;
  /** false: there is none. Its runs go on; its moments are forgotten. */
  delete(namespaceId: number, name: string): Promise<boolean>;
}

/** What a person has changed; `next` as the change leaves it. */
export interface ScheduleChange {
  readonly id: ScheduleId;
  readonly spec: ScheduleSpec;
  readonly series: number;
  readonly next: PlacedTime | null;
  readonly pause: Pause | null;
}

export interface ScheduleMove {
  readonly id: ScheduleId;
  readonly next: PlacedTime | null;
}

/** The part of a transaction that is about schedules. */
export interface ScheduleTx {
  /**
   * Locks schedules by id, before any idempotency key. Without `wait`, those that another
   * transaction holds are left out; those that are deleted always are.
   */
  lockSchedules(ids: readonly ScheduleId[], wait: boolean): Promise<readonly ScheduleRecord[]>;
  /** false: the namespace has one of this name. */
  insertSchedule(schedule: NewSchedule): Promise<boolean>;
  /** Of locked schedules: the fires of these moments that there are. */
  loadFires(keys: readonly OccurrenceKey[]): Promise<readonly Occurrence[]>;
  /** Of locked schedules. A fire that has no run gives way to the new one. */
  writeFires(fires: readonly Occurrence[]): Promise<void>;
  /** Of locked schedules, whose calendar has gone on. */
  moveSchedules(moves: readonly ScheduleMove[]): Promise<void>;
  /** Of a locked schedule. */
  changeSchedule(change: ScheduleChange): Promise<void>;
}
