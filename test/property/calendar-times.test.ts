/**
 * The times of calendars, against local times that are counted minute by minute: whatever the
 * library and the zones do, each named local time is one occurrence, at the instant that the rules
 * give.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type {
  Calendar,
  CalendarTimes,
  NominalTime,
} from "../../server/core/definition/calendar.ts";
import {
  calendarProblem,
  calendarTimesOf,
  nominalTimeText,
} from "../../server/scheduler/cron/calendar-times.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Instants at which clocks are changed, each with its zone. */
const CHANGES: readonly (readonly [string, string])[] = [
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["America/New_York", "2026-03-08T07:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  // Half an hour.
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  // At midnight: a day without its first hour, and one that has it twice.
  ["America/Havana", "2026-03-08T05:00:00Z"],
  ["Asia/Beirut", "2026-10-24T21:00:00Z"],
  // A whole day that never was.
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["Asia/Kolkata", "2026-06-01T00:00:00Z"],
  ["UTC", "2026-01-01T00:00:00Z"],
];

/** The local time at an instant, written out by the runtime and read as if it were UTC. */
function wallOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  return (at) => Date.parse(`${format.format(at).replace(" ", "T")}Z`);
}

interface Fields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[] | null;
  readonly weekdays: readonly number[] | null;
}

const some = (max: number, maxLength: number) =>
  fc
    .uniqueArray(fc.integer({ min: 0, max }), { minLength: 1, maxLength })
    .map((all) => all.sort((a, b) => a - b));

const fieldsOf: fc.Arbitrary<Fields> = fc.record({
  minutes: some(59, 4),
  hours: fc.option(some(23, 6)),
  weekdays: fc.option(some(6, 6), { freq: 5 }),
});

function cronOf({ minutes, hours, weekdays }: Fields): string {
  const field = (all: readonly number[] | null) => all?.join(",") ?? "*";
  return `${field(minutes)} ${field(hours)} * * ${field(weekdays)}`;
}

function names({ minutes, hours, weekdays }: Fields, local: number): boolean {
  const date = new Date(local);
  return (
    minutes.includes(date.getUTCMinutes()) &&
    (hours?.includes(date.getUTCHours()) ?? true) &&
    (weekdays?.includes(date.getUTCDay()) ?? true)
  );
}

/** Instants of the occurrences later than `from`, up to `until`: the rule, counted by hand. */
function countedByHand(fields: Fields, timeZone: string, from: number, until: number) {
  const wall = wallOf(timeZone);
  const found = new Set<number>();
  // Local times never go below one that was there before, and none between two of them is left out.
  let reached = wall(from - 2 * DAY);
  for (let at = from - 2 * DAY + MINUTE; at <= until; at += MINUTE) {
    const local = wall(at);
    for (let one = reached + MINUTE; one <= local; one += MINUTE)
      if (names(fields, one) && at > from) found.add(at);
    reached = Math.max(reached, local);
  }
  return [...found];
}

function between(times: CalendarTimes, from: number, until: number): readonly NominalTime[] {
  const found: NominalTime[] = [];
  let one = times.firstAfter(from);
  while (one && one.at <= until) {
    found.push(one);
    one = times.after(one.nominalTime);
  }
  return found;
}

describe("the times of a cron expression", () => {
  test("are each named local time once, at the instant that clocks first show or pass it", () => {
    const around = fc.record({
      change: fc.constantFrom(...CHANGES),
      fields: fieldsOf,
      before: fc.integer({ min: 0, max: 30 * 60 }),
    });
    fc.assert(
      fc.property(around, ({ change: [timeZone, at], fields, before }) => {
        const from = Date.parse(at) - before * MINUTE;
        const until = Date.parse(at) + 30 * HOUR;
        const times = calendarTimesOf({ kind: "cron", cron: cronOf(fields), timeZone });
        const found = between(times, from, until);
        expect(found.map((one) => one.at)).toEqual(countedByHand(fields, timeZone, from, until));
        // In order, and none twice.
        for (const [place, { nominalTime }] of found.entries())
          expect(nominalTime).toBeGreaterThan(
            found[place - 1]?.nominalTime ?? Number.NEGATIVE_INFINITY,
          );
      }),
      { numRuns: 60 },
    );
  });

  const at = (cron: string, timeZone: string, from: string, until: string) =>
    between(
      calendarTimesOf({ kind: "cron", cron, timeZone }),
      Date.parse(from),
      Date.parse(until),
    ).map((one) => [
      new Date(one.at).toISOString(),
      new Date(one.nominalTime).toISOString().slice(0, 16),
    ]);

  test("that is skipped in spring is at the first instant after the gap", () => {
    const day = ["2026-03-28T23:00:00Z", "2026-03-29T20:00:00Z"] as const;
    expect(at("30 2 * * *", "Europe/Berlin", ...day)).toEqual([
      ["2026-03-29T01:00:00.000Z", "2026-03-29T02:30"],
    ]);
  });

  test("all of a gap is one occurrence, named after the local time that is really there", () => {
    const night = ["2026-03-29T00:29:00Z", "2026-03-29T01:30:00Z"] as const;
    expect(at("*/15 * * * *", "Europe/Berlin", ...night)).toEqual([
      ["2026-03-29T00:30:00.000Z", "2026-03-29T01:30"],
      ["2026-03-29T00:45:00.000Z", "2026-03-29T01:45"],
      ["2026-03-29T01:00:00.000Z", "2026-03-29T03:00"],
      ["2026-03-29T01:15:00.000Z", "2026-03-29T03:15"],
      ["2026-03-29T01:30:00.000Z", "2026-03-29T03:30"],
    ]);
  });

  test("that comes twice in autumn is at the first of the two", () => {
    const night = ["2026-10-24T22:00:00Z", "2026-10-25T03:00:00Z"] as const;
    expect(at("30 * * * *", "Europe/Berlin", ...night)).toEqual([
      ["2026-10-24T22:30:00.000Z", "2026-10-25T00:30"],
      ["2026-10-24T23:30:00.000Z", "2026-10-25T01:30"],
      ["2026-10-25T00:30:00.000Z", "2026-10-25T02:30"],
      ["2026-10-25T02:30:00.000Z", "2026-10-25T03:30"],
    ]);
  });

  test("are found from any instant, also from within a repeated hour", () => {
    const times = calendarTimesOf({
      kind: "cron",
      cron: "0,30 * * * *",
      timeZone: "Europe/Berlin",
    });
    const second = Date.parse("2026-10-25T01:10:00Z");
    expect(times.firstAfter(second)?.at).toBe(Date.parse("2026-10-25T02:00:00Z"));
  });

  test("that names both days is there on either of them", () => {
    const days = at("0 0 13 * FRI", "UTC", "2026-02-01T00:00:00Z", "2026-02-21T00:00:00Z");
    expect(days.map(([instant]) => instant?.slice(8, 10))).toEqual(["06", "13", "20"]);
  });
});

