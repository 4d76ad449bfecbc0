// How the limits of a queue are divided among the shards of a store: in whole units, which are
// tasks that agents hold at a time, or tokens of a bucket. Each shard claims within its own units.
//
//   allot: what each shard should have → lower, in every shard → raise, by what was found there
//
// A shard that has more tasks with agents than units gets no more of them, but its tasks go on, and
// count: the units that all shards have or use together never exceed the limit.
import type { EpochMs } from "./attempt.ts";
import { type Bucket, type QueueLimits, type Rate, tokensAt } from "./limits.ts";

/** What a shard has of the limits of a queue. */
export interface Share {
  /** Of `leasesMax`. */
  readonly slots: number;
  /** Of the burst, and as large a part of the rate. */
  readonly burst: number;
  readonly bucket: Bucket | null;
  /** Since when it has had units of all limits; 0: it never had. */
  readonly servedAt: EpochMs;
}

export const NO_SHARE: Share = Object.freeze({ slots: 0, burst: 0, bucket: null, servedAt: 0 });

/** What a shard does with its share. */
export interface ShareUse extends Pick<Share, "slots" | "burst" | "servedAt"> {
  /** Tasks that agents hold. */
  readonly leased: number;
  /** Tasks that wait for an agent. */
  readonly waiting: number;
}

/** How much a shard is to have. */
export interface ShareSize {
  readonly slots: number;
  readonly burst: number;
}

/** Units of the limits; null: the queue has no such limit. */
function unitsOf({ leasesMax, rate }: QueueLimits) {
  return { slots: leasesMax, burst: rate && Math.floor(rate.burst) };
}

/** The limits of a queue within one shard. */
export function limitsOfShare(limits: QueueLimits, share: ShareSize): QueueLimits {
  const { slots, burst } = unitsOf(limits);
  return {
    leasesMax: slots === null ? null : Math.min(slots, share.slots),
    rate: limits.rate && burst !== null ? rateOf(limits.rate, burst, share.burst) : null,
  };
}

function rateOf({ perSecond }: Rate, units: number, share: number): Rate {
  const burst = Math.min(units, share);
  return { perSecond: (perSecond * burst) / units, burst };
}

/**
 * What each shard should have: equal parts, but no shard more than it needs while another one has
 * too little. What no shard needs is divided equally.
 */
export function allot(
  limits: QueueLimits,
  shards: readonly ShareUse[],
  now: EpochMs,
  everyMs: number,
): readonly ShareSize[] {
  const units = unitsOf(limits);
  const turns = turnsOf(limits, shards, now, everyMs);
  const slots = divide(
    units.slots ?? 0,
    shards.map(({ leased, waiting }) => leased + waiting),
    turns,
  );
  const burst = divide(
    units.burst ?? 0,
    shards.map(({ waiting }) => waiting),
    turns,
  );
  return shards.map((_, shard) => ({ slots: slots[shard] ?? 0, burst: burst[shard] ?? 0 }));
}

/** Whether a shard with tasks that wait would get more by it. */
export function isWorthwhile(shards: readonly ShareUse[], sizes: readonly ShareSize[]): boolean {
  return shards.some(({ waiting, slots, burst }, shard) => {
    const size = sizes[shard];
    return size !== undefined && waiting > 0 && (size.slots > slots || size.burst > burst);
  });
}

/**
 * The order in which shards get what is too little for all: the one that was served longest ago is
 * the first. One that has just been served comes before all others until it can have used that.
 */
function turnsOf(
  { rate }: QueueLimits,
  shards: readonly ShareUse[],
  now: EpochMs,
  everyMs: number,
): readonly number[] {
  const keptMs = everyMs + (rate ? 1_000 / rate.perSecond : 0);
  const rank = ({ waiting, servedAt, slots, leased }: ShareUse): number => {
    const hasRoom = rate !== null || slots > leased;
    return waiting > 0 && hasRoom && servedAt > now - keptMs ? 0 : 1;
  };
  return shards
    .map((use, shard) => ({ shard, rank: rank(use), servedAt: use.servedAt }))
    .sort((a, b) => a.rank - b.rank || a.servedAt - b.servedAt || a.shard - b.shard)
    .map(({ shard }) => shard);
}

