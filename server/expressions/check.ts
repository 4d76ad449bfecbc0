// Checks an expression before it is evaluated: names that do not exist, steps that are not
// upstream, functions with arguments of a wrong type. The CEL library checks no types, so this file
// walks its tree; the library lists the functions and the types that they take.
import type { CelFunc } from "@bufbuild/cel";
import type { Constant, Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { nearestWord } from "../core/definition/nearest-word.ts";
import { functions, signOf } from "./environment.ts";
import type { Meter } from "./meter.ts";
import { qualifiedName } from "./metered.ts";
import { patternProblem } from "./pattern.ts";
import { checkStepName, type StepNames } from "./step-names.ts";
import type { Tree } from "./syntax.ts";
import {
  ANY,
  articled,
  commonType,
  type ExpressionScope,
  mayBe,
  mayEqual,
  nameOfType,
  runType,
  scalar,
  stepType,
  typeOfCel,
  type ValueType,
} from "./types.ts";

export interface Finding {
  readonly message: string;
  readonly at: number;
}

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

type Variables = ReadonlyMap<string, ValueType>;
type KindOf<C, K = Expr["exprKind"]> = K extends { case: C; value: infer V } ? V : never;

const BOOL = scalar("bool");
const typeNames = "int uint double bool string bytes list map null_type type".split(" ");

const macros: Readonly<Record<string, string>> = {
  has: "has() asks for a field: write has(input.name)",
  all: "write list.all(x, condition)",
  exists: "write list.exists(x, condition)",
  exists_one: "write list.exists_one(x, condition)",
  map: "write list.map(x, value) or list.map(x, condition, value)",
  filter: "write list.filter(x, condition)",
};

export function checkExpression(
  text: string,
  tree: Tree,
  scope: ExpressionScope,
  meter: Meter,
): Checked {
  const findings: Finding[] = [];
  const steps = new Set<string>();
  const outputs = new Set<string>();
  const used = new Set<string>();
  const stepNames: StepNames = { text, scope, allows: (id) => steps.add(id) };

  function wrong(expr: Expr, message: string, at = tree.offsetOf(expr.id)): ValueType {
    findings.push({ message, at });
    return ANY;
  }

  /**
   * The type of an expression used as a value. `steps` and records are names for fields, not
   * values.
   */
  function plainValue(expr: Expr, names: Variables): ValueType {
    const type = typeOf(expr, names);
    if (type.kind === "steps")
      return wrong(expr, 'steps is no value: name a step and a field, as steps["id"].output');
    if (type.kind === "record")
      return wrong(
        expr,
        `this is no value: name one of its fields ${[...type.fields.keys()].join(", ")}`,
      );
    return type;
  }

  function typeOf(expr: Expr, names: Variables): ValueType {
    const { exprKind } = expr;
    switch (exprKind.case) {
      case "constExpr":
        return constant(expr, exprKind.value);
      case "identExpr":
        return variable(expr, exprKind.value.name, names);
      case "selectExpr":
        return select(expr, exprKind.value, names);
      case "callExpr":
        return call(expr, exprKind.value, names);
      case "listExpr": {
        const items = exprKind.value.elements.map((item) => plainValue(item, names));
        return { kind: "list", item: items.length === 0 ? ANY : items.reduce(commonType) };
      }
      case "structExpr":
        return struct(expr, exprKind.value, names);
      case "comprehensionExpr":
        return fold(expr, exprKind.value, names);
      default:
        return wrong(expr, "this cannot be read as a value");
    }
  }

  function constant(expr: Expr, { constantKind }: Constant): ValueType {
    switch (constantKind.case) {
      case "int64Value":
        if (BigInt.asIntN(64, constantKind.value) === constantKind.value) return scalar("int");
        return wrong(expr, `${constantKind.value} does not fit into 64 bits`);
      case "uint64Value":
        if (BigInt.asUintN(64, constantKind.value) === constantKind.value) return scalar("uint");
        return wrong(expr, `${constantKind.value}u does not fit into 64 bits`);
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

  function variable(expr: Expr, name: string, names: Variables): ValueType {
    const type = names.get(name);
    if (type) {
      if (globals.get(name) === type) used.add(name);
      return type;
    }
    if (typeNames.includes(name)) return scalar("type");
    if (name === "item") return wrong(expr, "there is an item only in the steps of a map");
    const known = [...names.keys()].filter((word) => !word.startsWith("@"));
    const near = nearestWord(name, known);
    return wrong(
      expr,
      `there is no "${name}": ${near ? `did you mean ${near}?` : `${known.join(", ")} can be used; a text is written in quotes`}`,
    );
  }

  function select(expr: Expr, value: KindOf<"selectExpr">, names: Variables): ValueType {
    const { operand, field, testOnly } = value;
    if (!operand) return ANY;
    const of = typeOf(operand, names);
    const at = tree.offsetOf(expr.id);
    const type = fieldType(expr, operand, of, field, textAfterDot(at));
    if (!testOnly) return type;
    if (of.kind === "record" && of.fields.has(field))
      wrong(expr, `${field} is always there, so has() says nothing: compare it with null or ""`);
    return BOOL;
  }

  function textAfterDot(at: number): number {
    return text[at] === "." ? at + 1 + (/^\s*/.exec(text.slice(at + 1))?.[0].length ?? 0) : at;
  }

  function fieldType(
    expr: Expr,
    operand: Expr,
    of: ValueType,
    field: string,
    at: number,
  ): ValueType {
    if (of.kind === "any") return ANY;
    if (of.kind === "map") return of.value;
    if (of.kind === "steps") {
      const message = checkStepName(field, at, stepNames);
      return message ? wrong(expr, message, at) : stepType;
    }
    if (of.kind !== "record") return wrong(expr, `${articled(of)} has no field "${field}"`, at);
    const type = of.fields.get(field);
    const step = stepOf(operand);
    if (type) {
      if (step !== null && field === "output") outputs.add(step);
      return type;
    }
    const hidden = step === null ? null : checkStepName(step, at, stepNames, field);
    const known = [...of.fields.keys()];
    const near = nearestWord(field, known);
    const hint = near ? `did you mean ${near}?` : `the fields are ${known.join(", ")}`;
    return wrong(expr, hidden ?? `there is no "${field}" here: ${hint}`, at);
  }

  /** The id of the step that `steps.id` or `steps["id"]` names. */
  function stepOf({ exprKind }: Expr): string | null {
    if (exprKind.case === "selectExpr") return exprKind.value.field;
    if (exprKind.case !== "callExpr") return null;
    const [of, key] = exprKind.value.args;
    const isSteps = of?.exprKind.case === "identExpr" && of.exprKind.value.name === "steps";
    return isSteps && key ? textOf(key) : null;
  }

  function call(expr: Expr, value: KindOf<"callExpr">, names: Variables): ValueType {
    const [first, second, third] = value.args;
    switch (value.function) {
      case "_[_]":
        return first && second ? index(expr, first, second, names) : ANY;
      case "_&&_":
      case "_||_":
        for (const arg of value.args) mustBeBool(arg, names, `beside ${signOf(value.function)}`);
        return BOOL;
      case "@not_strictly_false":
        return first ? plainValue(first, names) : ANY;
      case "_?_:_":
        if (!first || !second || !third) return ANY;
        mustBeBool(first, names, "as a condition");
        return commonType(plainValue(second, names), plainValue(third, names));
      default:
        return functionCall(expr, value, names);
    }
  }

  function mustBeBool(expr: Expr, names: Variables, where: string): void {
    const type = plainValue(expr, names);
    if (!mayBe(type, BOOL))
      wrong(expr, `${articled(type)} stands ${where}, where a bool is needed`);
  }

  function index(expr: Expr, first: Expr, second: Expr, names: Variables): ValueType {
    const of = typeOf(first, names);
    if (of.kind === "steps") {
      const id = textOf(second);
      if (id === null) return wrong(second, 'name the step by its id in quotes: steps["id"]');
      const at = tree.offsetOf(second.id);
      const message = checkStepName(id, at, stepNames);
      return message ? wrong(second, message) : stepType;
    }
    if (of.kind === "record") {
      const field = textOf(second);
      if (field === null) return wrong(second, "name the field in quotes, or behind a dot");
      return fieldType(expr, first, of, field, tree.offsetOf(second.id));
    }
    const key = plainValue(second, names);
    if (of.kind === "any") return ANY;
    if (of.kind === "map") return of.value;
    if (of.kind !== "list") return wrong(expr, `${articled(of)} has no items`);
    if (["any", "int", "uint", "double"].includes(nameOfType(key))) return of.item;
    return wrong(second, `${articled(key)} is no index of a list: write a number from 0`);
  }

  function struct(expr: Expr, value: KindOf<"structExpr">, names: Variables): ValueType {
    if (value.messageName)
      return wrong(expr, `there is no message ${value.messageName}: write a map, as {"a": 1}`);
    const types = value.entries.flatMap(({ keyKind, value: item }) => {
      if (keyKind.case === "mapKey") {
        const key = plainValue(keyKind.value, names);
        if (!["any", "string", "int", "uint", "bool"].includes(nameOfType(key)))
          wrong(keyKind.value, `${articled(key)} is no key: put the name in quotes`);
      }
      return item ? [plainValue(item, names)] : [];
    });
    return { kind: "map", value: types.length === 0 ? ANY : types.reduce(commonType) };
  }

  function fold(expr: Expr, value: KindOf<"comprehensionExpr">, names: Variables): ValueType {
    const { iterRange, accuInit, loopCondition, loopStep, result } = value;
    if (!iterRange || !accuInit || !loopCondition || !loopStep || !result) return ANY;
    const range = plainValue(iterRange, names);
    if (range.kind !== "any" && range.kind !== "list" && range.kind !== "map")
      wrong(expr, `${articled(range)} has no items to go through: a list or a map has`);
    const begun = plainValue(accuInit, names);
    const inside = new Map(names);
    inside.set(value.accuVar, begun);
    inside.set(value.iterVar, range.kind === "list" ? range.item : ANY);
    plainValue(loopCondition, inside);
    const step = plainValue(loopStep, inside);
    inside.set(value.accuVar, begun.kind === "list" ? step : begun);
    return plainValue(result, inside);
  }

  function functionCall(expr: Expr, value: KindOf<"callExpr">, names: Variables): ValueType {
    const qualified = qualifiedName(value);
    const name = qualified ?? value.function;
    const target = qualified ? undefined : value.target;
    const given = target ? [plainValue(target, names)] : [];
    for (const arg of value.args) given.push(plainValue(arg, names));
    const overloads = [...(functions.find(name) ?? [])].filter(
      (overload) => (overload.target !== undefined) === (target !== undefined),
    );
    if (overloads.length === 0) return wrong(expr, unknownFunction(name, target !== undefined));
    const fitting = overloads.filter((overload) => {
      const wanted = parametersOf(overload);
      return (
        wanted.length === given.length && wanted.every((type, no) => mayBe(given[no] ?? ANY, type))
      );
    });
    if (fitting.length === 0) return wrong(expr, notTaken(name, given, overloads));
    if (name === "matches") checkPattern(value.args.at(-1));
    if (name === "_==_" || name === "_!=_") checkComparison(expr, value.args, given);
    if (name === "dyn") return ANY;
    return fitting.map(({ result }) => typeOfCel(result)).reduce(commonType);
  }

  function checkPattern(pattern: Expr | undefined): void {
    const source = pattern ? textOf(pattern) : null;
    if (!pattern || source === null) return;
    const message = patternProblem(source, meter);
    if (message) wrong(pattern, message);
  }

  function checkComparison(expr: Expr, args: readonly Expr[], types: readonly ValueType[]): void {
    const [left = ANY, right = ANY] = types;
    if (!mayEqual(left, right))
      wrong(expr, `${articled(left)} is never equal to ${articled(right)}`);
    types.forEach((type, no) => {
      const other = args[1 - no];
      const word = other ? textOf(other) : null;
      if (type.kind !== "word" || !other || word === null || type.words.includes(word)) return;
      const near = nearestWord(word, type.words);
      const hint = near ? `did you mean "${near}"?` : `there are ${type.words.join(", ")}`;
      wrong(other, `"${word}" is no ${type.what}: ${hint}`);
    });
  }

  const globals =
    scope.names ??
    new Map<string, ValueType>([
      ["input", { ...ANY }],
      ["run", runType],
      ["steps", { kind: "steps" }],
      ...(scope.hasItem ? [["item", { ...ANY }] as const] : []),
    ]);
  const type = plainValue(tree.root, globals);
  findings.sort((one, other) => one.at - other.at);
  return {
    type,
    findings,
    refers: { steps: [...steps], outputs: [...outputs], variables: [...used] },
  };
}

function textOf({ exprKind }: Expr): string | null {
  if (exprKind.case !== "constExpr") return null;
  const { constantKind } = exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : null;
}

function parametersOf({ target, arguments: parameters }: CelFunc): readonly ValueType[] {
  return [...(target ? [target] : []), ...parameters].map(typeOfCel);
}

function unknownFunction(name: string, isMethod: boolean): string {
  const usage = macros[name];
  if (usage) return usage;
  const all = [...functions].filter(({ name: other }) => /^[a-zA-Z.]+$/.test(other));
  const known = [
    ...all.filter(({ target }) => (target !== undefined) === isMethod).map((one) => one.name),
    ...(isMethod ? Object.keys(macros).filter((macro) => macro !== "has") : ["has"]),
  ];
  const near = nearestWord(name, [...new Set(known)]);
  if (near) return `there is no function ${name}: did you mean ${near}?`;
  const other = all.find((one) => one.name === name);
  if (other) return isMethod ? `write ${name}(value)` : `write value.${name}(...)`;
  return `there is no function ${name}: there are ${[...new Set(known)].sort().join(", ")}`;
}

function notTaken(
  name: string,
  given: readonly ValueType[],
  overloads: readonly CelFunc[],
): string {
  const isSign = !/^[a-zA-Z.]+$/.test(name);
  const listed = (types: readonly ValueType[]) =>
    types.length === 0
      ? "nothing"
      : types.map(nameOfType).join(isSign ? ` ${signOf(name)} ` : ", ");
  const wanted = new Set(overloads.map((overload) => listed(parametersOf(overload))));
  const shown = [...wanted].slice(0, 8).join("; ");
  return `${signOf(name)} does not take ${given.map(nameOfType).join(" and ")}: it takes ${shown}`;
}
