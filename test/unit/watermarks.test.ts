/** Which watermarks a process keeps, and for how long. */
import { expect, it } from "vitest";
import { createWatermarks } from "../../server/dispatch/watermarks.ts";
import { createManualClock } from "../support/manual-clock.ts";

const row = { lane: 3, priority: 5 };
const seenAt = (oldest: bigint, incarnation = "one") => {
  return { watermarks: [{ ...row, first: null }], oldest, incarnation };
};

it("has none of a lane until something of it was claimed", () => {
  const watermarks = createWatermarks(createManualClock());
  expect(watermarks.of([3])).toEqual([]);
  watermarks.used([row]);
  expect(watermarks.of([3])).toEqual([{ ...row, from: 0n }]);
  expect(watermarks.of([4])).toEqual([]);
  expect(watermarks.asked()).toEqual([{ ...row, from: 0n }]);
});

it("moves to what was seen, and scans from the beginning once a minute", () => {
  const clock = createManualClock();
  const watermarks = createWatermarks(clock);
  watermarks.used([row]);
  expect(watermarks.seen(seenAt(70n))).toBe(true);
  expect(watermarks.asked()).toEqual([{ ...row, from: 70n }]);
  clock.advance(59_999);
  watermarks.used([row]);
  expect(watermarks.asked()).toEqual([{ ...row, from: 70n }]);
  clock.advance(1);
  expect(watermarks.asked()).toEqual([{ ...row, from: 0n }]);
  // Claims continue from where they were until the answer has come.
  expect(watermarks.of([3])).toEqual([{ ...row, from: 70n }]);
});

it("drops a lane without claims for a minute", () => {
  const clock = createManualClock();
  const watermarks = createWatermarks(clock);
  watermarks.used([row]);
  clock.advance(60_000);
  expect(watermarks.asked()).toEqual([{ ...row, from: 0n }]);
  clock.advance(60_000);
  expect(watermarks.asked()).toEqual([]);
  expect(watermarks.of([3])).toEqual([]);
});

it("drops all at another store, whose numbers are others", () => {
  const watermarks = createWatermarks(createManualClock());
  watermarks.used([row]);
  watermarks.seen(seenAt(70n));
  expect(watermarks.seen(seenAt(40n, "two"))).toBe(false);
  expect(watermarks.of([3])).toEqual([]);
  watermarks.used([row]);
  expect(watermarks.seen(seenAt(41n, "two"))).toBe(true);
  expect(watermarks.of([3])).toEqual([{ ...row, from: 41n }]);
});
