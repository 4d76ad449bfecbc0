/**
 * How the outside world misbehaves. A fault is chosen by what is asked, for what, and for how many
 * times it was asked before, so the same seed deals the same faults in whatever order callers come.
 */
import { createSeededRandom } from "./seeded-random.ts";

export interface Asked {
  /** As `card/capture`. */
  readonly path: string;
  readonly ref: string;
  /** From 0: how often the same was asked before. */
  readonly before: number;
}

/**
 * - none         answers as it should
 * - drop-before  breaks the connection, and does nothing
 * - drop-after   does it, and breaks the connection instead of answering
 * - busy         429 with a wait, and does nothing
 * - slow         does it, and answers after a while
 * - anything else is for the service itself to play
 */
export type Fault = "none" | "drop-before" | "drop-after" | "busy" | "slow" | (string & {});
export type Faults = (asked: Asked) => Fault;

/** The faults of a request in order, by `path ref`; after them all is well. */
export function scripted(script: Readonly<Record<string, readonly Fault[]>>): Faults {
  return ({ path, ref, before }) => script[`${path} ${ref}`]?.[before] ?? "none";
}

/** Each request meets one of the faults with the given probability, 0 to 1. */
export function random(seed: number, share: number, faults: readonly Fault[]): Faults {
  return ({ path, ref, before }) => {
    const chance = createSeededRandom(`${seed}:${path}:${ref}:${before}`);
    if (chance() >= share) return "none";
    return faults[Math.floor(chance() * faults.length)] ?? "none";
  };
}

/** The items in an order that the seed decides. */
export function shuffled<T>(seed: number, items: readonly T[]): readonly T[] {
  const chance = createSeededRandom(`order:${seed}`);
  return items
    .map((item) => ({ item, at: chance() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
