/** Which marks a process keeps, and for how long. */
import { expect, it } from "vitest";
import { createMarks } from "../../server/dispatch/marks.ts";
import { createManualClock } from "../support/manual-clock.ts";

const row = { lane: 3, priority: 5 };
const seenAt = (oldest: bigint, incarnation = "one") => {
  return { marks: [{ ...row, first: null }], oldest, incarnation };
};

it("has none of a lane until something of it was claimed", () => {
  const marks = createMarks(createManualClock());
  expect(marks.of([3])).toEqual([]);
  marks.used([row]);
  expect(marks.of([3])).toEqual([{ ...row, from: 0n }]);
  expect(marks.of([4])).toEqual([]);
  expect(marks.asked()).toEqual([{ ...row, from: 0n }]);
});

it("moves to what was seen, and looks from the beginning once a minute", () => {
  const clock = createManualClock();
  const marks = createMarks(clock);
  marks.used([row]);
  expect(marks.seen(seenAt(70n))).toBe(true);
  expect(marks.asked()).toEqual([{ ...row, from: 70n }]);
  clock.advance(59_999);
  marks.used([row]);
  expect(marks.asked()).toEqual([{ ...row, from: 70n }]);
  clock.advance(1);
  expect(marks.asked()).toEqual([{ ...row, from: 0n }]);
  // Claims go on from where they were until the answer has come.
  expect(marks.of([3])).toEqual([{ ...row, from: 70n }]);
});

it("drops what nobody claimed from for a minute", () => {
  const clock = createManualClock();
  const marks = createMarks(clock);
  marks.used([row]);
  clock.advance(60_000);
  expect(marks.asked()).toEqual([{ ...row, from: 0n }]);
  clock.advance(60_000);
  expect(marks.asked()).toEqual([]);
  expect(marks.of([3])).toEqual([]);
});

it("drops all at another store, whose numbers are others", () => {
  const marks = createMarks(createManualClock());
  marks.used([row]);
  marks.seen(seenAt(70n));
  expect(marks.seen(seenAt(40n, "two"))).toBe(false);
  expect(marks.of([3])).toEqual([]);
  marks.used([row]);
  expect(marks.seen(seenAt(41n, "two"))).toBe(true);
  expect(marks.of([3])).toEqual([{ ...row, from: 41n }]);
});
