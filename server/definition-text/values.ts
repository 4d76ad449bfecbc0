/**
 * Reads the single values of a workflow text: durations, words, numbers, and the JSON of an input.
 * Each function returns the value, or a description of the problem and of a valid value.
 */
import type { DescEnum } from "@bufbuild/protobuf";
import { isMap, isScalar, isSeq, type Node, type Scalar } from "yaml";
import {
  asNode,
  depthMax,
  entriesOf,
  forbiddenNode,
  joined,
  type TextDocument,
} from "./document.ts";
import { durationMs } from "./duration-text.ts";
import { type Place, shown, suggestion, type TextProblems } from "./problems.ts";

export type Value<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "problem"; readonly message: string };

const value = <T>(given: T): Value<T> => ({ kind: "value", value: given });
const problem = (message: string): Value<never> => ({ kind: "problem", message });

export function textValue(scalar: Scalar): Value<string> {
  if (typeof scalar.value === "string") return value(scalar.value);
  if (scalar.value === null) return problem("this is empty: write a value");
  const written = scalar.source ?? "";
  return problem(`${asShown(scalar)} must be text: put it in quotes, as ${shown(written)}`);
}

export function yesOrNo(scalar: Scalar): Value<boolean> {
  if (typeof scalar.value === "boolean") return value(scalar.value);
  return problem(`${asShown(scalar)} must be true or false`);
}

export function wholeNumber(scalar: Scalar): Value<number> {
  const given = scalar.value;
  if (typeof given !== "bigint") return problem(`${asShown(scalar)} must be a whole number, as 5`);
  if (given !== BigInt.asIntN(32, given))
    return problem(`${asShown(scalar)} is too large a number`);
  return value(Number(given));
}

export function anyNumber(scalar: Scalar): Value<number> {
  const number = typeof scalar.value === "bigint" ? Number(scalar.value) : scalar.value;
  if (typeof number === "number" && Number.isFinite(number)) return value(number);
  return problem(`${asShown(scalar)} must be a number, as 0.5`);
}

/** The limit of google.protobuf.Duration. The limit of each field is lower and in the proto. */
const durationSecondsMax = 315_576_000_000;
const durationExamples = "durations are written as 1h30m, 250ms, 30s or 7d";

/** A duration in the JSON form of google.protobuf.Duration, as `90.250s`. */
export function duration(scalar: Scalar): Value<string> {
  const given = scalar.value;
  if (typeof given === "bigint" || typeof given === "number")
    return problem(`${asShown(scalar)} needs a unit, as ${scalar.source}s: ${durationExamples}`);
  if (typeof given !== "string")
    return problem(`${asShown(scalar)} is no duration: ${durationExamples}`);
  if (/^-\s*[\d.]/.test(given))
    return problem(`${shown(given)} is negative: no time here can be; ${durationExamples}`);
  const ms = durationMs(given);
  if (ms === null) return problem(`${shown(given)} is no duration: ${durationExamples}`);
  const seconds = Math.floor(ms / 1_000);
  if (seconds > durationSecondsMax)
    return problem(`${shown(given)} is too long: no time here is longer than 3650d`);
  return value(`${seconds}.${String(ms % 1_000).padStart(3, "0")}s`);
}

/** The short lower-case names of an enum, as `idempotent` for EFFECTS_IDEMPOTENT. */
export function enumWords(desc: DescEnum): ReadonlyMap<string, string> {
  const prefix = desc.sharedPrefix?.toUpperCase() ?? "";
  return new Map(
    desc.values
      .filter(({ number }) => number !== 0)
      .map(({ name }) => [name.slice(prefix.length).toLowerCase(), name]),
  );
}

/** An enum value by its full name in the proto. */
export function enumValue(scalar: Scalar, desc: DescEnum): Value<string> {
  const words = enumWords(desc);
  const given = typeof scalar.value === "string" ? scalar.value : (scalar.source ?? "");
  const name = words.get(given);
  if (name !== undefined) return value(name);
  return problem(`${shown(given)} is not known here: ${suggestion(given, [...words.keys()])}`);
}

/** What the reading of a value needs and adds to. */
export interface ValueReading {
  readonly document: TextDocument;
  readonly problems: TextProblems;
  /** The position of each part of the value in the text, by its path as `steps[0].input.from`. */
  readonly places: Map<string, Place>;
}

/** An input as the JSON text that carries it; null if a problem was reported. */
export function jsonText(
  node: Node,
  path: string,
  { document, problems, places }: ValueReading,
): string | null {
  const before = problems.count;
  const fail = (at: Node, where: string, message: string): string => {
    problems.invalid(where, document.placeOf(at), message);
    return "";
  };
  const write = (at: Node | null, where: string, depth: number): string => {
    if (at === null) return "null";
    places.set(where, document.placeOf(at));
    const strange = forbiddenNode(at);
    if (strange !== null) return fail(at, where, strange);
    if (depth > depthMax)
      return fail(at, path, `this is nested too deeply: at most ${depthMax} levels are read`);
    if (isScalar(at)) {
      const text = jsonScalar(at);
      return text.kind === "value" ? text.value : fail(at, where, text.message);
    }
    if (isSeq(at)) {
      const items = at.items.map((item, i) => write(asNode(item), `${where}[${i}]`, depth + 1));
      return `[${items.join(",")}]`;
    }
    if (!isMap(at)) return fail(at, where, "this is neither text, number, list nor map");
    const members = entriesOf(at, where, document, problems).map(
      ({ key, value: member }) =>
        `${JSON.stringify(key)}:${write(member, joined(where, key), depth + 1)}`,
    );
    return `{${members.join(",")}}`;
  };
  const text = write(node, path, 1);
  return problems.count > before ? null : text;
}

function jsonScalar(scalar: Scalar): Value<string> {
  const given = scalar.value;
  if (typeof given === "bigint") return value(given.toString());
  if (given === null || typeof given === "string" || typeof given === "boolean")
    return value(JSON.stringify(given));
  if (typeof given === "number" && Number.isFinite(given)) return value(JSON.stringify(given));
  return problem(`${asShown(scalar)} cannot be said in JSON: write it as text, in quotes`);
}

function asShown(scalar: Scalar): string {
  return scalar.value === null ? "an empty value" : shown(scalar.source ?? String(scalar.value));
}
