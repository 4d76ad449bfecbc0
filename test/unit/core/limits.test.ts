/** How many tasks of a queue are handed out: never above its limits, and never below for long. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterGranting, opensAt, type QueueUse, room } from "../../../server/core/model/limits.ts";

const NOW = 1_000_000;

function use(more: Partial<QueueUse["limits"]> = {}, leased = 0, tokens = 0): QueueUse {
  const limits = { leasesMax: null, rate: null, ...more };
  return { limits, leased, bucket: limits.rate && { tokens, filledAt: NOW } };
}

describe("tasks with agents at a time", () => {
  test.for([
    [0, 10],
    [9, 1],
    [10, 0],
    [12, 0],
  ])("%i of ten leave room for %i", ([leased = 0, left]) => {
    expect(room(use({ leasesMax: 10 }, leased), NOW)).toBe(left);
  });

  test("no room is made by time", () => {
    expect(opensAt(use({ leasesMax: 10 }, 10), NOW)).toBeNull();
  });
});

describe("tasks per second", () => {
  const rate = { perSecond: 2, burst: 5 };

  test("a bucket fills with time, and not over its brim", () => {
    const at = (ms: number) => room(use({ rate }), NOW + ms);
    expect([0, 499, 500, 1_000, 2_500, 60_000].map(at)).toEqual([0, 0, 1, 2, 5, 5]);
  });

  test("the time of the next task is known", () => {
    const empty = use({ rate }, 0, 0.5);
    expect(opensAt(empty, NOW)).toBe(NOW + 250);
    expect(room(empty, NOW + 249)).toBe(0);
    expect(room(empty, NOW + 250)).toBe(1);
  });

  test("with no permit free the end of a task makes room, whatever the bucket holds", () => {
    expect(opensAt(use({ rate, leasesMax: 1 }, 1, 0), NOW)).toBeNull();
  });

  test("a clock that goes back takes nothing out, and gives nothing twice", () => {
    const full = use({ rate }, 0, 3);
    expect(room(full, NOW - 60_000)).toBe(3);
    const after = afterGranting(full, 3, NOW - 60_000);
    expect(after.bucket).toEqual({ tokens: 0, filledAt: NOW });
  });
});

const uses = fc
  .record({
    leasesMax: fc.option(fc.integer({ min: 1, max: 20 })),
    perSecond: fc.option(fc.double({ min: 0.01, max: 100, noNaN: true })),
    burst: fc.integer({ min: 1, max: 20 }),
    leased: fc.nat({ max: 25 }),
    tokens: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ leasesMax, perSecond, burst, leased, tokens }) => {
    const rate = perSecond === null ? null : { perSecond, burst };
    return use({ leasesMax, rate }, leased, tokens * burst);
  });

test("whatever is taken, the limits hold", () => {
  const waits = fc.array(fc.nat({ max: 5_000 }), { maxLength: 30 });
  fc.assert(
    fc.property(uses, waits, (first, gaps) => {
      let now = NOW;
      let of = first;
      let handedOut = 0;
      for (const gap of gaps) {
        now += gap;
        const count = room(of, now);
        if (!Number.isFinite(count)) return;
        of = afterGranting(of, count, now);
        handedOut += count;
        expect(room(of, now)).toBe(0);
      }
      const { leasesMax, rate } = first.limits;
      if (leasesMax !== null) expect(handedOut).toBeLessThanOrEqual(leasesMax);
      if (rate)
        expect(handedOut).toBeLessThanOrEqual(
          rate.burst + ((now - NOW) / 1_000) * rate.perSecond + 1e-6,
        );
    }),
  );
});

test("at the time that was returned there is room, and at none before it", () => {
  fc.assert(
    fc.property(uses, (of) => {
      const at = opensAt(of, NOW);
      if (at === null) return;
      expect(room(of, at)).toBeGreaterThan(0);
      expect(room(of, at - 2)).toBe(0);
    }),
  );
});
