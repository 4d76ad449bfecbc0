// The greatest values that the rules of the contract allow, read from the contract itself: a limit
// that stands there is written nowhere else.
import { type DescField, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { type FieldRules, field as rulesOf } from "@drover/proto/buf/validate/validate_pb.ts";

/** What a rule bounds: the field's own value, its items, or the keys or values of a map. */
type ContractLimit =
  | { readonly kind: "items"; readonly max: number }
  | { readonly kind: "pairs"; readonly max: number }
  | { readonly kind: "characters"; readonly max: number }
  | { readonly kind: "bytes"; readonly max: number }
  | { readonly kind: "number"; readonly max: number }
  | { readonly kind: "duration"; readonly max: number };

/** In milliseconds if it is a duration; null: the rules of the field bound nothing. */
export function contractLimit(field: DescField): ContractLimit | null {
  if (!hasOption(field, rulesOf)) return null;
  return limitOf(getOption(field, rulesOf));
}

/** The limit of a field by its name in the contract. Throws if it has none. */
export function contractMax(message: DescMessage, name: string): number {
  const field = message.fields.find((one) => one.name === name);
  const limit = field ? contractLimit(field) : null;
  if (limit === null) throw new Error(`${message.typeName}.${name} has no limit in the contract`);
  return limit.max;
}

function limitOf({ type }: FieldRules): ContractLimit | null {
  switch (type.case) {
    case "repeated":
      return found("items", type.value.maxItems);
    case "map":
      return found("pairs", type.value.maxPairs);
    case "string":
      return (
        found("bytes", type.value.maxBytes) ??
        found("characters", type.value.maxLen) ??
        found("characters", patternMax(type.value.pattern))
      );
    case "bytes":
      return found("bytes", type.value.maxLen);
    case "int32":
    case "int64":
    case "uint32":
    case "uint64":
    case "double":
      return type.value.lessThan.case === "lte" ? found("number", type.value.lessThan.value) : null;
    case "duration": {
      if (type.value.lessThan.case !== "lte") return null;
      const { seconds, nanos } = type.value.lessThan.value;
      return { kind: "duration", max: Number(seconds) * 1_000 + nanos / 1_000_000 };
    }
    default:
      return null;
  }
}

function found(kind: ContractLimit["kind"], max: number | bigint | null): ContractLimit | null {
  return max === null || Number(max) === 0 ? null : { kind, max: Number(max) };
}

/** The characters that a pattern like `^[a-z]{1,64}$` allows; null: it bounds none. */
function patternMax(pattern: string): number | null {
  const [, most] = /\{\d+,(\d+)\}\$?$/.exec(pattern) ?? [];
  return most === undefined ? null : Number(most);
}
