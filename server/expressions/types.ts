// The types of values before evaluation. JSON is "any": a workflow does not declare the form of its
// input, unless by a schema, which is checked when the value is there.
import type { CelType } from "@bufbuild/cel";
import { plainType } from "./environment.ts";

type ScalarName =
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "null"
  | "timestamp"
  | "duration"
  | "type";

export type ValueType =
  | { readonly kind: "any" }
  | { readonly kind: "scalar"; readonly name: ScalarName }
  /** A text with one of a few known values. */
  | { readonly kind: "word"; readonly what: string; readonly words: readonly string[] }
  | { readonly kind: "list"; readonly item: ValueType }
  | { readonly kind: "map"; readonly value: ValueType }
  /** A name with known fields that is no value by itself. */
  | { readonly kind: "record"; readonly fields: ReadonlyMap<string, ValueType> }
  /** `steps`; its fields are the steps that may be referred to. */
  | { readonly kind: "steps" };

export const ANY: ValueType = Object.freeze({ kind: "any" });

const scalars = new Set<string>(
  "bool int uint double string bytes null timestamp duration type".split(" "),
);

function isScalarName(name: string): name is ScalarName {
  return scalars.has(name);
}

export function scalar(name: ScalarName): ValueType {
  return { kind: "scalar", name };
}

export function typeOfCel(type: CelType): ValueType {
  if (type.kind === "list") return { kind: "list", item: typeOfCel(type.element) };
  if (type.kind === "map") return { kind: "map", value: typeOfCel(type.value) };
  const name = plainType(type.name);
  return isScalarName(name) ? scalar(name) : ANY;
}

export function nameOfType(type: ValueType): string {
  switch (type.kind) {
    case "scalar":
      return type.name;
    case "word":
      return "string";
    case "list":
    case "map":
    case "any":
      return type.kind;
    default:
      return "record";
  }
}

export function articled(type: ValueType): string {
  const name = nameOfType(type);
  return name === "null" || name === "any" ? name : `${name === "int" ? "an" : "a"} ${name}`;
}

/** Whether a value of type `type` can also be one of `wanted`: false only if it never can. */
export function mayBe(type: ValueType, wanted: ValueType): boolean {
  if (type.kind === "any" || wanted.kind === "any") return true;
  if (type.kind === "list" && wanted.kind === "list") return mayBe(type.item, wanted.item);
  if (type.kind === "map" && wanted.kind === "map") return mayBe(type.value, wanted.value);
  return nameOfType(type) === nameOfType(wanted);
}

const numbers = new Set(["int", "uint", "double"]);

/** Numbers of any kind are compared by value; other values of different kinds are never equal. */
export function mayEqual(left: ValueType, right: ValueType): boolean {
  if (mayBe(left, right)) return true;
  if (left.kind === "list" && right.kind === "list") return mayEqual(left.item, right.item);
  if (left.kind === "map" && right.kind === "map") return mayEqual(left.value, right.value);
  const names = [nameOfType(left), nameOfType(right)];
  return names.every((name) => numbers.has(name)) || names.includes("null");
}

export function commonType(left: ValueType, right: ValueType): ValueType {
  return left.kind === right.kind && nameOfType(left) === nameOfType(right) ? left : ANY;
}

/** The names that an expression may use. */
export interface ExpressionScope {
  /** Ids of the steps that it may refer to: those that are final before it is evaluated. */
  readonly steps: readonly string[];
  /**
   * Ids of all steps of the workflow, to distinguish a step that is not upstream from a mistyped
   * one.
   */
  readonly allSteps: readonly string[];
  /** Whether there is an `item`: only inside a map. */
  readonly hasItem: boolean;
  /** Outside of a workflow: the names that replace a run's `input`, `run` and `steps`. */
  readonly names?: ReadonlyMap<string, ValueType>;
}

const STEP_STATUSES = ["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export const runType: ValueType = {
  kind: "record",
  fields: new Map([
    ["id", scalar("string")],
    ["workflow", scalar("string")],
    ["version", scalar("int")],
    ["labels", { kind: "map", value: scalar("string") }],
    ["key", scalar("string")],
    ["created_time", scalar("timestamp")],
  ]),
};

export const stepType: ValueType = {
  kind: "record",
  fields: new Map<string, ValueType>([
    ["output", ANY],
    ["status", { kind: "word", what: "status of a step", words: STEP_STATUSES }],
    ["error", ANY],
  ]),
};
