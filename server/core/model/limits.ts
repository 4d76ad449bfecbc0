// How many tasks of a queue may be claimed: a maximum of leases at a time, and a rate in tasks per
// second by a token bucket. The caller holds the lock of the queue's row, so no other transaction
// counts at the same time. A namespace is limited alike: by its open runs, and by the runs that it
// begins per second.
import type { EpochMs } from "./attempt.ts";

export interface QueueLimits {
  /** Most leases at a time; null: no limit. */
  readonly leasesMax: number | null;
  /** null: no rate limit. */
  readonly rate: Rate | null;
}

export interface Rate {
  /** Tasks claimed per second; may be a fraction. */
  readonly perSecond: number;
  /** Most tasks at once after an idle time; at least 1. */
  readonly burst: number;
}

/** Of a queue with a rate limit: its tokens at the time `filledAt`. */
export interface Bucket {
  readonly tokens: number;
  readonly filledAt: EpochMs;
}

export interface QueueUse {
  readonly limits: QueueLimits;
  /** Leases of the queue. Read only if `leasesMax` is set. */
  readonly leased: number;
  /** null: no rate limit. */
  readonly bucket: Bucket | null;
}

export const UNLIMITED: QueueLimits = Object.freeze({ leasesMax: null, rate: null });

export function isLimited({ leasesMax, rate }: QueueLimits): boolean {
  return leasesMax !== null || rate !== null;
}

/** How many tasks may be claimed now; may be infinite. */
export function room({ limits, leased, bucket }: QueueUse, now: EpochMs): number {
  const { leasesMax, rate } = limits;
  const places = leasesMax === null ? Number.POSITIVE_INFINITY : leasesMax - leased;
  const tokens = rate && bucket ? tokensAt(rate, bucket, now) : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(places, Math.floor(tokens)));
}

/** The use of the queue after `count` more claims. */
export function afterGranting(use: QueueUse, count: number, now: EpochMs): QueueUse {
  const { limits, bucket } = use;
  const tokens = limits.rate && bucket ? tokensAt(limits.rate, bucket, now) - count : 0;
  return {
    limits,
    leased: use.leased + count,
    bucket: bucket && { tokens, filledAt: Math.max(now, bucket.filledAt) },
  };
}

/**
 * When the bucket has its next token; null: there is room now, or time alone does not make any: a
 * lease has to end first.
 */
export function opensAt(use: QueueUse, now: EpochMs): EpochMs | null {
  const { limits, leased, bucket } = use;
  if (room(use, now) > 0 || !limits.rate || !bucket) return null;
  if (limits.leasesMax !== null && leased >= limits.leasesMax) return null;
  // A shard without a share of the rate (shares.ts).
  if (limits.rate.burst < 1) return null;
  const missing = 1 - tokensAt(limits.rate, bucket, now);
  return now + Math.ceil((missing / limits.rate.perSecond) * 1_000);
}

/** A clock that goes back removes no tokens. */
export function tokensAt(
  { perSecond, burst }: Rate,
  { tokens, filledAt }: Bucket,
  now: EpochMs,
): number {
  return Math.min(burst, tokens + (Math.max(0, now - filledAt) / 1_000) * perSecond);
}
