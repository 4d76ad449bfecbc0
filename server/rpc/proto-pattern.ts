// The patterns of the proto, matched by V8's own engine: RE2 in JavaScript took 7 % of all that a
// loaded server allocates. It guards against patterns of strangers, and these are ours: a test goes
// through all of them, and holds that both engines agree and that none takes more than linear time.
// What authors write in definitions stays with RE2 (expressions/pattern.ts).

/** As many as the proto has patterns; one that a rule made of its input would be refused. */
const PATTERNS_MAX = 256;
const compiled = new Map<string, RegExp>();

export function matchesProtoPattern(pattern: string, text: string): boolean {
  return compileProtoPattern(pattern).test(text);
}

/** Throws where V8 does not read it. */
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

/** A dot of RE2 leaves out a line feed alone; one of JavaScript four kinds of line ends. */
function withRe2Dot(pattern: string): string {
  const pieces = /\\.|\[(?:\\.|[^\]\\])*\]|\./gsu;
  return pattern.replace(pieces, (piece) => (piece === "." ? "[^\\n]" : piece));
}
