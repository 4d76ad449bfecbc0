/**
 * Chance that can be repeated: a generator of numbers in [0, 1) which depends on its seed alone.
 * The seed is any text, so that two services can share a number and still differ ("flight:7",
 * "hotel:7"). Mulberry32 over an FNV-1a hash of the seed: good enough to choose faults with, and
 * nothing that has to be secret may come from here.
 */

export type Random = () => number;

const UINT32_RANGE = 2 ** 32;

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

export function createSeededRandom(seed: string): Random {
  let state = hashOf(seed);
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / UINT32_RANGE;
  };
}
