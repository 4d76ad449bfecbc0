// Matches the patterns of the proto with V8's own engine: RE2 in JavaScript took 7 % of all that a
// loaded server allocates. RE2 guards against patterns of strangers, and these patterns are
// Drover's own: a test checks for each of them that both engines agree and that it takes linear
// time at most. Patterns that authors write in definitions still use RE2 (expressions/pattern.ts).

/** As many patterns as the proto has. The limit refuses a rule that makes patterns of its input. */
const PATTERNS_MAX = 256;
const compiled = new Map<string, RegExp>();

export function matchesProtoPattern(pattern: string, text: string): boolean {
  return compileProtoPattern(pattern).test(text);
}

/** Throws if V8 cannot compile the pattern. */
export function compileProtoPattern(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known) return known;
  if (compiled.size >= PATTERNS_MAX)
    throw new Error(
      `the proto has more than ${PATTERNS_MAX} patterns, of which "${pattern.slice(0, 40)}" is one: raise PATTERNS_MAX, or let a rule use a fixed pattern`,
    );
  const made = new RegExp(withRe2Dot(pattern), "u");
  compiled.set(pattern, made);
  return made;
}

/** In RE2 a dot excludes the line feed only; in JavaScript it excludes four kinds of line ends. */
function withRe2Dot(pattern: string): string {
  const pieces = /\\.|\[(?:\\.|[^\]\\])*\]|\./gsu;
  return pattern.replace(pieces, (piece) => (piece === "." ? "[^\\n]" : piece));
}
