/** What a run counts of the waits of its steps. */
import { describe, expect, test } from "vitest";
import {
  countWaits,
  NO_WAITS,
  WAIT_KINDS,
  waitBit,
  waitBits,
} from "../../../server/core/model/waits.ts";

describe("counts", () => {
  test("a step that starts to wait is counted, and no longer once it moves on", () => {
    const one = countWaits(NO_WAITS, null, "retry");
    expect(one).toEqual({ retry: 1 });
    const two = countWaits(one, null, "retry");
    expect(two).toEqual({ retry: 2 });
    expect(countWaits(two, "retry", "timer")).toEqual({ retry: 1, timer: 1 });
    expect(countWaits(one, "retry", null)).toEqual({});
  });

  test("a step that waits for the same thing changes nothing", () => {
    const counts = countWaits(NO_WAITS, null, "signal");
    expect(countWaits(counts, "signal", "signal")).toBe(counts);
  });

  test("each kind has a bit of its own", () => {
    const bits = WAIT_KINDS.map(waitBit);
    expect(new Set(bits).size).toBe(WAIT_KINDS.length);
    expect(waitBits({ retry: 3, held: 1 })).toBe(waitBit("retry") | waitBit("held"));
    expect(waitBits(NO_WAITS)).toBe(0);
  });
});
