/**
 * Reads the single values of a text: durations, words, and numbers.
 * Each function returns the value, or a description of the problem and of a valid value.
 */
import type { DescEnum } from "@bufbuild/protobuf";
import type { Scalar } from "yaml";
import { durationMs } from "../duration-text.ts";
import { shown, suggestion } from "./problems.ts";

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

/** In milliseconds. */
export function duration(scalar: Scalar): Value<number> {
  const given = scalar.value;
  if (typeof given === "bigint" || typeof given === "number")
    return problem(`${asShown(scalar)} needs a unit, as ${scalar.source}s: ${durationExamples}`);
  if (typeof given !== "string")
    return problem(`${asShown(scalar)} is no duration: ${durationExamples}`);
  if (/^-\s*[\d.]/.test(given))
    return problem(`${shown(given)} is negative: no time here can be; ${durationExamples}`);
  const ms = durationMs(given);
  if (ms === null) return problem(`${shown(given)} is no duration: ${durationExamples}`);
  if (Math.floor(ms / 1_000) > durationSecondsMax)
    return problem(`${shown(given)} is too long: no time here is longer than 3650d`);
  return value(ms);
}

/** A duration in the JSON form of google.protobuf.Duration, as `90.250s`. */
export function protoDuration(scalar: Scalar): Value<string> {
  const ms = duration(scalar);
  if (ms.kind === "problem") return ms;
  const seconds = Math.floor(ms.value / 1_000);
  return value(`${seconds}.${String(ms.value % 1_000).padStart(3, "0")}s`);
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

/** As the text of a JSON value. */
export function jsonScalar(scalar: Scalar): Value<string> {
  const given = scalar.value;
  if (typeof given === "bigint") return value(given.toString());
  if (given === null || typeof given === "string" || typeof given === "boolean")
    return value(JSON.stringify(given));
  if (typeof given === "number" && Number.isFinite(given)) return value(JSON.stringify(given));
  return problem(`${asShown(scalar)} cannot be written in JSON: write it as text, in quotes`);
}

function asShown(scalar: Scalar): string {
  return scalar.value === null ? "an empty value" : shown(scalar.source ?? String(scalar.value));
}
