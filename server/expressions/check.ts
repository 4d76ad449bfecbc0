// Checks an expression before it is evaluated: names that do not exist, steps that are not
// upstream, functions with arguments of a wrong type. The CEL library checks no types, so this file
// walks its tree and gives each node a type. `check-fields.ts` knows the types of fields and items,
// `check-calls.ts` those of calls.
import type { Constant, Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { nearestWord } from "../core/definition/nearest-word.ts";
import { callType } from "./check-calls.ts";
import { afterDot, fieldType, itemType, quotedField } from "./check-fields.ts";
import { type Check, type Finding, type Names, wrong } from "./check-state.ts";
import { signOf } from "./environment.ts";
import type { Meter } from "./meter.ts";
import { qualifiedName } from "./metered.ts";
import type { KindOf, Tree } from "./syntax.ts";
import {
  ANY,
  articled,
  commonType,
  type ExpressionScope,
  mayBe,
  nameOfType,
  runType,
  scalar,
  type ValueType,
} from "./types.ts";

interface Checked {
  readonly type: ValueType;
  /** In the order of the text. */
  readonly findings: readonly Finding[];
  readonly refers: References;
}

export interface References {
  /** Ids of the steps that it names, and of the steps whose output it uses. */
  readonly steps: readonly string[];
  readonly outputs: readonly string[];
  readonly variables: readonly string[];
}

const BOOL = scalar("bool");
const typeNames = "int uint double bool string bytes list map null_type type".split(" ");

export function checkExpression(
  text: string,
  tree: Tree,
  scope: ExpressionScope,
  meter: Meter,
): Checked {
  const globals = scope.names ?? namesOfRun(scope);
  const check: Check = {
    text,
    tree,
    scope,
    meter,
    globals,
    findings: [],
    steps: new Set(),
    outputs: new Set(),
    variables: new Set(),
  };
  const type = plainValue(check, tree.root, globals);
  const { findings, steps, outputs, variables } = check;
  findings.sort((one, other) => one.at - other.at);
  return {
    type,
    findings,
    refers: { steps: [...steps], outputs: [...outputs], variables: [...variables] },
  };
}

/** Each type is an object of its own: `variable` recognizes by it a name that no macro hides. */
function namesOfRun({ hasItem }: ExpressionScope): Names {
  return new Map<string, ValueType>([
    ["input", { ...ANY }],
    ["run", runType],
    ["steps", { kind: "steps" }],
    ...(hasItem ? [["item", { ...ANY }] as const] : []),
  ]);
}

/**
 * The type of an expression used as a value. `steps` and records are names for fields, not
 * values.
 */
function plainValue(check: Check, expr: Expr, names: Names): ValueType {
  const type = typeOf(check, expr, names);
  if (type.kind === "steps")
    return wrong(check, expr, 'steps is no value: name a step and a field, as steps["id"].output');
  if (type.kind === "record")
    return wrong(
      check,
      expr,
      `this is no value: name one of its fields ${[...type.fields.keys()].join(", ")}`,
    );
  return type;
}

function typeOf(check: Check, expr: Expr, names: Names): ValueType {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "constExpr":
      return constant(check, expr, exprKind.value);
    case "identExpr":
      return variable(check, expr, exprKind.value.name, names);
    case "selectExpr":
      return select(check, expr, exprKind.value, names);
    case "callExpr":
      return call(check, expr, exprKind.value, names);
    case "listExpr": {
      const items = exprKind.value.elements.map((item) => plainValue(check, item, names));
      return { kind: "list", item: items.length === 0 ? ANY : items.reduce(commonType) };
    }
    case "structExpr":
      return struct(check, expr, exprKind.value, names);
    case "comprehensionExpr":
      return fold(check, expr, exprKind.value, names);
    default:
      return wrong(check, expr, "this cannot be read as a value");
  }
}

function constant(check: Check, expr: Expr, { constantKind }: Constant): ValueType {
  switch (constantKind.case) {
    case "int64Value":
      if (BigInt.asIntN(64, constantKind.value) === constantKind.value) return scalar("int");
      return wrong(check, expr, `${constantKind.value} does not fit into 64 bits`);
    case "uint64Value":
      if (BigInt.asUintN(64, constantKind.value) === constantKind.value) return scalar("uint");
      return wrong(check, expr, `${constantKind.value}u does not fit into 64 bits`);
    case "doubleValue":
      return scalar("double");
    case "boolValue":
      return BOOL;
    case "stringValue":
      return scalar("string");
    case "bytesValue":
      return scalar("bytes");
    default:
      return scalar("null");
  }
}

