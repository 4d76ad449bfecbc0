/**
 * Jitter keeps its promises of docs/SCHEDULES.md, on every server and at any time: never before the
 * nominal time, never past the jitter or the time that follows, always the same, and spread.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Calendar,
  dueTimes,
  type NominalTime,
  type PlacedTime,
  placed,
} from "../../server/core/definition/calendar.ts";
import { calendarTimesOf } from "../../server/scheduler/cron/calendar-times.ts";

const HOUR = 3_600_000;

const calendars: fc.Arbitrary<Calendar> = fc.oneof(
  fc.record({
    kind: fc.constant("interval" as const),
    everyMs: fc.integer({ min: 10_000, max: 48 * HOUR }),
    offsetMs: fc.nat(9_999),
  }),
  fc.record({
    kind: fc.constant("cron" as const),
    cron: fc.constantFrom("*/7 * * * *", "30 2 * * *", "0 9 * * MON-FRI", "0 0 29 2 *"),
    timeZone: fc.constantFrom("UTC", "Europe/Berlin", "Australia/Lord_Howe"),
  }),
);
const asked = fc.record({
  calendar: calendars,
  jitterMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 24 * HOUR })),
  from: fc.integer({ min: 1_600_000_000_000, max: 2_000_000_000_000 }),
  seed: fc.uuid(),
});
type Asked = typeof asked extends fc.Arbitrary<infer Of> ? Of : never;

function firstOf({ calendar, from }: Asked): NominalTime {
  const first = calendarTimesOf(calendar).firstAfter(from);
  if (!first) throw new Error("each of these calendars has a time to come");
  return first;
}

function placedOf({ calendar, jitterMs, seed }: Asked, nominalTime: NominalTime): PlacedTime {
  return placed({ times: calendarTimesOf(calendar), jitterMs, seed }, nominalTime);
}

/** How far away from its nominal time it may be woken. */
function roomOf({ calendar, jitterMs }: Asked, { nominalTime, at }: NominalTime): number {
  const following = calendarTimesOf(calendar).after(nominalTime);
  return Math.min(jitterMs, following ? following.at - at : jitterMs);
}

describe("an occurrence with jitter", () => {
  test("starts from its nominal time on, within its jitter, and before the one that follows", () => {
    fc.assert(
      fc.property(asked, (of) => {
        const first = firstOf(of);
        const { nominalTime, at, wakeAt } = placedOf(of, first);
        expect({ nominalTime, at }).toEqual(first);
        expect(wakeAt - at).toBeGreaterThanOrEqual(0);
        const room = roomOf(of, first);
        if (room === 0) expect(wakeAt).toBe(at);
        else expect(wakeAt - at).toBeLessThan(room);
      }),
    );
  });

  test("starts at the same instant on every server, and as the next one of a firing too", () => {
    fc.assert(
      fc.property(asked, (of) => {
        const first = firstOf(of);
        const one = placedOf(of, first);
        expect(placedOf(of, first)).toEqual(one);
        const { calendar, jitterMs, seed } = of;
        const question = { times: calendarTimesOf(calendar), catchUpMs: HOUR, jitterMs, seed };
        const before = dueTimes({ ...question, next: first, now: one.wakeAt - 1 });
        expect(before).toEqual({ missed: null, occurrences: [], next: one });
        const { occurrences, next } = dueTimes({ ...question, next: first, now: one.wakeAt });
        expect(occurrences).toEqual([first]);
        const following = calendarTimesOf(calendar).after(first.nominalTime);
        expect(next).toEqual(following && placedOf(of, following));
      }),
    );
  });

  test("is spread: schedules of one time over their jitter, times of one schedule too", () => {
    const calendar: Calendar = { kind: "interval", everyMs: HOUR, offsetMs: 0 };
    const of = { calendar, jitterMs: 60_000, from: 1_700_000_000_000 };
    const shareOf = (seed: string, from: number): number => {
      const { at, wakeAt } = placedOf({ ...of, seed }, firstOf({ ...of, seed, from }));
      return (wakeAt - at) / of.jitterMs;
    };
    const numbers = Array.from({ length: 1_000 }, (_, no) => no);
    const overSchedules = numbers.map((no) => shareOf(`schedule-${no}`, of.from));
    const overOccurrences = numbers.map((no) => shareOf("one", of.from + no * HOUR));
    for (const shares of [overSchedules, overOccurrences])
      for (let tenth = 0; tenth < 10; tenth++) {
        const within = shares.filter((share) => Math.floor(share * 10) === tenth).length;
        // 100 are fair; the standard deviation is 9.5.
        expect(Math.abs(within - 100), `tenth ${tenth}`).toBeLessThan(50);
      }
  });
});
