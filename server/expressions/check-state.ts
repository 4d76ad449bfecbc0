// What the check of one expression is given and what it has found so far. The parts of the check,
// `check.ts`, `check-fields.ts` and `check-calls.ts`, share it.
import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import type { Meter } from "./meter.ts";
import type { Tree } from "./syntax.ts";
import { ANY, type ExpressionScope, type ValueType } from "./types.ts";

/** The names that can be used at a place in the expression. A macro adds names of its own. */
export type Names = ReadonlyMap<string, ValueType>;

export interface Finding {
  readonly message: string;
  readonly at: number;
}

export interface Check {
  readonly text: string;
  readonly tree: Tree;
  readonly scope: ExpressionScope;
  /** It is charged for the patterns of the expression. */
  readonly meter: Meter;
  /** The names outside of any macro. */
  readonly globals: Names;
  /** In the order in which they were found. */
  readonly findings: Finding[];
  /** Ids of the steps that the expression names, and of the steps whose output it uses. */
  readonly steps: Set<string>;
  readonly outputs: Set<string>;
  /** Those of `globals` that the expression uses. */
  readonly variables: Set<string>;
}

/** Adds a finding at an expression. Its type becomes "any", so that no finding follows from it. */
export function wrong(check: Check, expr: Expr, message: string): ValueType {
  return wrongAt(check, check.tree.offsetOf(expr.id), message);
}

/** The same, at an offset in the text. */
export function wrongAt({ findings }: Check, at: number, message: string): ValueType {
  findings.push({ message, at });
  return ANY;
}

/** The text of a literal, or null. */
export function literalText({ exprKind }: Expr): string | null {
  if (exprKind.case !== "constExpr") return null;
  const { constantKind } = exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : null;
}
