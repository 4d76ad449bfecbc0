// Parses the text of an expression into the library's tree, or into a problem with its position.
import { parse } from "@bufbuild/cel";
import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { misplaced, tokensOf } from "./tokens.ts";

/** Characters of one expression; also the limit of the proto for `when`. */
const EXPRESSION_LENGTH_MAX = 4096;
/**
 * Levels of a tree. Deeper trees could exhaust the stack, whose free size depends on the caller.
 */
const EXPRESSION_DEPTH_MAX = 150;

export interface Place {
  /** 1-based, within the text. */
  readonly line: number;
  /** 1-based, in UTF-16 units as editors count. */
  readonly column: number;
}

export type Problem = { readonly message: string } & Place;

export interface Tree {
  readonly root: Expr;
  /** Offset of a node in the text, by its id. */
  readonly offsetOf: (id: bigint) => number;
}

/** What a node of one kind consists of, as `KindOf<"callExpr">`. */
export type KindOf<C, K = Expr["exprKind"]> = K extends { case: C; value: infer V } ? V : never;

type Syntax =
  | { readonly ok: true; readonly tree: Tree }
  | { readonly ok: false; readonly message: string; readonly at: number };

/** Total characters of the texts with cached trees. A tree takes some hundred bytes a character. */
const KEPT_CHARACTERS_MAX = 20_000;
const cached = new Map<string, Syntax>();
let keptCharacters = 0;

/**
 * Trees are immutable, so those of the last texts are cached: a definition is parsed when it is
 * checked and again when its plan is made, and a definition that is sent with each run is parsed as
 * often.
 */
export function parseExpression(text: string): Syntax {
  const found = cached.get(text);
  if (found) return found;
  const syntax = parsed(text);
  if (syntax.ok) keep(text, syntax);
  return syntax;
}

function keep(text: string, syntax: Syntax): void {
  cached.set(text, syntax);
  keptCharacters += text.length;
  for (const [oldest] of cached) {
    if (keptCharacters <= KEPT_CHARACTERS_MAX) break;
    cached.delete(oldest);
    keptCharacters -= oldest.length;
  }
}

function parsed(text: string): Syntax {
  if (text.length > EXPRESSION_LENGTH_MAX) {
    const message = `it has ${text.length} characters, at most ${EXPRESSION_LENGTH_MAX} are read`;
    return { ok: false, message, at: EXPRESSION_LENGTH_MAX };
  }
  const words = tokensOf(text, 0, false);
  if (!words.ok) return words;
  const wrong = misplaced(words.tokens, words.end);
  if (wrong) return { ok: false, ...wrong };
  const tooDeep = { ok: false, message: "it is nested too deep: split it", at: 0 } as const;
  try {
    const { expr, sourceInfo } = parse(text);
    if (isDeeper(expr, EXPRESSION_DEPTH_MAX)) return tooDeep;
    const positions = sourceInfo?.positions ?? {};
    const offsetOf = (id: bigint) => positions[String(id)] ?? 0;
    return { ok: true, tree: { root: expr, offsetOf } };
  } catch (error) {
    if (error instanceof RangeError) return tooDeep;
    const at = offsetOfFailure(error);
    const near = words.tokens.findLast((token) => token.at <= at)?.text ?? text.slice(0, 20);
    return { ok: false, message: `"${near}" cannot be read here`, at };
  }
}

/** The library's parse errors have a location that their types do not declare. */
function offsetOfFailure(error: unknown): number {
  if (typeof error !== "object" || error === null || !("location" in error)) return 0;
  const { location } = error;
  if (typeof location !== "object" || location === null || !("start" in location)) return 0;
  const { start } = location;
  if (typeof start !== "object" || start === null || !("offset" in start)) return 0;
  return typeof start.offset === "number" ? start.offset : 0;
}

/** The direct children of a node, in the order of their evaluation. */
function childrenOf({ exprKind }: Expr): readonly Expr[] {
  const present = (nodes: readonly (Expr | undefined)[]) =>
    nodes.filter((node) => node !== undefined);
  switch (exprKind.case) {
    case "callExpr":
      return present([exprKind.value.target, ...exprKind.value.args]);
    case "selectExpr":
      return present([exprKind.value.operand]);
    case "listExpr":
      return exprKind.value.elements;
    case "structExpr":
      return present(
        exprKind.value.entries.flatMap(({ keyKind, value }) => [
          keyKind.case === "mapKey" ? keyKind.value : undefined,
          value,
        ]),
      );
    case "comprehensionExpr": {
      const { iterRange, accuInit, loopCondition, loopStep, result } = exprKind.value;
      return present([iterRange, accuInit, loopCondition, loopStep, result]);
    }
    default:
      return [];
  }
}

function isDeeper(root: Expr, levels: number): boolean {
  let level: readonly Expr[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap(childrenOf);
  }
  return false;
}

export function placeOf(text: string, at: number): Place {
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: at - lineStart + 1 };
}
