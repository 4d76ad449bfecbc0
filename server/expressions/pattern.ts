// Regular expressions of authors and of schemas: RE2, whose time grows with the text alone. Those
// of the machine can take exponential time, and a pattern is chosen by whoever writes a workflow.
import { RE2JS } from "@bufbuild/re2";
import { COST_MAX, charge, createMeter, type Meter } from "./meter.ts";

export const PATTERN_LENGTH_MAX = 512;

/** Programs are kept for as long as the process runs: few, and each small. */
const KEPT_MAX = 256;
const kept = new Map<string, RE2JS>();

/** Throws an error in plain words where RE2 does not read it. */
export function compilePattern(pattern: string): RE2JS {
  const known = kept.get(pattern);
  if (known) return known;
  if (pattern.length > PATTERN_LENGTH_MAX)
    throw new Error(`the pattern is longer than ${PATTERN_LENGTH_MAX} characters`);
  const made = RE2JS.compile(pattern);
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(pattern, made);
  return made;
}

/** Whether it matches anywhere in the text. */
export function testPattern(pattern: string, text: string, meter: Meter): boolean {
  payForPattern(pattern, meter);
  // The slowest that were found take 0.8 microseconds for a character, plain ones a twentieth.
  charge(meter, 10 + 4 * text.length);
  return compilePattern(pattern).test(text);
}

/** A compilation is paid once for each meter, whatever this process has compiled before. */
export function payForPattern(pattern: string, meter: Meter): void {
  if (meter.patterns.has(pattern)) return;
  const counts = [...pattern.matchAll(/\{(\d*),?(\d*)\}/g)].map(([, least, most]) =>
    Math.max(Number(least), Number(most)),
  );
  // The smallest takes a twentieth of a millisecond, `\pL{900}` a tenth of a second.
  charge(meter, 1_000 + 20 * pattern.length + 1_000 * Math.max(0, ...counts));
  meter.patterns.add(pattern);
}

/** What is wrong with a pattern that an author wrote, or null; it is paid for. */
export function patternProblem(pattern: string, meter: Meter): string | null {
  try {
    // More than one evaluation may take is more than any evaluation could.
    payForPattern(pattern, createMeter(COST_MAX));
    payForPattern(pattern, meter);
    compilePattern(pattern);
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `the pattern "${pattern.slice(0, 40)}" cannot be used: ${reason}`;
  }
}