describe("the times of an interval", () => {
  test("are at its distance from multiples since 1970, whatever the clocks do", () => {
    const asked = fc.record({
      everyMs: fc.integer({ min: 10_000, max: 366 * DAY }),
      share: fc.double({ min: 0, max: 0.999, noNaN: true }),
      from: fc.integer({ min: 0, max: 4_000_000_000_000 }),
    });
    fc.assert(
      fc.property(asked, ({ everyMs, share, from }) => {
        const offsetMs = Math.floor(everyMs * share);
        const times = calendarTimesOf({ kind: "interval", everyMs, offsetMs });
        const first = times.firstAfter(from);
        if (!first) throw new Error("an interval never ends");
        expect(first.at).toBeGreaterThan(from);
        expect(first.at - from).toBeLessThanOrEqual(everyMs);
        expect((first.at - offsetMs) % everyMs).toBe(0);
        expect(times.after(first.nominalTime)).toEqual({
          nominalTime: first.nominalTime + everyMs,
          at: first.at + everyMs,
        });
      }),
    );
  });
});

describe("a calendar", () => {
  const NOW = Date.parse("2026-01-01T00:00:00Z");
  const cron = (text: string, timeZone = "UTC"): Calendar => {
    return { kind: "cron", cron: text, timeZone };
  };

  test.for<[string, string]>([
    ["61 * * * *", "Invalid value for minute: 61"],
    ["* * * *", "has not the five fields"],
    ["0 * * * * *", "has not the five fields"],
    ["hello", "has not the five fields"],
    ["@fortnightly", "is no cron expression"],
    ["*/0 * * * *", "illegal stepping"],
    ["0 25 * * *", "hour"],
    ["2026-01-01T00:00:00", "has not the five fields"],
    ["0 0 30 2 *", "never occurs"],
    ["0 9 * * \u0000", "has not the five fields"],
  ])("%j is refused: %s", ([text, why]) => {
    const problem = calendarProblem(cron(text), NOW);
    expect(problem?.field).toBe("expression");
    expect(problem?.message).toContain(why);
    expect(problem?.message).toContain(JSON.stringify(text).slice(1, 6));
  });

  test.for([["Europe/Berln"], ["+02:00"], ["local"], [""]])("%j is no time zone", ([zone = ""]) => {
    const problem = calendarProblem(cron("0 9 * * *", zone), NOW);
    expect(problem).toMatchObject({ field: "time_zone" });
    expect(problem?.message).toContain("is no time zone");
  });

  test.for([["0 9 * * MON-FRI"], ["@daily"], ["*/5 0-6,20-23 1,15 JAN-MAR *"], ["0 0 29 2 *"]])(
    "%j is fine",
    ([text = ""]) => expect(calendarProblem(cron(text, "Asia/Tokyo"), NOW)).toBeNull(),
  );

  test("names its times for people", () => {
    const nominalTime = Date.parse("2026-03-29T02:30:00Z");
    expect(nominalTimeText(cron("30 2 * * *", "Europe/Berlin"), nominalTime)).toBe(
      "2026-03-29T02:30:00[Europe/Berlin]",
    );
    const interval: Calendar = { kind: "interval", everyMs: 10_000, offsetMs: 0 };
    expect(nominalTimeText(interval, nominalTime)).toBe("2026-03-29T02:30:00Z");
  });
});
