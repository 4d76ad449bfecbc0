// Adds calls that charge the meter to a checked tree: the library runs the tree and has no limits.
// It also lets the list that map() and filter() build grow in place; the library copies it for each
// item.

import { type Expr, Expr_CallSchema, ExprSchema } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { create } from "@bufbuild/protobuf";
import { functions, hidden, meteredName } from "./environment.ts";
import type { KindOf } from "./syntax.ts";

export function meteredTree(expr: Expr): Expr {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "callExpr":
      return meteredCall(expr, exprKind.value);
    case "selectExpr": {
      const { operand, field, testOnly } = exprKind.value;
      const name = testOnly ? hidden.has : hidden.select;
      return paidCall(expr.id, name, [...metered(operand), textOf(expr.id, field)]);
    }
    case "listExpr": {
      const elements = exprKind.value.elements.map(meteredTree);
      const value = { ...exprKind.value, elements };
      return sized({ ...expr, exprKind: { case: "listExpr", value } });
    }
    case "structExpr": {
      const entries = exprKind.value.entries.map((entry) => {
        const [value] = metered(entry.value);
        const { keyKind } = entry;
        const key: typeof keyKind =
          keyKind.case === "mapKey"
            ? { case: "mapKey", value: meteredTree(keyKind.value) }
            : keyKind;
        return { ...entry, keyKind: key, ...(value ? { value } : {}) };
      });
      const value = { ...exprKind.value, entries };
      return sized({ ...expr, exprKind: { case: "structExpr", value } });
    }
    case "comprehensionExpr":
      return meteredFold(expr, exprKind.value);
    default:
      return expr;
  }
}

function metered(expr: Expr | undefined): readonly Expr[] {
  return expr ? [meteredTree(expr)] : [];
}

function meteredCall(expr: Expr, call: KindOf<"callExpr">): Expr {
  const args = call.args.map(meteredTree);
  const [condition, ...values] = args;
  if (call.function === "_?_:_" && condition)
    return {
      ...expr,
      exprKind: { case: "callExpr", value: { ...call, args: [bool(condition), ...values] } },
    };
  if (call.function === "_&&_" || call.function === "_||_")
    return { ...expr, exprKind: { case: "callExpr", value: { ...call, args: args.map(bool) } } };
  if (call.function === "_[_]") return paidCall(expr.id, hidden.index, args);
  const qualified = qualifiedName(call);
  if (qualified) return paidCall(expr.id, qualified, args);
  if (functions.find(call.function)) return paidCall(expr.id, call.function, args, call.target);
  return { ...expr, exprKind: { case: "callExpr", value: { ...call, args } } };
}

function sized(expr: Expr): Expr {
  return callOf(expr.id, meteredName(hidden.sized), [expr]);
}

/** Checks at this node that the value is a bool. */
function bool(expr: Expr): Expr {
  return callOf(expr.id, meteredName(hidden.bool), [expr]);
}

/** The function that `strings.quote(x)` names, which parses like a method of a variable. */
export function qualifiedName({ target, function: name }: KindOf<"callExpr">): string | null {
  if (target?.exprKind.case !== "identExpr") return null;
  const qualified = `${target.exprKind.value.name}.${name}`;
  return functions.find(qualified) ? qualified : null;
}

function meteredFold(expr: Expr, fold: KindOf<"comprehensionExpr">): Expr {
  const { iterRange, accuInit, loopCondition, loopStep, result } = fold;
  if (!iterRange || !accuInit || !loopCondition || !loopStep || !result) return expr;
  const value = {
    ...fold,
    iterRange: paidCall(iterRange.id, hidden.sized, [meteredTree(iterRange)]),
    accuInit: meteredTree(accuInit),
    loopCondition: paidCall(expr.id, hidden.tick, [meteredTree(loopCondition)]),
    loopStep: meteredTree(appending(loopStep, fold.accuVar)),
    result: meteredTree(result),
  };
  return { ...expr, exprKind: { case: "comprehensionExpr", value } };
}

/**
 * Turns `@result + [item]` into `@append(@result, item)`, also inside the condition of a filter.
 */
function appending(step: Expr, accumulator: string): Expr {
  const { exprKind } = step;
  if (exprKind.case !== "callExpr") return step;
  const [first, second, third] = exprKind.value.args;
  if (exprKind.value.function === "_?_:_" && first && second && third) {
    const args = [first, appending(second, accumulator), third];
    return { ...step, exprKind: { case: "callExpr", value: { ...exprKind.value, args } } };
  }
  const isAccumulator =
    first?.exprKind.case === "identExpr" && first.exprKind.value.name === accumulator;
  if (exprKind.value.function !== "_+_" || !isAccumulator) return step;
  const [item] = second?.exprKind.case === "listExpr" ? second.exprKind.value.elements : [];
  return item ? callOf(step.id, hidden.append, [first, item]) : step;
}

function paidCall(id: bigint, name: string, args: readonly Expr[], target?: Expr): Expr {
  return callOf(id, meteredName(name), args, target && meteredTree(target));
}

function callOf(id: bigint, name: string, args: readonly Expr[], target?: Expr): Expr {
  const call = create(Expr_CallSchema, { function: name, args: [...args] });
  const value = target ? { ...call, target } : call;
  return { ...create(ExprSchema, { id }), exprKind: { case: "callExpr", value } };
}

function textOf(id: bigint, text: string): Expr {
  return create(ExprSchema, {
    id,
    exprKind: { case: "constExpr", value: { constantKind: { case: "stringValue", value: text } } },
  });
}
