// How much of a queue may be handed out: tasks with agents at a time, and tasks per second by a
// bucket that fills with time. Whoever asks holds the queue's row, so nobody else counts meanwhile.
// A namespace is evaluated alike: by its open runs, and by the runs that it begins per second.
import type { EpochMs } from "./attempt.ts";

export interface QueueLimits {
  /** Most tasks with agents at a time; null: any number. */
  readonly leasesMax: number | null;
  /** null: as fast as agents take them. */
  readonly rate: Rate | null;
}

export interface Rate {
  /** Tasks handed out per second; may be a fraction. */
  readonly perSecond: number;
  /** Most at once, after a time without any; at least 1. */
  readonly burst: number;
}

/** Of a queue with a rate: what it held at a moment. */
export interface Bucket {
  readonly tokens: number;
  readonly filledAt: EpochMs;
}

export interface QueueUse {
  readonly limits: QueueLimits;
  /** Tasks with agents. Read only where `leasesMax` asks for it. */
  readonly leased: number;
  /** null: it has no rate. */
  readonly bucket: Bucket | null;
}

export const UNLIMITED: QueueLimits = Object.freeze({ leasesMax: null, rate: null });

export function isLimited({ leasesMax, rate }: QueueLimits): boolean {
  return leasesMax !== null || rate !== null;
}

/** How many tasks may be handed out now; may be infinite. */
export function room({ limits, leased, bucket }: QueueUse, now: EpochMs): number {
  const { leasesMax, rate } = limits;
  const places = leasesMax === null ? Number.POSITIVE_INFINITY : leasesMax - leased;
  const tokens = rate && bucket ? tokensAt(rate, bucket, now) : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(places, Math.floor(tokens)));
}

/** After so many were handed out. */
export function taken(use: QueueUse, count: number, now: EpochMs): QueueUse {
  const { limits, bucket } = use;
  const tokens = limits.rate && bucket ? tokensAt(limits.rate, bucket, now) - count : 0;
  return {
    limits,
    leased: use.leased + count,
    bucket: bucket && { tokens, filledAt: Math.max(now, bucket.filledAt) },
  };
}

/** When time alone makes room; null: there is some now, or the end of a task has to make it. */
export function opensAt(use: QueueUse, now: EpochMs): EpochMs | null {
  const { limits, leased, bucket } = use;
  if (room(use, now) > 0 || !limits.rate || !bucket) return null;
  if (limits.leasesMax !== null && leased >= limits.leasesMax) return null;
  const missing = 1 - tokensAt(limits.rate, bucket, now);
  return now + Math.ceil((missing / limits.rate.perSecond) * 1_000);
}

/** A clock that goes back takes nothing out. */
function tokensAt({ perSecond, burst }: Rate, { tokens, filledAt }: Bucket, now: EpochMs): number {
  return Math.min(burst, tokens + (Math.max(0, now - filledAt) / 1_000) * perSecond);
}
