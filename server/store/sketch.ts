// Durations as a sketch: a histogram whose buckets are 1 % wide, from 1 ms to 7 days. Sketches are
// added bucket by bucket, so servers may add theirs in any order with the same result. As text a
// sketch takes 50 bytes to 2 KB, however many samples it has.
import * as hdr from "hdr-histogram-js";

/** A longer duration counts as this one. */
const MS_MAX = 7 * 24 * 3_600_000;
const DIGITS = 2;
/**
 * Most samples of a generation. A full generation becomes the older one; when the next one is full,
 * it is dropped.
 */
export const GENERATION_SAMPLES = 10_000;

export interface Sketch {
  add(ms: number): void;
  text(): string;
  /** Adds all of its samples to a histogram. */
  addTo(all: hdr.Histogram): void;
  count(): number;
}

export interface Quantiles {
  readonly samples: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
}

/** Two generations, so that the durations follow a service that has changed. */
export interface StoredSketch {
  readonly recent: string;
  /** null: there is none yet. */
  readonly older: string | null;
}

/** The same, decoded: for a caller that keeps it in memory and adds to it often. */
export interface Samples {
  readonly recent: hdr.Histogram;
  readonly older: hdr.Histogram | null;
}

export function createSketch(): Sketch {
  const histogram = emptyHistogram();
  return Object.freeze({
    add: (ms: number) => histogram.recordValue(Math.round(Math.min(Math.max(ms, 0), MS_MAX))),
    text: () => hdr.encodeIntoCompressedBase64(histogram),
    addTo: (all: hdr.Histogram) => all.add(histogram),
    count: () => histogram.totalCount,
  });
}

/** `kept` null: nothing was stored before. */
export function addSamples(stored: StoredSketch | null, more: Sketch): StoredSketch {
  if (stored === null) return { recent: more.text(), older: null };
  const recent = decoded(stored.recent);
  if (isFull(recent, more)) return { recent: more.text(), older: stored.recent };
  more.addTo(recent);
  return { recent: hdr.encodeIntoCompressedBase64(recent), older: stored.older };
}

/** As `addSamples`. It changes the histograms of `kept`, which must not be used afterwards. */
export function withMore(stored: Samples | null, more: Sketch): Samples {
  const anew = stored === null || isFull(stored.recent, more);
  const recent = anew ? emptyHistogram() : stored.recent;
  more.addTo(recent);
  return { recent, older: (anew ? stored?.recent : stored.older) ?? null };
}

function isFull(recent: hdr.Histogram, more: Sketch): boolean {
  return recent.totalCount + more.count() > GENERATION_SAMPLES;
}

export function quantilesOf({ recent, older }: StoredSketch): Quantiles {
  return quantilesOfSamples({
    recent: decoded(recent),
    older: older === null ? null : decoded(older),
  });
}

export function quantilesOfSamples({ recent, older }: Samples): Quantiles {
  const all = older === null ? recent : sum(recent, older);
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

function sum(...of: readonly hdr.Histogram[]): hdr.Histogram {
  const all = emptyHistogram();
  for (const one of of) all.add(one);
  return all;
}

function decoded(text: string): hdr.Histogram {
  return hdr.decodeFromCompressedBase64(text, "packed", false);
}
