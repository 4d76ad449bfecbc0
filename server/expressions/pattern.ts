// Regular expressions in workflows and schemas. They run on RE2, which takes time linear in the
// text. V8's own engine can take exponential time, and any author of a workflow may choose a
// pattern.
import { RE2JS } from "@bufbuild/re2";
import { COST_MAX, charge, createMeter, type Meter } from "./meter.ts";

const PATTERN_LENGTH_MAX = 512;

/** Compiled patterns that are cached for the life of the process: few, and each is small. */
const KEPT_MAX = 256;
const cached = new Map<string, RE2JS>();

/** Throws an error in plain words if RE2 refuses the pattern. */
export function compilePattern(pattern: string): RE2JS {
  const known = cached.get(pattern);
  if (known) return known;
  if (pattern.length > PATTERN_LENGTH_MAX)
    throw new Error(`the pattern is longer than ${PATTERN_LENGTH_MAX} characters`);
  const made = RE2JS.compile(pattern);
  if (cached.size >= KEPT_MAX) cached.clear();
  cached.set(pattern, made);
  return made;
}

/** Whether it matches anywhere in the text. */
export function testPattern(pattern: string, text: string, meter: Meter): boolean {
  payForPattern(pattern, meter);
  // The slowest patterns found take 0.8 microseconds for a character, plain ones a twentieth of
  // that.
  charge(meter, 10 + 4 * text.length);
  return compilePattern(pattern).test(text);
}

/** A pattern is charged once for each meter, even if this process has compiled it before. */
function payForPattern(pattern: string, meter: Meter): void {
  if (meter.patterns.has(pattern)) return;
  const counts = [...pattern.matchAll(/\{(\d*),?(\d*)\}/g)].map(([, least, most]) =>
    Math.max(Number(least), Number(most)),
  );
  // The smallest pattern takes 0.05 ms, `\pL{900}` 100 ms.
  charge(meter, 1_000 + 20 * pattern.length + 1_000 * Math.max(0, ...counts));
  meter.patterns.add(pattern);
}

/** The problem of a pattern that an author wrote, or null. The meter is charged for it. */
export function patternProblem(pattern: string, meter: Meter): string | null {
  try {
    // A pattern that costs more than one evaluation may cost could never be used.
    payForPattern(pattern, createMeter(COST_MAX));
    payForPattern(pattern, meter);
    compilePattern(pattern);
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `the pattern "${pattern.slice(0, 40)}" cannot be used: ${reason}`;
  }
}
