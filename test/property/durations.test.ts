/** Sketches of durations: added in any order they are the same, within 1 % of what is true. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { typicalDurationOf } from "../../server/core/model/typical-duration.ts";
import {
  addSamples,
  createSketch,
  quantilesOf,
  quantilesOfSamples,
  type Samples,
  type Sketch,
  type StoredSketch,
  withMore,
} from "../../server/store/sketch.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
const durations = fc.array(fc.integer({ min: 0, max: WEEK_MS }), { minLength: 1, maxLength: 200 });

function sketchOf(ms: readonly number[]): Sketch {
  const sketch = createSketch();
  for (const one of ms) sketch.add(one);
  return sketch;
}

test("in whatever order and by however many servers sketches are added, the same is known", () => {
  fc.assert(
    fc.property(fc.array(durations, { minLength: 1, maxLength: 5 }), (servers) => {
      const all = addSamples(null, sketchOf(servers.flat()));
      for (const order of [servers, servers.toReversed()]) {
        const [first = [], ...others] = order;
        const summed = others.reduce(
          (stored, more) => addSamples(stored, sketchOf(more)),
          addSamples(null, sketchOf(first)),
        );
        expect(quantilesOf(summed)).toEqual(quantilesOf(all));
      }
    }),
    { numRuns: 100 },
  );
});

test("a sketch that is cached decoded is the same as one that is stored as text", () => {
  fc.assert(
    fc.property(fc.array(durations, { minLength: 1, maxLength: 5 }), (servers) => {
      let stored: StoredSketch | null = null;
      let samples: Samples | null = null;
      for (const sketch of servers.map(sketchOf)) {
        stored = addSamples(stored, sketch);
        samples = withMore(samples, sketch);
        expect(quantilesOfSamples(samples)).toEqual(quantilesOf(stored));
      }
    }),
    { numRuns: 100 },
  );
});

test("the quantiles are within 1 % of the true ones, and a sketch is small", () => {
  fc.assert(
    fc.property(durations, (ms) => {
      const text = sketchOf(ms).text();
      const sorted = ms.toSorted((a, b) => a - b);
      const trueOf = (part: number) => sorted[Math.ceil(part * sorted.length) - 1] ?? 0;
      const { samples, p50Ms, p90Ms, p99Ms } = quantilesOf({ recent: text, older: null });
      expect(samples).toBe(ms.length);
      for (const [is, part] of [
        [p50Ms, 0.5],
        [p90Ms, 0.9],
        [p99Ms, 0.99],
      ] as const)
        expect(Math.abs(is - trueOf(part))).toBeLessThanOrEqual(1 + trueOf(part) / 100);
      expect(text.length).toBeLessThan(2_048);
    }),
    { numRuns: 200 },
  );
});

test("a duration that is none, or longer than a week, counts as the nearest that is one", () => {
  const sketch = createSketch();
  for (const ms of [-5, WEEK_MS * 100]) sketch.add(ms);
  const { p50Ms, p99Ms } = quantilesOf({ recent: sketch.text(), older: null });
  expect(p50Ms).toBe(0);
  expect(p99Ms).toBeLessThan(WEEK_MS * 1.02);
});

test("an attempt is never slow with too few samples, nor before the least, nor within the p99", () => {
  const whole = (max: number) => fc.integer({ min: 1, max });
  const learned = fc.record({ samples: whole(100), p99Ms: whole(WEEK_MS) });
  const limits = fc.record({
    slowSamples: whole(100),
    slowMs: whole(10_000),
    slowFactor: fc.double({ min: 1, max: 100, noNaN: true }),
  });
  fc.assert(
    fc.property(learned, limits, (known, { slowSamples, slowMs, slowFactor }) => {
      const typical = typicalDurationOf(known, { slowFactor, slowSamples, slowMs });
      const { samples, p99Ms } = known;
      expect(typical === null).toBe(samples < slowSamples);
      if (typical === null) return;
      expect(typical.slowAfterMs).toBeGreaterThanOrEqual(Math.max(slowMs, p99Ms));
      expect(typical.slowAfterMs).toBeLessThan(Math.max(slowMs, slowFactor * p99Ms) + 1);
    }),
  );
});
