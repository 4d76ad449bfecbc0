// The times of a calendar, computed from it alone: no clock is read here.
//
// croner computes which local times a cron expression names, without a time zone. The rules of the
// zone (Intl) give the instant of a local time. So this file, and not the library, decides what
// happens when the clocks change:
//
//   a local time that occurs twice   is at the first of the two instants
//   a local time that is skipped     is at the first instant after the gap; all skipped times of a
//                                    gap are one occurrence
import { Cron } from "croner";
import type { Calendar, CalendarTimes, NominalTime } from "../../core/definition/calendar.ts";
import type { EpochMs } from "../../core/model/attempt.ts";

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
const ZONES_KEPT_MAX = 1_000;

interface CalendarProblem {
  readonly field: "expression" | "time_zone";
  readonly message: string;
}

/** Why a calendar has no times; null: it has. `now`: only later times count. */
export function calendarProblem(calendar: Calendar, now: EpochMs): CalendarProblem | null {
  if (calendar.kind === "interval") return null;
  const { cron, timeZone } = calendar;
  if (!isTimeZone(timeZone)) {
    const message = `"${timeZone}" is no time zone of the IANA database: write it as Europe/Berlin, or UTC`;
    return { field: "time_zone", message };
  }
  const wrong = cronProblem(cron);
  if (wrong !== null) return { field: "expression", message: `"${cron}" ${wrong}` };
  if (calendarTimesOf(calendar).firstAfter(now) !== null) return null;
  return { field: "expression", message: `"${cron}" never occurs: no day of any year matches it` };
}

const FIVE =
  "write minute, hour, day of the month, month and day of the week, as 30 2 * * MON-FRI, or @daily";

function cronProblem(cron: string): string | null {
  if (!/^[\x20-\x7e]+$/.test(cron) || !/^(?:@[a-z]+|\S+( +\S+){4})$/.test(cron.trim()))
    return `has not the five fields of a cron expression: ${FIVE}`;
  try {
    parsed(cron);
    return null;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : "";
    return `is no cron expression (${why.replace(/\.$/, "")}): ${FIVE}`;
  }
}

/** Without a time zone: local times are computed as if they were UTC. */
function parsed(cron: string): Cron {
  return new Cron(cron.trim(), { utcOffset: 0, mode: "5-part" });
}

function isTimeZone(name: string): boolean {
  // Intl accepts offsets as zones too, but a schedule must name a zone.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    zoneOf(name);
    return true;
  } catch {
    return false;
  }
}

export function calendarTimesOf(calendar: Calendar): CalendarTimes {
  return calendar.kind === "interval" ? ofInterval(calendar) : ofCron(calendar);
}

function ofInterval({
  everyMs,
  offsetMs,
}: Extract<Calendar, { readonly kind: "interval" }>): CalendarTimes {
  const firstAfter = (at: EpochMs): NominalTime => {
    const nominalTime = (Math.floor((at - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
    return { nominalTime, at: nominalTime };
  };
  return { after: firstAfter, firstAfter };
}

function ofCron({ cron, timeZone }: Extract<Calendar, { readonly kind: "cron" }>): CalendarTimes {
  const named = parsed(cron);
  const wallOf = zoneOf(timeZone);
  const nextNamed = (nominalTime: number): number | null =>
    named.nextRun(new Date(nominalTime))?.getTime() ?? null;

  function after(nominalTime: number): NominalTime | null {
    let next = nextNamed(nominalTime);
    if (next === null) return null;
    const at = instantOf(wallOf, next);
    // In a gap, several local times fall on one instant: the last of them represents all.
    for (let other: number | null = next; other !== null && wallOf(at) !== next; ) {
      other = nextNamed(next);
      if (other === null || instantOf(wallOf, other) !== at) break;
      next = other;
    }
    return { nominalTime: next, at };
  }

  return {
    after,
    firstAfter(instant) {
      // In the second pass of a repeated hour, its local times have already occurred.
      let found = after(wallOf(instant));
      while (found && found.at <= instant) found = after(found.nominalTime);
      return found;
    },
  };
}

/** The local time at an instant, rounded down to the second, in ms as if it were UTC. */
type WallOf = (at: EpochMs) => number;

const zones = new Map<string, WallOf>();

/** Throws a RangeError for an unknown name. Zones are kept, because making one is slow. */
function zoneOf(name: string): WallOf {
  const cached = zones.get(name);
  if (cached) return cached;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    calendar: "gregory",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const wallOf: WallOf = (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const year = part("year");
    const month = part("month") - 1;
    const day = part("day");
    return Date.UTC(year, month, day, part("hour"), part("minute"), part("second"));
  };
  if (zones.size >= ZONES_KEPT_MAX) zones.clear();
  zones.set(name, wallOf);
  return wallOf;
}

/** The instant of a local time: the first if it occurs twice, after the gap if it is skipped. */
function instantOf(wallOf: WallOf, nominalTime: number): EpochMs {
  // The offsets on both sides of any change near it: no two changes are within two days.
  const before = nominalTime - (wallOf(nominalTime - DAY_MS) - (nominalTime - DAY_MS));
  const later = nominalTime - (wallOf(nominalTime + DAY_MS) - (nominalTime + DAY_MS));
  const [first, second] = before < later ? [before, later] : [later, before];
  if (wallOf(first) === nominalTime) return first;
  if (wallOf(second) === nominalTime) return second;
  // Skipped: the local time at `first` is before the gap, at `second` after it.
  let low = first;
  let high = second;
  while (high - low > SECOND_MS) {
    const middle = low + Math.floor((high - low) / 2 / SECOND_MS) * SECOND_MS;
    if (wallOf(middle) < nominalTime) low = middle;
    else high = middle;
  }
  return high;
}

/** A nominal time for people and labels: its local time and the zone, or UTC. */
export function nominalTimeText(calendar: Calendar, nominalTime: number): string {
  const text = new Date(nominalTime).toISOString().replace(/\.000Z$/, "Z");
  return calendar.kind === "cron" ? `${text.slice(0, -1)}[${calendar.timeZone}]` : text;
}
