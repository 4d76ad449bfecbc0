// The budget of an evaluation. A unit is about a tenth of a microsecond of work. Work is counted
// and not timed, so that the same expression over the same facts fails on every machine or on none.

export interface Meter {
  /**
   * Units left. Below zero the evaluation has failed, even if an operator of the expression absorbs
   * the error.
   */
  left: number;
  /** Patterns that were charged: only the first use of each costs its compilation. */
  readonly patterns: Set<string>;
}

export function createMeter(units: number): Meter {
  return { left: units, patterns: new Set() };
}

/**
 * About 0.1 s for most work, and less than 0.5 s for the worst case that was found. Meanwhile all
 * other work on this thread waits.
 */
export const COST_MAX = 1_000_000;

/**
 * The limit for compiling all expressions and schemas of one definition: a second or two. A
 * definition that passed at registration stays within it, whichever part is compiled later.
 */
export const COMPILE_COST_MAX = 10 * COST_MAX;

/** Characters or bytes that are copied or compared for one unit. */
const CHARS = 32;

export function charge(meter: Meter, units: number): void {
  meter.left -= units;
  if (meter.left < 0) throw new Error("it takes more work than one evaluation may");
}

export function unitsOfChars(chars: number): number {
  return 1 + Math.ceil(chars / CHARS);
}
