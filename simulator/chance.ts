// Random numbers from one seed, for simulations; it also implements the server's `Random`. Each
// part gets its own stream (`fork`), so that a new part, or more or fewer draws of one part, does
// not change the draws of the others.
import type { Random } from "@drover/server/clock.ts";

export interface Chance extends Random {
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  happens(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  fork(): Chance;
}

/**
 * `lastByteMax` bounds the last byte of what `bytes` returns. The last byte of a run's id names its
 * partition, and a simulation needs only a few partitions.
 */
export function createChance(seed: number, lastByteMax = 255): Chance {
  let state = seed >>> 0;

  /** Mulberry32. */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  const fraction = (): number => next() / 2 ** 32;
  const between = (low: number, high: number): number =>
    low + Math.floor(fraction() * (high - low + 1));

  return Object.freeze({
    fraction,
    between,
    happens: (probability: number) => fraction() < probability,
    pick<T>(items: readonly T[]): T {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new Error("there is nothing to pick from");
      return item;
    },
    bytes(count: number): Uint8Array {
      const bytes = Uint8Array.from({ length: count }, () => next() & 255);
      const last = bytes[count - 1];
      if (last !== undefined) bytes[count - 1] = last % (lastByteMax + 1);
      return bytes;
    },
    fork: () => createChance(next(), lastByteMax),
  } satisfies Chance);
}
