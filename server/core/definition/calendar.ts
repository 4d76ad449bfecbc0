// Occurrences of a cron schedule: which are due, which were missed, and when each is acted on. The
// sequence of occurrences is passed in (scheduler/cron/calendar-times.ts): computing it needs a
// calendar; all other rules are here.
//
// An occurrence is identified by its nominal time: for cron the local time that the expression
// names, for an interval UTC. A local time that comes twice is one occurrence, at the first of the
// two instants. A local time that is skipped is an occurrence at the first instant after the gap.
import type { EpochMs } from "../model/attempt.ts";

export type Calendar =
  | {
      readonly kind: "cron";
      /** Minute, hour, day of the month, month, day of the week. */
      readonly cron: string;
      /** An IANA name, such as Europe/Berlin. */
      readonly timeZone: string;
    }
  | {
      readonly kind: "interval";
      readonly everyMs: number;
      /** Distance of the occurrences from the multiples of `everyMs` since 1970, UTC. */
      readonly offsetMs: number;
    };

/** What happens to an occurrence while an earlier run of the schedule is open. */
export type Overlap =
  /** It gets no run. */
  | "skip"
  /** Its run waits for the earlier run. While one run waits, further occurrences get no run. */
  | "buffer-one"
  /** Its run waits for all earlier runs. */
  | "buffer-all"
  /** The earlier run is cancelled and undone; then its run begins. */
  | "cancel-other"
  /** Its run begins at once, beside the others. */
  | "allow-all";

export interface NominalTime {
  /** Nominal time, in ms as if it were UTC. */
  readonly nominalTime: number;
  readonly at: EpochMs;
}

/** The occurrences of a calendar. null: there are no more. */
export interface CalendarTimes {
  /** The next occurrence after a nominal time. */
  after(nominalTime: number): NominalTime | null;
  /** The first occurrence later than an instant. */
  firstAfter(at: EpochMs): NominalTime | null;
}

/** An occurrence with the time at which it is acted on, its jitter included. */
export interface PlacedTime extends NominalTime {
  readonly wakeAt: EpochMs;
}

/** Occurrences that were too late to get a run, from `first` up to `until` (excluded). */
export interface MissedTimes {
  readonly first: NominalTime;
  readonly until: EpochMs;
  /** Counted up to `MISSED_COUNTED_MAX`. */
  readonly count: number;
}

export interface DueTimes {
  readonly missed: MissedTimes | null;
  /** Occurrences that get a run now, in order. */
  readonly occurrences: readonly NominalTime[];
  /** The next occurrence, which may be due already; null: there are no more. */
  readonly next: PlacedTime | null;
}

const MISSED_COUNTED_MAX = 1_000;
/** Most occurrences that one call returns as due. The others are due again at once. */
const OCCURRENCES_MAX = 100;

interface DueQuestion {
  readonly times: CalendarTimes;
  readonly next: NominalTime;
  readonly now: EpochMs;
  readonly catchUpMs: number;
  readonly jitterMs: number;
  /** Identifies the schedule, so that schedules with the same due time are spread. */
  readonly seed: string;
}

/** Splits the occurrences of a schedule from `next` on into missed, due and next ones. */
export function dueTimes(question: DueQuestion): DueTimes {
  const { times, now, catchUpMs, jitterMs } = question;
  // An occurrence is missed only if the latest time that its jitter allows is too long ago.
  const until = now - catchUpMs - jitterMs;
  const { missed, next: first } = passOver(times, question.next, until);
  let next = first;
  const occurrences: NominalTime[] = [];
  while (next && occurrences.length < OCCURRENCES_MAX && placed(question, next).wakeAt <= now) {
    occurrences.push({ nominalTime: next.nominalTime, at: next.at });
    next = times.after(next.nominalTime);
  }
  return { missed, occurrences, next: next && placed(question, next) };
}

/** Skips the occurrences before an instant. Returns them, and the first one that is left. */
export function passOver(
  times: CalendarTimes,
  next: NominalTime,
  until: EpochMs,
): { readonly missed: MissedTimes | null; readonly next: NominalTime | null } {
  const missed = missedTimes(times, next, until);
  return { missed, next: missed ? times.firstAfter(until - 1) : next };
}

/** The occurrences from `first` on that lie before `until`; null: there are none. */
function missedTimes(times: CalendarTimes, first: NominalTime, until: EpochMs): MissedTimes | null {
  if (first.at >= until) return null;
  let count = 0;
  let one: NominalTime | null = first;
  while (one && one.at < until && count < MISSED_COUNTED_MAX) {
    count++;
    one = times.after(one.nominalTime);
  }
  return { first, until, count };
}

/** The jitter of an occurrence is deterministic and never reaches the next occurrence. */
export function placed(
  { times, jitterMs, seed }: Pick<DueQuestion, "times" | "jitterMs" | "seed">,
  { nominalTime, at }: NominalTime,
): PlacedTime {
  if (jitterMs === 0) return { nominalTime, at, wakeAt: at };
  const following = times.after(nominalTime);
  const room = following ? Math.min(jitterMs, following.at - at) : jitterMs;
  return { nominalTime, at, wakeAt: at + Math.floor(fractionOf(`${seed}/${nominalTime}`) * room) };
}

/** FNV-1a with a final mix, as a number from 0 up to 1. It only has to spread occurrences. */
function fractionOf(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  return ((value ^ (value >>> 16)) >>> 0) / 2 ** 32;
}
