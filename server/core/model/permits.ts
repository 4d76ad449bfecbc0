// Concurrency keys: how many runs of one key may be open at the same time. The functions decide
// about the permits of one key, whose lock the caller holds, so they do not change meanwhile.
import type { EpochMs } from "./attempt.ts";

export type ConcurrencyPolicy =
  /** Waits for a permit: by priority, then by age. */
  | "queue"
  /** Is refused while there is no permit. */
  | "refuse"
  /** Waits, unless another run waits already: then it is refused. */
  | "queue-one"
  /** Cancels the oldest run of the key, and waits for its permit. */
  | "cancel-oldest";

export interface Concurrency {
  readonly key: string;
  /** Most runs of the key that may hold a permit once this one does. */
  readonly limit: number;
  readonly policy: ConcurrencyPolicy;
}

/** A run that holds a permit of its key, or waits for one. */
export interface Permit {
  readonly runId: string;
  readonly limit: number;
  /** 1 is first, 9 is last. */
  readonly priority: number;
  /** When the run asked for it. */
  readonly since: EpochMs;
  readonly holds: boolean;
  /** A newer run has cancelled it. */
  readonly leaving: boolean;
}

/** Of one key: all runs that hold a permit, and the first that wait. */
export type Permits = readonly Permit[];

export interface Joined {
  readonly permits: Permits;
  readonly answer: "holds" | "waits" | "refused";
  /** The run that is cancelled for this one; null: none. */
  readonly cancelled: string | null;
}

/** A run asks for a permit. It gets one if one is free, and no other run waits before it. */
export function join(
  permits: Permits,
  asks: Pick<Permit, "runId" | "limit" | "priority" | "since">,
  policy: ConcurrencyPolicy,
): Joined {
  const holders = permits.filter(({ holds }) => holds).length;
  const permit: Permit = { ...asks, holds: false, leaving: false };
  if (holders < asks.limit && holders === permits.length)
    return { permits: [...permits, { ...permit, holds: true }], answer: "holds", cancelled: null };
  const isFull = policy === "refuse" || (policy === "queue-one" && holders < permits.length);
  if (isFull) return { permits, answer: "refused", cancelled: null };
  const staying = permits.filter(({ leaving }) => !leaving).sort(byAge);
  const oldest = policy === "cancel-oldest" && staying.length >= asks.limit ? staying[0] : null;
  const others = permits.map((one) => (one === oldest ? { ...one, leaving: true } : one));
  return { permits: [...others, permit], answer: "waits", cancelled: oldest?.runId ?? null };
}

/**
 * The run has ended, whether it held a permit or waited. The first waiting runs get the permits
 * that are free now.
 */
export function leave(
  permits: Permits,
  runId: string,
): { readonly permits: Permits; readonly granted: readonly string[] } {
  const left = permits.filter((permit) => permit.runId !== runId);
  let holders = left.filter(({ holds }) => holds).length;
  const granted: string[] = [];
  for (const permit of left.filter(({ holds }) => !holds).sort(inTurn)) {
    // No run overtakes another, not even one whose own limit is higher.
    if (holders >= permit.limit) break;
    holders++;
    granted.push(permit.runId);
  }
  const after = left.map((permit) =>
    granted.includes(permit.runId) ? { ...permit, holds: true } : permit,
  );
  return { permits: after, granted };
}

/** Runs that hold a permit count as older than those that wait. */
function byAge(a: Permit, b: Permit): number {
  return Number(b.holds) - Number(a.holds) || a.since - b.since || byId(a, b);
}

function inTurn(a: Permit, b: Permit): number {
  return a.priority - b.priority || a.since - b.since || byId(a, b);
}

/** Ids are made in order of creation. */
function byId(a: Permit, b: Permit): number {
  return a.runId < b.runId ? -1 : 1;
}
