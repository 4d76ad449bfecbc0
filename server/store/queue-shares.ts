// The limits of queues over several shards. Each shard keeps its share of a limit in a row of its
// own, and claims by it under the lock of that row. An allotment moves units between the rows:
//
//   numbered in the first shard → every shard lowers its share, and commits → shards are raised
//
// A row takes the orders of an allotment only until it has seen a later number. So once every shard
// has answered to `lower`, no earlier allotment can raise anything any more, wherever its process
// has got stuck; and an allotment that is left halfway has only lowered.
import type { EpochMs } from "../core/model/attempt.ts";
import type { QueueLimits } from "../core/model/limits.ts";
import {
  allot,
  isWorthwhile,
  type LoweredUse,
  type Raise,
  raises,
  type ShareSize,
  type ShareUse,
} from "../core/model/shares.ts";
import type { QueueRef } from "./queues.ts";
import type { Shards } from "./shards.ts";

/** How often the shares are compared with what waits, in milliseconds. */
export const ALLOT_EVERY_MS = 1_000;
/** Most tasks of a queue that are counted as waiting in one shard. */
export const WAITING_COUNTED_MAX = 1_000;

/** A queue with limits, in one shard. */
export interface QueueShare extends QueueRef, ShareUse {
  readonly limits: QueueLimits;
  readonly now: EpochMs;
}

export interface Allotment extends QueueRef {
  /** Greater than that of any allotment of the queue before. */
  readonly number: number;
  readonly limits: QueueLimits;
  /** Tokens that no shard has yet: a new rate begins with a full bucket. */
  readonly tokens: number;
}

type Ordered<Order> = Order & Pick<Allotment, "namespaceId" | "queue" | "number">;
export type LowerOrder = Ordered<ShareSize>;
export type RaiseOrder = Ordered<Raise>;

/** What a shard has after it was lowered, and the tokens that it has lost by that. */
export interface LoweredShare extends QueueRef, LoweredUse {
  readonly tokens: number;
}

export interface QueueShares {
  /** Those of every queue with limits, in this shard. A store of one shard has none. */
  read(): Promise<readonly QueueShare[]>;
  /** Begins an allotment of those of the queues that have limits. Only the first shard does. */
  begin(queues: readonly QueueRef[]): Promise<readonly Allotment[]>;
  /**
   * After it returns, no order of an earlier allotment takes effect in this shard. Returns the
   * shares as they are then; a queue that has seen a later allotment is left out.
   */
  lower(orders: readonly LowerOrder[]): Promise<readonly LoweredShare[]>;
  /**
   * Orders of allotments that are not the last one of their queue change nothing. Returns the lanes
   * from which more can be claimed.
   */
  raise(orders: readonly RaiseOrder[]): Promise<readonly number[]>;
}

interface SharesOfShard {
  readonly queues: { readonly shares: QueueShares };
}

/** Called with the lanes of a shard from which more can be claimed. */
type OnRaised = (shard: number, lanes: readonly number[]) => void;

/**
 * Moves units to where tasks wait. `always`: this queue is divided anew even if no task waits for
 * its units.
 */
export async function allotQueues(
  shards: Shards<SharesOfShard>,
  always: QueueRef | null,
  onRaised: OnRaised,
): Promise<void> {
  const { home } = shards;
  const seen = await Promise.all(shards.all.map(({ queues }) => queues.shares.read()));
  const wanted = queuesOf(seen).filter(
    (queue) => isSame(queue, always) || isWorthwhile(usesOf(seen, queue), sizesOf(seen, queue)),
  );
  if (wanted.length === 0) return;
  const begun = await home.queues.shares.begin(wanted);
  if (begun.length === 0) return;
  const orders = begun.map((allotment) => {
    const { namespaceId, queue, number } = allotment;
    const sizes = sizesOf(seen, allotment);
    return sizes.map((size): LowerOrder => ({ namespaceId, queue, number, ...size }));
  });
  const lowered = await Promise.all(
    shards.all.map(({ queues }, shard) =>
      queues.shares.lower(orders.flatMap((of) => of[shard] ?? [])),
    ),
  );
  const raised = begun.map((allotment) => raisesOf(allotment, lowered, sizesOf(seen, allotment)));
  await Promise.all(
    shards.all.map(async ({ queues }, shard) => {
      const own = raised.flatMap((of) => of[shard] ?? []);
      if (own.length > 0) onRaised(shard, await queues.shares.raise(own));
    }),
  );
}

function raisesOf(
  allotment: Allotment,
  lowered: readonly (readonly LoweredShare[])[],
  sizes: readonly ShareSize[],
): readonly (RaiseOrder | null)[] {
  const { namespaceId, queue, number, limits } = allotment;
  const found = lowered.map((of) => of.find((one) => isSame(one, allotment)));
  const uses = found.filter((one) => one !== undefined);
  // A later allotment has begun.
  if (uses.length < lowered.length) return [];
  const tokens = uses.reduce((sum, one) => sum + one.tokens, allotment.tokens);
  return raises(limits, uses, sizes, tokens).map(
    (raise) => raise && { namespaceId, queue, number, ...raise },
  );
}

function queuesOf(seen: readonly (readonly QueueShare[])[]): readonly QueueRef[] {
  return [...Map.groupBy(seen.flat(), keyOf).values()].flatMap(([first]) => first ?? []);
}

/** A shard that does not know the limit yet has nothing of it. */
function usesOf(seen: readonly (readonly QueueShare[])[], of: QueueRef): readonly ShareUse[] {
  const none = { slots: 0, burst: 0, leased: 0, waiting: 0, servedAt: 0 };
  return seen.map((shares) => shares.find((one) => isSame(one, of)) ?? none);
}

function sizesOf(seen: readonly (readonly QueueShare[])[], of: QueueRef): readonly ShareSize[] {
  const [first] = seen.flat().filter((one) => isSame(one, of));
  if (!first) return [];
  return allot(first.limits, usesOf(seen, of), first.now, ALLOT_EVERY_MS);
}

function isSame(one: QueueRef, other: QueueRef | null): boolean {
  return other !== null && keyOf(one) === keyOf(other);
}

function keyOf({ namespaceId, queue }: QueueRef): string {
  return `${namespaceId}/${queue}`;
}
