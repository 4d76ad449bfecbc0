/** Quantiles of how long runs took, from the counts of buckets. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { BUCKET_LOG, tookQuantile } from "../../server/store/took-buckets.ts";

/** As the statement end_runs computes it. */
const bucketOf = (ms: number) => Math.floor(Math.log(Math.max(1, ms)) / BUCKET_LOG);

it("no runs have none", () => {
  expect(tookQuantile(new Map(), 0.5)).toBeNull();
});

it("a share of the runs took no longer, whatever the order of the buckets", () => {
  const counts = new Map([
    [bucketOf(60_000), 5],
    [bucketOf(100), 94],
    [bucketOf(3_600_000), 1],
  ]);
  expect(tookQuantile(counts, 0.5)).toBe(tookQuantile(new Map([[bucketOf(100), 1]]), 0.5));
  expect(tookQuantile(counts, 0.95)).toBe(tookQuantile(new Map([[bucketOf(60_000), 1]]), 1));
  expect(tookQuantile(counts, 1)).toBe(tookQuantile(new Map([[bucketOf(3_600_000), 1]]), 1));
});

it("each duration from 1 ms to ten years is found within 10 %, and rounded to the millisecond", () => {
  fc.assert(
    fc.property(fc.double({ min: 1, max: 3.2e11, noNaN: true }), (ms) => {
      const found = tookQuantile(new Map([[bucketOf(ms), 1]]), 0.5) ?? 0;
      expect(Math.abs(found - ms)).toBeLessThan(ms / 10 + 0.5);
    }),
  );
});
