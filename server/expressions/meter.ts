// What an evaluation may still spend. The unit is about a tenth of a microsecond of work; it is
// counted and not timed, so that the same expression over the same facts fails everywhere or
// nowhere.

export interface Meter {
  /** Units left; below zero the evaluation is over, whatever an operator makes of the error. */
  left: number;
  /** Patterns that were paid for: the first use of each costs its compilation. */
  readonly patterns: Set<string>;
}

export function createMeter(units: number): Meter {
  return { left: units, patterns: new Set() };
}

/**
 * A tenth of a second for most work, and less than half of one for the worst that was found: so
 * long do others on this thread wait.
 */
export const COST_MAX = 1_000_000;

/**
 * What compiling all the expressions and schemas of one definition may take: a second or two. One
 * that was registered is within it in whatever part it is compiled later.
 */
export const COMPILE_COST_MAX = 10 * COST_MAX;

/** Characters or bytes that are copied or compared for one unit. */
const CHARS = 32;

export function charge(meter: Meter, units: number): void {
  meter.left -= units;
  if (meter.left < 0) throw new Error("it takes more work than is done at once");
}

export function unitsOfChars(chars: number): number {
  return 1 + Math.ceil(chars / CHARS);
}