function variable(check: Check, expr: Expr, name: string, names: Names): ValueType {
  const type = names.get(name);
  if (type) {
    if (check.globals.get(name) === type) check.variables.add(name);
    return type;
  }
  if (typeNames.includes(name)) return scalar("type");
  if (name === "item") return wrong(check, expr, "there is an item only in the steps of a map");
  const known = [...names.keys()].filter((word) => !word.startsWith("@"));
  const near = nearestWord(name, known);
  const hint = near
    ? `did you mean ${near}?`
    : `${known.join(", ")} can be used; a text is written in quotes`;
  return wrong(check, expr, `there is no "${name}": ${hint}`);
}

function select(
  check: Check,
  expr: Expr,
  { operand, field, testOnly }: KindOf<"selectExpr">,
  names: Names,
): ValueType {
  if (!operand) return ANY;
  const of = typeOf(check, operand, names);
  const at = afterDot(check.text, check.tree.offsetOf(expr.id));
  const type = fieldType(check, { operand, of, field, at });
  if (!testOnly) return type;
  if (of.kind === "record" && of.fields.has(field))
    wrong(
      check,
      expr,
      `${field} is always set, so has() is always true: compare it with null or ""`,
    );
  return BOOL;
}

function call(check: Check, expr: Expr, value: KindOf<"callExpr">, names: Names): ValueType {
  const [first, second, third] = value.args;
  switch (value.function) {
    case "_[_]":
      return first && second ? index(check, expr, first, second, names) : ANY;
    case "_&&_":
    case "_||_":
      for (const arg of value.args)
        mustBeBool(check, arg, names, `beside ${signOf(value.function)}`);
      return BOOL;
    case "@not_strictly_false":
      return first ? plainValue(check, first, names) : ANY;
    case "_?_:_":
      if (!first || !second || !third) return ANY;
      mustBeBool(check, first, names, "as a condition");
      return commonType(plainValue(check, second, names), plainValue(check, third, names));
    default:
      return functionCall(check, expr, value, names);
  }
}

function index(check: Check, expr: Expr, operand: Expr, key: Expr, names: Names): ValueType {
  const of = typeOf(check, operand, names);
  if (of.kind === "steps" || of.kind === "record") return quotedField(check, operand, of, key);
  return itemType(check, { expr, of, key, keyType: plainValue(check, key, names) });
}

function mustBeBool(check: Check, expr: Expr, names: Names, where: string): void {
  const type = plainValue(check, expr, names);
  if (!mayBe(type, BOOL))
    wrong(check, expr, `${articled(type)} is used ${where}, where a bool is needed`);
}

function functionCall(
  check: Check,
  expr: Expr,
  value: KindOf<"callExpr">,
  names: Names,
): ValueType {
  const { args } = value;
  const qualified = qualifiedName(value);
  const name = qualified ?? value.function;
  const target = qualified ? undefined : value.target;
  const given = target ? [plainValue(check, target, names)] : [];
  for (const arg of args) given.push(plainValue(check, arg, names));
  return callType(check, { expr, name, isMethod: target !== undefined, args, given });
}

function struct(
  check: Check,
  expr: Expr,
  { messageName, entries }: KindOf<"structExpr">,
  names: Names,
): ValueType {
  if (messageName)
    return wrong(check, expr, `there is no message ${messageName}: write a map, as {"a": 1}`);
  const types = entries.flatMap(({ keyKind, value }) => {
    if (keyKind.case === "mapKey") mustBeKey(check, keyKind.value, names);
    return value ? [plainValue(check, value, names)] : [];
  });
  return { kind: "map", value: types.length === 0 ? ANY : types.reduce(commonType) };
}

function mustBeKey(check: Check, expr: Expr, names: Names): void {
  const type = plainValue(check, expr, names);
  if (!["any", "string", "int", "uint", "bool"].includes(nameOfType(type)))
    wrong(check, expr, `${articled(type)} is no key: put the name in quotes`);
}

/** A macro that goes through a list or a map, as `list.all(x, condition)`. */
function fold(
  check: Check,
  expr: Expr,
  value: KindOf<"comprehensionExpr">,
  names: Names,
): ValueType {
  const { iterRange, accuInit, loopCondition, loopStep, result } = value;
  if (!iterRange || !accuInit || !loopCondition || !loopStep || !result) return ANY;
  const range = plainValue(check, iterRange, names);
  if (range.kind !== "any" && range.kind !== "list" && range.kind !== "map")
    wrong(check, expr, `${articled(range)} has no items to go through: a list or a map has`);
  const initial = plainValue(check, accuInit, names);
  const inside = new Map(names);
  inside.set(value.accuVar, initial);
  inside.set(value.iterVar, range.kind === "list" ? range.item : ANY);
  plainValue(check, loopCondition, inside);
  const step = plainValue(check, loopStep, inside);
  inside.set(value.accuVar, initial.kind === "list" ? step : initial);
  return plainValue(check, result, inside);
}
