// The types of fields and items: which steps and fields there are, and what can be an index.

import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { nearestWord } from "../core/definition/nearest-word.ts";
import { type Check, literalText, wrong, wrongAt } from "./check-state.ts";
import { checkStepName } from "./step-names.ts";
import { ANY, articled, nameOfType, stepType, type ValueType } from "./types.ts";

interface FieldAccess {
  readonly operand: Expr;
  /** The type of the operand. */
  readonly of: ValueType;
  readonly field: string;
  /** Offset of the field's name in the text. */
  readonly at: number;
}

export function fieldType(check: Check, access: FieldAccess): ValueType {
  const { of, field, at } = access;
  switch (of.kind) {
    case "any":
      return ANY;
    case "map":
      return of.value;
    case "steps":
      return namedStep(check, field, at);
    case "record":
      return recordField(check, access, of.fields);
    default:
      return wrongAt(check, at, `${articled(of)} has no field "${field}"`);
  }
}

function namedStep(check: Check, id: string, at: number): ValueType {
  const problem = checkStepName(id, at, check);
  if (problem) return wrongAt(check, at, problem);
  check.steps.add(id);
  return stepType;
}

function recordField(
  check: Check,
  { operand, field, at }: FieldAccess,
  fields: ReadonlyMap<string, ValueType>,
): ValueType {
  const step = stepOf(operand);
  const type = fields.get(field);
  if (type) {
    if (step !== null && field === "output") check.outputs.add(step);
    return type;
  }
  const longerId = step === null ? null : checkStepName(step, at, check, field);
  const known = [...fields.keys()];
  const near = nearestWord(field, known);
  const hint = near ? `did you mean ${near}?` : `the fields are ${known.join(", ")}`;
  return wrongAt(check, at, longerId ?? `there is no "${field}" here: ${hint}`);
}

/** The id of the step that `steps.id` or `steps["id"]` names. */
function stepOf({ exprKind }: Expr): string | null {
  if (exprKind.case === "selectExpr") return exprKind.value.field;
  if (exprKind.case !== "callExpr") return null;
  const [of, key] = exprKind.value.args;
  const isSteps = of?.exprKind.case === "identExpr" && of.exprKind.value.name === "steps";
  return isSteps && key ? literalText(key) : null;
}

/** The offset of the field's name, from the offset of the dot in front of it. */
export function afterDot(text: string, at: number): number {
  return text[at] === "." ? at + 1 + (/^\s*/.exec(text.slice(at + 1))?.[0].length ?? 0) : at;
}

/** A field whose name is written in brackets, as in `steps["id"]`. */
export function quotedField(check: Check, operand: Expr, of: ValueType, key: Expr): ValueType {
  const field = literalText(key);
  if (field !== null)
    return fieldType(check, { operand, of, field, at: check.tree.offsetOf(key.id) });
  return of.kind === "steps"
    ? wrong(check, key, 'name the step by its id in quotes: steps["id"]')
    : wrong(check, key, "name the field in quotes, or behind a dot");
}

interface ItemAccess {
  readonly expr: Expr;
  /** The type of the list or map. */
  readonly of: ValueType;
  readonly key: Expr;
  readonly keyType: ValueType;
}

export function itemType(check: Check, { expr, of, key, keyType }: ItemAccess): ValueType {
  if (of.kind === "any") return ANY;
  if (of.kind === "map") return of.value;
  if (of.kind !== "list") return wrong(check, expr, `${articled(of)} has no items`);
  if (["any", "int", "uint", "double"].includes(nameOfType(keyType))) return of.item;
  return wrong(check, key, `${articled(keyType)} is no index of a list: write a number from 0`);
}