function divide(
  units: number,
  needs: readonly number[],
  turns: readonly number[],
): readonly number[] {
  const given = needs.map(() => 0);
  let left = units;
  const give = (shard: number, most: number): void => {
    const some = Math.min(most, left);
    given[shard] = (given[shard] ?? 0) + some;
    left -= some;
  };
  const missing = (shard: number): number => (needs[shard] ?? 0) - (given[shard] ?? 0);
  for (;;) {
    const needy = turns.filter((shard) => missing(shard) > 0);
    if (needy.length === 0 || left === 0) break;
    const each = Math.max(1, Math.floor(left / needy.length));
    for (const shard of needy) give(shard, Math.min(each, missing(shard)));
  }
  for (const [index, shard] of turns.entries())
    give(shard, Math.ceil(left / (turns.length - index)));
  return given;
}

/** The share with no more than `to`, and the whole tokens that it loses by that. */
export function lowered(
  limits: QueueLimits,
  share: Share,
  to: ShareSize,
  now: EpochMs,
): { readonly share: Share; readonly tokens: number } {
  const slots = Math.min(share.slots, to.slots);
  const burst = Math.min(share.burst, to.burst);
  const bucket = bucketAt(limits, share, now);
  if (!bucket) return { share: { ...share, slots, burst, bucket }, tokens: 0 };
  const tokens = Math.min(bucket.tokens, burst);
  return {
    share: { ...share, slots, burst, bucket: { ...bucket, tokens } },
    tokens: bucket.tokens - tokens,
  };
}

/** The share with more units, and with tokens that others have lost. */
export function raised(
  limits: QueueLimits,
  share: Share,
  to: ShareSize & { readonly tokens: number; readonly isServed: boolean },
  now: EpochMs,
): Share {
  const slots = Math.max(share.slots, to.slots);
  const burst = Math.max(share.burst, to.burst);
  const bucket = bucketAt(limits, share, now);
  const tokens = Math.min(burst, (bucket?.tokens ?? 0) + to.tokens);
  return {
    slots,
    burst,
    bucket: bucket && { ...bucket, tokens },
    servedAt: to.isServed ? now : share.servedAt,
  };
}

/** The bucket of a share, filled until now; null: the queue has no rate. */
export function bucketAt(limits: QueueLimits, share: Share, now: EpochMs): Bucket | null {
  const { rate } = limitsOfShare(limits, share);
  if (!rate) return null;
  const before = share.bucket ?? { tokens: 0, filledAt: now };
  return { tokens: tokensAt(rate, before, now), filledAt: Math.max(now, before.filledAt) };
}

/** A shard after it was lowered. */
export interface LoweredUse extends ShareSize {
  readonly leased: number;
}

export interface Raise extends ShareSize {
  readonly tokens: number;
  readonly isServed: boolean;
}

/**
 * How much each shard gets, by what all of them have after they were lowered; null: no more. A
 * shard that still has more tasks with agents than units leaves as much less to the others.
 * `tokens`: those that shards have lost, or that no shard had.
 */
export function raises(
  limits: QueueLimits,
  shards: readonly LoweredUse[],
  sizes: readonly ShareSize[],
  tokens: number,
): readonly (Raise | null)[] {
  const units = unitsOf(limits);
  const used = shards.reduce((sum, { slots, leased }) => sum + Math.max(slots, leased), 0);
  let freeSlots = Math.max(0, (units.slots ?? 0) - used);
  let freeBurst = Math.max(0, (units.burst ?? 0) - sumOf(shards, ({ burst }) => burst));
  let tokensLeft = tokens;
  return shards.map((one, shard) => {
    const to = sizes[shard] ?? one;
    const most = Math.max(one.slots, one.leased);
    const slots = Math.max(one.slots, Math.min(to.slots, most + freeSlots));
    freeSlots -= Math.max(slots, one.leased) - most;
    const burst = Math.max(one.burst, Math.min(to.burst, one.burst + freeBurst));
    freeBurst -= burst - one.burst;
    const more = Math.min(tokensLeft, burst - one.burst);
    tokensLeft -= more;
    if (slots === one.slots && burst === one.burst) return null;
    const isServed = !hasRoom(limits, one) && hasRoom(limits, { ...one, slots, burst });
    return { slots, burst, tokens: more, isServed };
  });
}

function hasRoom({ leasesMax, rate }: QueueLimits, { slots, burst, leased }: LoweredUse): boolean {
  return (leasesMax === null || slots > leased) && (rate === null || burst > 0);
}

function sumOf<One>(all: readonly One[], of: (one: One) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0);
}
