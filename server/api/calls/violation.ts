// Describes violations of the proto's rules for a person: path, value, and what would be valid.
import type { Message } from "@bufbuild/protobuf";
import { type Path, pathToString } from "@bufbuild/protobuf/reflect";
import type { Violation } from "@bufbuild/protovalidate";
import type { FieldProblem } from "../../errors.ts";

const VALUE_CHARS_MAX = 60;

export function problemOf(root: Message, violation: Violation): FieldProblem {
  const path = pathToString(violation.field);
  const tooLarge = tooLargeInWords(root, violation);
  if (tooLarge !== null) return { path, message: tooLarge };
  const shown = violation.forKey ? lastKey(violation.field) : shownValue(root, violation.field);
  const rule = inWords(violation);
  return { path, message: shown === null ? rule : `${shown} ${rule}` };
}

function inWords(violation: Violation): string {
  const last = violation.field.at(-1);
  if (last?.kind === "oneof") return `give exactly one of ${last.fields.map(nameOf).join(", ")}`;
  if (violation.ruleId === "required") return "is missing: it is required";
  if (violation.ruleId === "string.pattern") return patternInWords(violation);
  if (violation.ruleId === "enum.defined_only")
    return `is unknown to this server: use one of ${enumNames(violation.field)}`;
  if (violation.ruleId === "enum.in" || violation.ruleId === "enum.not_in")
    return "is not allowed here: see the field's comment in the contract for the values";
  return violation.message;
}

const SIZES: Readonly<Record<string, string>> = {
  "repeated.max_items": "items",
  "map.max_pairs": "entries",
  "string.max_len": "characters",
  "string.max_bytes": "bytes",
  "bytes.max_len": "bytes",
};

/** How large the value is and how large it may be; null: that is not what is wrong. */
function tooLargeInWords(root: Message, violation: Violation): string | null {
  const unit = SIZES[violation.ruleId];
  const most = /\d+/.exec(violation.message)?.[0];
  if (unit === undefined || most === undefined || violation.forKey) return null;
  const value = valueAt(root, violation.field);
  const size = unit === "bytes" ? byteLength(value) : countOf(value);
  return size === null ? null : `has ${size} ${unit}, and may have ${most}: send fewer`;
}

function byteLength(value: unknown): number | null {
  if (typeof value === "string") return Buffer.byteLength(value);
  return value instanceof Uint8Array ? value.length : null;
}

/** Characters of a text as the rules count them, items of a list, entries of a map. */
function countOf(value: unknown): number | null {
  if (typeof value === "string") return [...value].length;
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : null;
}

function patternInWords(violation: Violation): string {
  const pattern = /`(.*)`/s.exec(violation.message)?.[1] ?? "";
  const subject = violation.forKey ? "is no good key: it must be" : "must be";
  const counted = /\{(\d+),(\d+)\}\$$/.exec(pattern);
  const range = counted ? `${counted[1]} to ${counted[2]} characters` : "";
  if (pattern.startsWith("^[A-Za-z0-9._-]"))
    return `${subject} ${range} of A-Z, a-z, 0-9, ".", "_" and "-"`;
  if (pattern.startsWith("^[^\\x00-\\x1f\\x7f]"))
    return `${subject} ${range} without control characters`;
  if (pattern.startsWith("^[\\x20-\\x7e]")) return `${subject} ${range} of printable ASCII`;
  if (pattern === "^[^\\x00]*$") return "must not contain NUL";
  return violation.message;
}

function enumNames(path: Path): string {
  const field = path.findLast((part) => part.kind === "field");
  if (!field?.enum) return "those in the contract";
  return field.enum.values
    .filter((value) => value.number !== 0)
    .map((value) => value.name)
    .join(", ");
}

function lastKey(path: Path): string | null {
  const last = path.at(-1);
  return last?.kind === "map_sub" ? quoted(String(last.key)) : null;
}

const nameOf = ({ name }: { readonly name: string }): string => name;

/** The invalid value, if it is a string, a number or a duration; long strings are cut. */
function shownValue(root: Message, path: Path): string | null {
  const value = valueAt(root, path);
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "number":
    case "bigint":
      return String(value);
    default:
      return isDuration(value) ? `${value.seconds}.${nanos(value.nanos)}s` : null;
  }
}

function valueAt(root: Message, path: Path): unknown {
  let value: unknown = root;
  for (const part of path) {
    if (part.kind === "list_sub") value = Array.isArray(value) ? value[part.index] : undefined;
    else if (part.kind === "map_sub") value = member(value, String(part.key));
    else if (part.kind === "field" && part.oneof)
      value = member(member(value, part.oneof.localName), "value");
    else if (part.kind === "field") value = member(value, part.localName);
    else return undefined;
  }
  return value;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function isDuration(value: unknown): value is { seconds: bigint; nanos: number } {
  return member(value, "$typeName") === "google.protobuf.Duration";
}

function nanos(count: number): string {
  return String(Math.abs(count)).padStart(9, "0").replace(/0+$/, "") || "0";
}

function quoted(text: string): string {
  const cut = text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
  return JSON.stringify(cut.toWellFormed());
}

/** Index of the batch item that a violation is below, as in `results[3].outcome`; null: none. */
export function itemOf(violation: Violation, itemField: string): number | null {
  const [first, second] = violation.field;
  const below = first?.kind === "field" && first.name === itemField && second?.kind === "list_sub";
  return below ? second.index : null;
}
