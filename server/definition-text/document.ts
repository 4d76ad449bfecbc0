/**
 * Parses a text into its one YAML document, and finds line and column of any node.
 *
 * JSON is read as YAML. The rules are those of YAML 1.2 with the core schema: a plain `no` or
 * `2026-01-31` is text. To mean the same to every reader, a text may not contain tags, other
 * versions of YAML, keys that are not text, duplicate keys, or more than one document. Aliases are
 * resolved (aliases.ts).
 *
 * A text may come from anyone, so its cost is bounded before it is parsed: by bytes, by tokens, and
 * by depth.
 */
import {
  isMap,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
  type YAMLParseError,
} from "yaml";
import { resolveAliases } from "./aliases.ts";
import { type Place, TEXT_KINDS, type TextKind, type TextProblems } from "./problems.ts";

export interface TextDocument {
  /** The outermost map; null if there is none, which is then one of the problems. */
  readonly root: YAMLMap | null;
  /** The position where a node begins. */
  placeOf(node: Node): Place;
}

const textBytesMax = 1024 * 1024;
/** The parser takes about 3 µs for each token. */
const tokensMax = 200_000;
/** Deeper than any input that a person would want to read, and far below the limit of the stack. */
export const depthMax = 64;

const start: Place = { line: 1, column: 1 };

export function readDocument(
  text: string,
  problems: TextProblems,
  what: TextKind = "workflow",
): TextDocument {
  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const placeOf = (node: Node) => (node.range ? place(node.range[0]) : start);
  const refused = (at: Place, message: string): TextDocument => {
    problems.invalid("", at, message);
    return { root: null, placeOf };
  };
  const tooLarge = sizeProblem(text);
  if (tooLarge !== null) return refused(start, tooLarge);

  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: "core",
    resolveKnownTags: false,
    // Checked in entriesOf (nodes.ts), in linear time.
    uniqueKeys: false,
    // Whole numbers of any length reach the input of a step as they were written.
    intAsBigInt: true,
  });
  if (document.errors.length > 0) {
    addSyntaxProblems(document.errors, text, place, problems, what);
    return { root: null, placeOf };
  }
  const yaml = document.directives?.yaml;
  if (yaml?.explicit && yaml.version !== "1.2")
    return refused(start, `this is YAML ${yaml.version}: remove the %YAML line, or write 1.2`);
  const root = document.contents;
  const { a, line } = TEXT_KINDS[what];
  if (root === null || (isScalar(root) && root.value === null))
    return refused(start, `the text is empty: ${a} begins with a line \`${line}\``);
  if (!isMap(root)) return refused(placeOf(root), `${a} is a map: begin with a line \`${line}\``);
  const alias = resolveAliases(root);
  if (alias !== null) return refused(placeOf(alias.node), alias.message);
  return { root, placeOf };
}

function sizeProblem(text: string): string | null {
  const bytes = Buffer.byteLength(text);
  if (bytes > textBytesMax)
    return `the text has ${bytes} bytes, and at most ${textBytesMax} are read: keep large data elsewhere`;
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    if (++tokens > tokensMax)
      return `the text has more than ${tokensMax} tokens: keep large data elsewhere`;
  }
  return null;
}

/** One mistake often causes several errors in its line; the first is the useful one. */
function addSyntaxProblems(
  errors: readonly YAMLParseError[],
  text: string,
  place: (offset: number) => Place,
  problems: TextProblems,
  what: TextKind,
): void {
  const seen = new Set<number>();
  for (const error of errors) {
    const at = place(error.pos[0]);
    if (seen.has(at.line)) continue;
    seen.add(at.line);
    problems.invalid("", at, syntaxMessage(error, text, what));
    if (error.code === "RESOURCE_EXHAUSTION") return;
  }
}

function syntaxMessage(error: YAMLParseError, text: string, what: TextKind): string {
  switch (error.code) {
    case "MULTIPLE_DOCS":
      return `a second document begins here: keep each ${TEXT_KINDS[what].a.slice(2)} in a text of its own`;
    case "TAB_AS_INDENT":
      return "a tab indents this line: YAML is indented with spaces";
    case "RESOURCE_EXHAUSTION":
      return `this is nested too deeply: at most ${depthMax} levels are read`;
    case "BLOCK_AS_IMPLICIT_KEY":
      return "a second `: ` in one line: put the value in quotes, or on lines of its own";
    default: {
      const lineStart = text.lastIndexOf("\n", error.pos[0] - 1) + 1;
      const line = text.slice(lineStart, error.pos[1]);
      const expression = line.includes("${");
      const [whole = ""] = text.slice(lineStart).split("\n", 1);
      const item = what === "scenarios" && /[\w-]\[\d/.test(whole);
      const hint = expression ? `; within { } an expression needs quotes: "\${...}"` : "";
      const [reason] = error.message.split("\n");
      const quoted = item ? '; within [ ] or { } an item needs quotes: "chunks[2]"' : "";
      return `this is not valid YAML: ${reason}${hint}${quoted}`;
    }
  }
}
