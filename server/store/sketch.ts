// Durations as a sketch: a histogram whose buckets are 1 % wide, from 1 ms to 7 days. Sketches are
// added bucket by bucket, so servers may add theirs in any order and get the same. As text one
// takes 50 bytes to 2 KB, however many samples it has.
import * as hdr from "hdr-histogram-js";

/** A longer duration counts as this one. */
const MS_MAX = 7 * 24 * 3_600_000;
const DIGITS = 2;
/** What is older than so many samples is forgotten when as many newer ones are there. */
export const GENERATION_SAMPLES = 10_000;

export interface Sketch {
  add(ms: number): void;
  text(): string;
}

export interface Quantiles {
  readonly samples: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
}

/** Two generations, so that what is learned follows a service that has changed. */
export interface KeptSketch {
  readonly recent: string;
  /** null: there is none yet. */
  readonly older: string | null;
}

export function createSketch(): Sketch {
  const histogram = emptyHistogram();
  return Object.freeze({
    add: (ms: number) => histogram.recordValue(Math.round(Math.min(Math.max(ms, 0), MS_MAX))),
    text: () => hdr.encodeIntoCompressedBase64(histogram),
  });
}

/** null: nothing was kept before. */
export function keepMore(kept: KeptSketch | null, more: string): KeptSketch {
  if (kept === null) return { recent: more, older: null };
  const recent = sum(kept.recent, more);
  return recent.totalCount > GENERATION_SAMPLES
    ? { recent: more, older: kept.recent }
    : { recent: hdr.encodeIntoCompressedBase64(recent), older: kept.older };
}

export function quantilesOf({ recent, older }: KeptSketch): Quantiles {
  const all = older === null ? decoded(recent) : sum(recent, older);
  return {
    samples: all.totalCount,
    p50Ms: all.getValueAtPercentile(50),
    p90Ms: all.getValueAtPercentile(90),
    p99Ms: all.getValueAtPercentile(99),
  };
}

function emptyHistogram(): hdr.Histogram {
  return hdr.build({
    bitBucketSize: "packed",
    highestTrackableValue: MS_MAX,
    numberOfSignificantValueDigits: DIGITS,
    useWebAssembly: false,
  });
}

function sum(one: string, other: string): hdr.Histogram {
  const all = decoded(one);
  all.add(decoded(other));
  return all;
}

function decoded(text: string): hdr.Histogram {
  return hdr.decodeFromCompressedBase64(text, "packed", false);
}
