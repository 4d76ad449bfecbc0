// What is known of values before there are any. JSON is "any": a workflow says nothing of the form
// of its input, unless a schema does, which is asked when the value is there.
import type { CelType } from "@bufbuild/cel";
import { plainType } from "./environment.ts";

export type ScalarName =
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
  /** A text that is one of a few words. */
  | { readonly kind: "word"; readonly what: string; readonly words: readonly string[] }
  | { readonly kind: "list"; readonly item: ValueType }
  | { readonly kind: "map"; readonly value: ValueType }
  /** A name with known fields, which is no value by itself. */
  | { readonly kind: "record"; readonly fields: ReadonlyMap<string, ValueType> }
  /** `steps`, whose fields are the steps that may be referred to. */
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

/** Whether a value of the one type may be one of the other: false only where it never is. */
export function mayBe(type: ValueType, wanted: ValueType): boolean {
  if (type.kind === "any" || wanted.kind === "any") return true;
  if (type.kind === "list" && wanted.kind === "list") return mayBe(type.item, wanted.item);
  if (type.kind === "map" && wanted.kind === "map") return mayBe(type.value, wanted.value);
  return nameOfType(type) === nameOfType(wanted);
}

const numbers = new Set(["int", "uint", "double"]);

/** Numbers of any kind are compared by value; other values of two kinds are never equal. */
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

/** What an expression may name. */
export interface ExpressionScope {
  /** Ids of the steps that it may refer to: those that are final before it is evaluated. */
  readonly steps: readonly string[];
  /**
   * Ids of every step of the workflow, so that one that is not upstream is told from a mistyped
   * one.
   */
  readonly allSteps: readonly string[];
  /** Whether there is an `item`: within a map alone. */
  readonly hasItem: boolean;
  /** What there is instead of a run's `input`, `run` and `steps`: outside of a workflow. */
  readonly names?: ReadonlyMap<string, ValueType>;
}

export const STEP_STATUSES = ["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"] as const;
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
