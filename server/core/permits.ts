// Concurrency keys: how many runs of one key may be under way at the same time. What is decided
// here is about the slots of one key, which stand still meanwhile (its lock is held).
import type { EpochMs } from "./attempt.ts";

export type ConcurrencyPolicy =
  /** Waits for a slot: by priority, then by age. */
  | "queue"
  /** Is refused while there is none. */
  | "refuse"
  /** Waits, unless another waits already: then it is refused. */
  | "queue-one"
  /** Has the oldest run of the key cancelled, and waits for its slot. */
  | "cancel-oldest";

export interface Concurrency {
  readonly key: string;
  /** So many runs of the key may be under way when this one begins. */
  readonly limit: number;
  readonly policy: ConcurrencyPolicy;
}

/** A run that holds a slot of its key, or waits for one. */
export interface Permit {
  readonly runId: string;
  readonly limit: number;
  /** 1 first, 9 last. */
  readonly priority: number;
  /** When it asked for it. */
  readonly since: EpochMs;
  readonly holds: boolean;
  /** A newer run has had it cancelled. */
  readonly leaving: boolean;
}

/** Of one key: all that hold one, and the first that wait. */
export type Permits = readonly Permit[];

export interface Joined {
  readonly slots: Permits;
  readonly answer: "holds" | "waits" | "refused";
  /** The run that has to go for this one; null: none. */
  readonly cancelled: string | null;
}

/** A run asks for a slot. It gets one if there is one, and nobody waits before it. */
export function join(
  slots: Permits,
  asks: Pick<Permit, "runId" | "limit" | "priority" | "since">,
  policy: ConcurrencyPolicy,
): Joined {
  const holders = slots.filter(({ holds }) => holds).length;
  const slot: Permit = { ...asks, holds: false, leaving: false };
  if (holders < asks.limit && holders === slots.length)
    return { slots: [...slots, { ...slot, holds: true }], answer: "holds", cancelled: null };
  const isFull = policy === "refuse" || (policy === "queue-one" && holders < slots.length);
  if (isFull) return { slots, answer: "refused", cancelled: null };
  const staying = slots.filter(({ leaving }) => !leaving).sort(byAge);
  const oldest = policy === "cancel-oldest" && staying.length >= asks.limit ? staying[0] : null;
  const others = slots.map((one) => (one === oldest ? { ...one, leaving: true } : one));
  return { slots: [...others, slot], answer: "waits", cancelled: oldest?.runId ?? null };
}

/** The run has ended, whether it held a slot or waited: who waits first gets what is free now. */
export function leave(
  slots: Permits,
  runId: string,
): { readonly slots: Permits; readonly granted: readonly string[] } {
  const left = slots.filter((slot) => slot.runId !== runId);
  let holders = left.filter(({ holds }) => holds).length;
  const granted: string[] = [];
  for (const slot of left.filter(({ holds }) => !holds).sort(inTurn)) {
    // Nobody overtakes, not even one whose own limit is higher.
    if (holders >= slot.limit) break;
    holders++;
    granted.push(slot.runId);
  }
  const after = left.map((slot) =>
    granted.includes(slot.runId) ? { ...slot, holds: true } : slot,
  );
  return { slots: after, granted };
}

/** Those that hold one are older than those that wait. */
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
