// The rules of protovalidate of a field, as words: `1 to 512 characters`, `at most 64 entries`.
import { type DescField, type DescMessage, type DescOneof, getOption } from "@bufbuild/protobuf";
import { type Duration, durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type FieldRules,
  field as fieldRules,
  message as messageRules,
  oneof as oneofRules,
  type StringRules,
  type TimestampRules,
} from "@drover/proto/buf/validate/validate_pb.ts";
import { words } from "./duration-words.ts";

export function rulesOfField(field: DescField): readonly string[] {
  return rulesOf(getOption(field, fieldRules));
}

/** What holds between the fields of a message. */
export function rulesOfMessage(message: DescMessage): readonly string[] {
  return getOption(message, messageRules).cel.map(({ message: text }) => text);
}

export function isRequired(oneof: DescOneof): boolean {
  return getOption(oneof, oneofRules).required;
}

function rulesOf(rules: FieldRules): readonly string[] {
  return [
    ...(rules.required ? ["required"] : []),
    ...ofType(rules),
    ...rules.cel.map(({ message }) => message),
  ];
}

function ofType({ type }: FieldRules): readonly string[] {
  switch (type.case) {
    case undefined:
      return [];
    case "string":
      return ofString(type.value);
    case "bytes": {
      const { len, maxLen } = type.value;
      return [...(len > 0n ? [`exactly ${len} bytes`] : []), ...span(0n, maxLen, "bytes")];
    }
    case "enum": {
      const { in: some, notIn } = type.value;
      if (some.length > 0) return [`one of the numbers ${some.join(", ")}`];
      return [notIn.includes(0) ? "a known value other than 0" : "a known value"];
    }
    case "repeated": {
      const { minItems, maxItems, unique, items } = type.value;
      const each = items ? rulesOf(items).map((rule) => `each: ${rule}`) : [];
      return [...span(minItems, maxItems, "items"), ...(unique ? ["no two equal"] : []), ...each];
    }
    case "map": {
      const { maxPairs, keys, values } = type.value;
      const ofKeys = keys ? rulesOf(keys).map((rule) => `keys: ${rule}`) : [];
      const ofValues = values ? rulesOf(values).map((rule) => `values: ${rule}`) : [];
      return [...span(0n, maxPairs, "entries"), ...ofKeys, ...ofValues];
    }
    case "duration":
      return bounds(type.value, (value: Duration) => words(durationMs(value)));
    case "timestamp":
      return ofTimestamp(type.value);
    case "int32":
    case "uint32":
    case "int64":
    case "uint64":
    case "double":
      return bounds<number | bigint>(type.value, (value) => value.toLocaleString("en"));
    default:
      throw new Error(`docs/field-rules.ts has no words for the rules of ${type.case}: add them`);
  }
}

function ofString(rules: StringRules): readonly string[] {
  const { minLen, maxLen, maxBytes, pattern, in: some, wellKnown } = rules;
  return [
    ...span(minLen, maxLen, "characters"),
    ...span(0n, maxBytes, "bytes"),
    ...(pattern === "" ? [] : [`matches \`${pattern}\``]),
    ...(some.length === 0 ? [] : [`one of ${some.map((one) => `\`${one}\``).join(", ")}`]),
    ...(wellKnown.case === "uuid" ? ["a UUID"] : []),
  ];
}

function ofTimestamp({ greaterThan, lessThan }: TimestampRules): readonly string[] {
  if (greaterThan.case !== "gte" || lessThan.case !== undefined)
    throw new Error("docs/field-rules.ts has words for the least time alone: add the others");
  return [`at least ${timestampDate(greaterThan.value).toISOString()}`];
}

/** 0n: not set. */
function span(least: bigint, most: bigint, what: string): readonly string[] {
  const from = least.toLocaleString("en");
  const to = most.toLocaleString("en");
  if (least > 0n && most > 0n) return [`${from} to ${to} ${what}`];
  if (least > 0n) return [`at least ${from} ${what}`];
  return most > 0n ? [`at most ${to} ${what}`] : [];
}

interface Bounds<Value> {
  readonly greaterThan: Bound<Value, "gt" | "gte">;
  readonly lessThan: Bound<Value, "lt" | "lte">;
}

type Bound<Value, Case extends string> =
  | { readonly case: Case; readonly value: Value }
  | { readonly case: undefined };

function bounds<Value>(of: Bounds<Value>, shown: (value: Value) => string): readonly string[] {
  const { greaterThan: from, lessThan: to } = of;
  if (from.case === "gte" && to.case === "lte")
    return [`${shown(from.value)} to ${shown(to.value)}`];
  return [
    ...(from.case ? [`${from.case === "gt" ? "more than" : "at least"} ${shown(from.value)}`] : []),
    ...(to.case ? [`${to.case === "lt" ? "less than" : "at most"} ${shown(to.value)}`] : []),
  ];
}
