// The types of calls: whether there is such a function, whether it takes what it is given, and
// arguments that can never be right. The library lists the functions and the types that they take.
import type { CelFunc } from "@bufbuild/cel";
import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { nearestWord } from "../core/definition/nearest-word.ts";
import { type Check, literalText, wrong } from "./check-state.ts";
import { functions, signOf } from "./environment.ts";
import { patternProblem } from "./pattern.ts";
import {
  ANY,
  articled,
  commonType,
  mayBe,
  mayEqual,
  nameOfType,
  typeOfCel,
  type ValueType,
} from "./types.ts";

interface FunctionCall {
  readonly expr: Expr;
  readonly name: string;
  readonly isMethod: boolean;
  readonly args: readonly Expr[];
  /** The types of the arguments, behind that of the value whose method it is. */
  readonly given: readonly ValueType[];
}

const macros: Readonly<Record<string, string>> = {
  has: "has() asks for a field: write has(input.name)",
  all: "write list.all(x, condition)",
  exists: "write list.exists(x, condition)",
  exists_one: "write list.exists_one(x, condition)",
  map: "write list.map(x, value) or list.map(x, condition, value)",
  filter: "write list.filter(x, condition)",
};

export function callType(check: Check, call: FunctionCall): ValueType {
  const { expr, name, isMethod, args, given } = call;
  const overloads = [...(functions.find(name) ?? [])].filter(
    ({ target }) => (target !== undefined) === isMethod,
  );
  if (overloads.length === 0) return wrong(check, expr, unknownFunction(name, isMethod));
  const fitting = overloads.filter((overload) => takes(overload, given));
  if (fitting.length === 0) return wrong(check, expr, notTaken(name, given, overloads));
  if (name === "matches") checkPattern(check, args.at(-1));
  if (name === "_==_" || name === "_!=_") checkComparison(check, call);
  if (name === "dyn") return ANY;
  return fitting.map(({ result }) => typeOfCel(result)).reduce(commonType);
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

function takes(overload: CelFunc, given: readonly ValueType[]): boolean {
  const wanted = parametersOf(overload);
  return (
    wanted.length === given.length && wanted.every((type, no) => mayBe(given[no] ?? ANY, type))
  );
}

function parametersOf({ target, arguments: parameters }: CelFunc): readonly ValueType[] {
  return [...(target ? [target] : []), ...parameters].map(typeOfCel);
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

function checkPattern(check: Check, pattern: Expr | undefined): void {
  const source = pattern ? literalText(pattern) : null;
  if (!pattern || source === null) return;
  const problem = patternProblem(source, check.meter);
  if (problem) wrong(check, pattern, problem);
}

function checkComparison(check: Check, { expr, args, given }: FunctionCall): void {
  const [left = ANY, right = ANY] = given;
  if (!mayEqual(left, right))
    wrong(check, expr, `${articled(left)} is never equal to ${articled(right)}`);
  given.forEach((type, no) => {
    const other = args[1 - no];
    const word = other ? literalText(other) : null;
    if (type.kind !== "word" || !other || word === null || type.words.includes(word)) return;
    const near = nearestWord(word, type.words);
    const hint = near ? `did you mean "${near}"?` : `there are ${type.words.join(", ")}`;
    wrong(check, other, `"${word}" is no ${type.what}: ${hint}`);
  });
}
