// How long runs took, as a histogram of fixed buckets: bucket n holds from 1.2^n to 1.2^(n+1) ms,
// so 146 of them reach ten years. A quantile is the middle of its bucket, so it is within 10 %.
// The statement `end_runs` gives each run its bucket.

const GROWTH = 1.2;
/** The logarithm of a duration in ms, divided by this and rounded down, is its bucket. */
export const BUCKET_LOG = Math.log(GROWTH);

/** Number of runs by bucket. */
export type TookCounts = ReadonlyMap<number, number>;

/** How long the fastest `share` of the runs took at most, in ms, within 10 %; null: no runs. */
export function tookQuantile(counts: TookCounts, share: number): number | null {
  const runs = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const ordered = [...counts].sort(([a], [b]) => a - b);
  let before = 0;
  for (const [bucket, count] of ordered) {
    before += count;
    if (before >= runs * share) return Math.round(GROWTH ** (bucket + 0.5));
  }
  return null;
}
