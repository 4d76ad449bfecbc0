// Random requests of any RPC, made from its descriptor and the rules of protovalidate: most fields
// are valid, some just miss a rule, some are wild. Names of fields choose among planted objects, so
// that calls reach what is behind the checks.
import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  isMessage,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { type FieldRules, field as fieldOption } from "@drover/proto/buf/validate/validate_pb.ts";
import {
  TaskStepSchema,
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import fc from "fast-check";
import type { Chance } from "../../simulator/chance.ts";

/** By the name of a field: values that mean something to this server. */
export type Words = Readonly<Record<string, readonly (string | Uint8Array)[]>>;

export interface Style {
  readonly words: Words;
  /** The probability that a field breaks a rule, or is wild. */
  readonly wrong: number;
  /** The probability that a field that may be left out is set. */
  readonly full: number;
}

const DEPTH_MAX = 7;
const TEXT_MAX = 4_000;

/** Any message of this type; below DEPTH_MAX nothing that may be left out is set. */
export function randomMessage(desc: DescMessage, chance: Chance, style: Style, depth = 0): Message {
  const message = create(desc);
  const goes = (field: DescField) =>
    rulesOf(field)?.required
      ? !chance.happens(style.wrong)
      : chance.happens(depth > DEPTH_MAX ? 0 : style.full / (1 + depth / 4));
  for (const field of desc.fields)
    if (!field.oneof && goes(field)) put(message, field.localName, contentOf(field));
  for (const oneof of desc.oneofs) {
    if (chance.happens(style.wrong)) continue;
    const shallow = oneof.fields.filter(
      ({ fieldKind }) => depth < DEPTH_MAX || fieldKind !== "message",
    );
    const field = chance.pick(shallow.length > 0 ? shallow : oneof.fields);
    put(message, oneof.localName, { case: field.localName, value: contentOf(field) });
  }
  return message;

  function contentOf(field: DescField): unknown {
    return fieldValue(field, chance, style, depth);
  }
}

function put(message: Message, name: string, value: unknown): void {
  if (value !== undefined) Reflect.set(message, name, value);
}

function rulesOf(field: DescField): FieldRules | undefined {
  return getOption(field, fieldOption);
}

function fieldValue(field: DescField, chance: Chance, style: Style, depth: number): unknown {
  const rules = rulesOf(field);
  const off = () => chance.happens(style.wrong);
  switch (field.fieldKind) {
    case "message":
      return messageValue(field.message, rules, chance, style, depth);
    case "enum":
      return off() ? chance.pick([99, -1, 2 ** 31 - 1, 0]) : chance.pick(field.enum.values).number;
    case "scalar":
      return scalarValue(field.name, field.scalar, rules, chance, style);
    case "list": {
      const of = rules?.type.case === "repeated" ? rules.type.value : undefined;
      const items = field.message || depth > 3 ? 2 : 5;
      const count = off()
        ? chance.pick([0, Math.min(Number(of?.maxItems ?? 50), 1_000) + 1])
        : Math.max(Number(of?.minItems ?? 0), chance.between(0, items));
      const made = Array.from({ length: count }, () => {
        // Of many items only a few need to be deep.
        const below = count > 10 ? DEPTH_MAX : depth + 1;
        if (field.listKind === "message")
          return messageValue(field.message, of?.items, chance, style, below);
        if (field.listKind === "enum") return chance.pick(field.enum.values).number;
        return scalarValue(field.name, field.scalar, of?.items, chance, style);
      });
      return off() ? made.concat(made) : made;
    }
    case "map": {
      const of = rules?.type.case === "map" ? rules.type.value : undefined;
      const count = off() ? Number(of?.maxPairs ?? 64) + 1 : chance.between(0, 3);
      const pairs = Array.from({ length: count }, (_, index) => {
        const key = scalarValue("", field.mapKey, of?.keys, chance, style);
        const value =
          field.mapKind === "message"
            ? messageValue(field.message, of?.values, chance, style, depth + 1)
            : field.mapKind === "enum"
              ? chance.pick(field.enum.values).number
              : scalarValue(field.name, field.scalar, of?.values, chance, style);
        return [count > 10 ? `${index}` : String(key), value] as const;
      });
      return Object.fromEntries(pairs);
    }
  }
}

const YEAR_SECONDS = 31_557_600n;

function messageValue(
  desc: DescMessage,
  rules: FieldRules | undefined,
  chance: Chance,
  style: Style,
  depth: number,
): Message {
  const off = chance.happens(style.wrong);
  if (
    desc.typeName === "google.protobuf.Duration" ||
    desc.typeName === "google.protobuf.Timestamp"
  ) {
    const made = create(desc);
    const isTime = desc.typeName.endsWith("Timestamp");
    const [low, high] = secondsOf(rules, isTime);
    const seconds = off
      ? chance.pick([
          low - 1n,
          high + 1n,
          -1n,
          2n ** 62n,
          -(2n ** 62n),
          315_576_000_000n,
          253_402_300_800n,
        ])
      : chance.pick([
          low,
          high,
          low + BigInt(chance.between(0, 60)),
          isTime ? 1_767_225_600n : low + 1n,
        ]);
    put(made, "seconds", seconds);
    put(
      made,
      "nanos",
      off
        ? chance.pick([-1, 999_999_999, 2 ** 30, -999_999_999])
        : chance.pick([0, 0, 1, 500_000_000]),
    );
    return made;
  }
  const made = randomMessage(desc, chance, style, depth + 1);
  if (isMessage(made, WorkflowDefinitionSchema) && !off) makePlausible(made, chance);
  return made;
}

/** Ids and needs of independent random steps would hardly ever go together. */
function makePlausible({ steps }: WorkflowDefinition, chance: Chance): void {
  for (const [index, step] of steps.entries()) {
    step.id = `s${index}`;
    step.needs = index > 0 && chance.happens(0.6) ? [`s${chance.between(0, index - 1)}`] : [];
    if (chance.happens(0.5))
      step.kind = { case: "task", value: create(TaskStepSchema, { name: "t" }) };
    if (chance.happens(0.7)) step.when = "";
    if (chance.happens(0.7)) step.always = step.pivot = false;
    if (chance.happens(0.7)) delete step.outputSchema;
    if (chance.happens(0.5)) step.fallback = [];
  }
}

function secondsOf(rules: FieldRules | undefined, isTime: boolean): readonly [bigint, bigint] {
  const of = rules?.type;
  if (of?.case !== "duration") return isTime ? [0n, 253_402_300_799n] : [0n, 100n * YEAR_SECONDS];
  const { greaterThan, lessThan } = of.value;
  const low = greaterThan.case === undefined ? 0n : greaterThan.value.seconds;
  const high = lessThan.case === undefined ? 100n * YEAR_SECONDS : lessThan.value.seconds;
  return [low, high];
}

const BOUNDS: Readonly<Partial<Record<ScalarType, readonly [bigint, bigint]>>> = {
  [ScalarType.INT32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [ScalarType.SINT32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [ScalarType.SFIXED32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [ScalarType.UINT32]: [0n, 2n ** 32n - 1n],
  [ScalarType.FIXED32]: [0n, 2n ** 32n - 1n],
  [ScalarType.INT64]: [-(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.SINT64]: [-(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.SFIXED64]: [-(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.UINT64]: [0n, 2n ** 64n - 1n],
  [ScalarType.FIXED64]: [0n, 2n ** 64n - 1n],
};

function scalarValue(
  name: string,
  type: ScalarType,
  rules: FieldRules | undefined,
  chance: Chance,
  style: Style,
): unknown {
  const off = chance.happens(style.wrong);
  switch (type) {
    case ScalarType.BOOL:
      return chance.happens(0.5);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return off
        ? chance.pick([Number.NaN, Number.POSITIVE_INFINITY, -1, -0, 1e38, 5e-324, 1e-45])
        : chance.pick([0, 0.5, 1, 2, 10, 100]);
    case ScalarType.STRING:
      return textValue(name, rules, chance, off, style.words);
    case ScalarType.BYTES:
      return bytesValue(name, rules, chance, off, style.words);
    default:
      return wholeValue(type, rules, chance, off);
  }
}

function wholeValue(type: ScalarType, rules: FieldRules | undefined, chance: Chance, off: boolean) {
  const [least, most] = BOUNDS[type] ?? [0n, 1n];
  const of: unknown = rules?.type.value;
  const bound = (side: "greaterThan" | "lessThan") => {
    const found: unknown = typeof of === "object" && of !== null ? Reflect.get(of, side) : null;
    if (typeof found !== "object" || found === null) return null;
    const [kind, value]: unknown[] = [Reflect.get(found, "case"), Reflect.get(found, "value")];
    if (typeof value !== "number" && typeof value !== "bigint") return null;
    const by = kind === "gt" ? 1n : kind === "lt" ? -1n : 0n;
    return BigInt(value) + by;
  };
  const [low, high] = [bound("greaterThan") ?? least, bound("lessThan") ?? most];
  const clamped = (value: bigint) => (value < least ? least : value > most ? most : value);
  const value = off
    ? chance.pick([clamped(low - 1n), clamped(high + 1n), least, most])
    : chance.pick([low, high, clamped(low + BigInt(chance.between(0, 5))), low]);
  return most < 2n ** 33n ? Number(value) : value;
}

/** What has broken programs before: NUL, controls, surrogates, SQL, HTML, paths, formats. */
export const WILD_TEXTS: readonly string[] = [
  "",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "\u0001\u001b[31m\u007f",
  "'; drop table drover.run; --",
  "' or 1=1 --",
  "$1 :run_ids %s ${input} {{x}}",
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "../../../etc/passwd",
  "..",
  ".",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "\u202eabc",
  "\ufeffa",
  "a\r\nb: c",
  "\u{1f600}".repeat(20),
  "e\u0301".repeat(40),
  "-1",
  "NaN",
  "1e999",
  "99999999999999999999999999",
  "null",
  "[object Object]",
  "a".repeat(129),
  "a".repeat(257),
  "a".repeat(TEXT_MAX),
  "{".repeat(150),
  "\\",
  "%00%ff",
];

/** Fields whose words are alike. */
const ALIKE: Readonly<Record<string, string>> = {
  workflow: "name",
  hook: "name",
  trigger: "name",
  queue: "name",
  task: "name",
  claimed_by: "by",
  approver: "by",
};

const samples = new Map<string, readonly string[]>();

function samplesOf(pattern: string): readonly string[] {
  const known = samples.get(pattern);
  if (known) return known;
  // A repetition of up to hundreds gives long texts; fast-check draws short ones among them.
  const made = fc.sample(fc.stringMatching(new RegExp(pattern, "u")), { numRuns: 24, seed: 7 });
  samples.set(pattern, made);
  return made;
}

function textValue(
  name: string,
  rules: FieldRules | undefined,
  chance: Chance,
  off: boolean,
  words: Words,
): string {
  const of = rules?.type.case === "string" ? rules.type.value : undefined;
  if (off) return missedText(chance, Number(of?.maxLen || of?.maxBytes || 256n), of?.pattern ?? "");
  const known = words[name] ?? words[ALIKE[name] ?? ""] ?? [];
  const texts = known.filter((word) => typeof word === "string");
  if (texts.length > 0 && chance.happens(0.85)) return chance.pick(texts);
  if (of && of.in.length > 0) return chance.pick(of.in);
  if (of?.pattern) return chance.pick(samplesOf(of.pattern));
  const least = Number(of?.minLen ?? 0n);
  const most = Math.max(least, Math.min(Number(of?.maxLen || of?.maxBytes || 40n), 40));
  return "x".repeat(chance.between(least, most));
}

function missedText(chance: Chance, most: number, pattern: string): string {
  const [, high] = /\{\d+,(\d+)\}/.exec(pattern) ?? [];
  const limit = Math.min(high === undefined ? most : Number(high), 300_000);
  return chance.happens(0.25) ? "x".repeat(limit + 1) : chance.pick(WILD_TEXTS);
}

function bytesValue(
  name: string,
  rules: FieldRules | undefined,
  chance: Chance,
  off: boolean,
  words: Words,
): Uint8Array {
  const of = rules?.type.case === "bytes" ? rules.type.value : undefined;
  const known = (words[name] ?? []).filter((word) => typeof word !== "string");
  const wanted = Number(of?.len ?? 0n);
  if (off) return chance.bytes(chance.pick([0, 1, wanted + 1, Math.max(0, wanted - 1), 300]));
  if (known.length > 0 && chance.happens(0.85)) return chance.pick(known);
  return chance.bytes(wanted > 0 ? wanted : chance.between(0, 40));
}
