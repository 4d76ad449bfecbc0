// When a schedule fires: the rules about its moments. How one moment follows another is handed in
// (scheduler/calendar-times.ts), since it needs a calendar; everything else is decided here.
//
// A moment is told from others by its nominal time: for cron the local time that the expression
// names, for an interval UTC. A local time that comes twice is one moment, at the first of the two;
// one that is skipped is a moment at the first instant after the gap.
import type { EpochMs } from "./attempt.ts";

export type Calendar =
  | {
      readonly kind: "cron";
      /** Minute, hour, day of the month, month, day of the week. */
      readonly cron: string;
      /** A name of the IANA database, as Europe/Berlin. */
      readonly timeZone: string;
    }
  | {
      readonly kind: "interval";
      readonly everyMs: number;
      /** Moments are at this distance from multiples of `everyMs` since 1970, UTC. */
      readonly offsetMs: number;
    };

/** What becomes of a moment while a run of the schedule is under way. */
export type Overlap =
  /** It gets no run. */
  | "skip"
  /** Its run waits for the one before; while one waits, others get none. */
  | "buffer-one"
  /** Its run waits for those before. */
  | "buffer-all"
  /** The run before is cancelled and undone, and its run begins then. */
  | "cancel-other"
  /** Its run begins beside the others. */
  | "allow-all";

export interface NominalTime {
  /** Nominal time, in ms as if it were UTC. */
  readonly moment: number;
  readonly at: EpochMs;
}

/** The moments of a calendar; null: none comes any more. */
export interface CalendarTimes {
  /** The next one behind a nominal time. */
  after(moment: number): NominalTime | null;
  /** The first one later than an instant. */
  firstAfter(at: EpochMs): NominalTime | null;
}

/** A moment, and when it is acted on: after its jitter. */
export interface PlacedTime extends NominalTime {
  readonly wakeAt: EpochMs;
}

/** Moments that were too late to fire, from the first up to `until`, which is none of them. */
export interface MissedTimes {
  readonly first: NominalTime;
  readonly until: EpochMs;
  /** Counted up to `MISSED_COUNTED_MAX`. */
  readonly count: number;
}

export interface DueTimes {
  readonly missed: MissedTimes | null;
  /** In their order. */
  readonly fires: readonly NominalTime[];
  /** The next one, of which more may be due already; null: none comes any more. */
  readonly next: PlacedTime | null;
}

/** Least distance of two moments of an interval. */
export const INTERVAL_MS_MIN = 10_000;
export const MISSED_COUNTED_MAX = 1_000;
/** Moments that one look fires: the others are due at once again. */
export const OCCURRENCES_MAX = 100;

export interface DueQuestion {
  readonly moments: CalendarTimes;
  readonly next: NominalTime;
  readonly now: EpochMs;
  readonly catchUpMs: number;
  readonly jitterMs: number;
  /** Tells schedules apart, so that those of one moment are spread. */
  readonly seed: string;
}

/** What is to be done now about a schedule whose next moment was `next`. */
export function dueTimes(question: DueQuestion): DueTimes {
  const { moments, now, catchUpMs, jitterMs } = question;
  // From the latest that its jitter may put it to: what has not been due yet is not missed.
  const until = now - catchUpMs - jitterMs;
  const { missed, next: first } = passOver(moments, question.next, until);
  let next = first;
  const fires: NominalTime[] = [];
  while (next && fires.length < OCCURRENCES_MAX && placed(question, next).wakeAt <= now) {
    fires.push({ moment: next.moment, at: next.at });
    next = moments.after(next.moment);
  }
  return { missed, fires, next: next && placed(question, next) };
}

/** Leaves out the moments before an instant: those, and the first that is left. */
export function passOver(
  moments: CalendarTimes,
  next: NominalTime,
  until: EpochMs,
): { readonly missed: MissedTimes | null; readonly next: NominalTime | null } {
  const missed = missedMoments(moments, next, until);
  return { missed, next: missed ? moments.firstAfter(until - 1) : next };
}

/** Those from `first` on that lie before `until`; null: none does. */
function missedMoments(
  moments: CalendarTimes,
  first: NominalTime,
  until: EpochMs,
): MissedTimes | null {
  if (first.at >= until) return null;
  let count = 0;
  let one: NominalTime | null = first;
  while (one && one.at < until && count < MISSED_COUNTED_MAX) {
    count++;
    one = moments.after(one.moment);
  }
  return { first, until, count };
}

/** Its jitter is always the same, whoever asks, and never passes the moment that follows. */
export function placed(
  { moments, jitterMs, seed }: Pick<DueQuestion, "moments" | "jitterMs" | "seed">,
  { moment, at }: NominalTime,
): PlacedTime {
  if (jitterMs === 0) return { moment, at, wakeAt: at };
  const following = moments.after(moment);
  const room = following ? Math.min(jitterMs, following.at - at) : jitterMs;
  return { moment, at, wakeAt: at + Math.floor(fractionOf(`${seed}/${moment}`) * room) };
}

/** FNV-1a with a final mix: from 0 up to 1. Nothing depends on it but that moments are spread. */
function fractionOf(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  return ((value ^ (value >>> 16)) >>> 0) / 2 ** 32;
}
