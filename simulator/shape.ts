// Shapes: what a value of a scenario file may be, defined once. A shape reads the value, describes
// it to editors (JSON Schema), and describes it to people (docs/SCENARIOS.md).
//
// The nodes are read as those of a workflow are (definition-text/nodes.ts).

import type { Payload } from "@drover/server/core/model/payload.ts";
import { jsonText } from "@drover/server/definition-text/json-text.ts";
import {
  entriesAt,
  joined,
  listAt,
  type Reading,
  refuse,
  scalarAt,
} from "@drover/server/definition-text/nodes.ts";
import { shown, suggestion } from "@drover/server/definition-text/problems.ts";
import { DURATION_SCHEMA, type Schema } from "@drover/server/definition-text/schema-parts.ts";
import {
  anyNumber,
  duration,
  textValue,
  type Value,
  wholeNumber,
  yesOrNo,
} from "@drover/server/definition-text/values.ts";
import { isSeq, type Node, type Scalar } from "yaml";

export interface Shape<T> {
  /** undefined: it was refused, and the problem was reported. */
  readonly read: (node: Node, path: string, reading: Reading) => T | undefined;
  readonly schema: Schema;
  /** What messages call such a value: "a duration". */
  readonly phrase: string;
}

export function scalar<T>(
  phrase: string,
  schema: Schema,
  take: (node: Scalar) => Value<T>,
): Shape<T> {
  return Object.freeze({
    phrase,
    schema,
    read: (node: Node, path: string, reading: Reading) =>
      scalarAt(node, path, take, `this must be ${phrase}`, reading),
  });
}

/** A scalar with a further check of its value: null, or the problem. */
function checked<T>(
  phrase: string,
  schema: Schema,
  first: (node: Scalar) => Value<T>,
  problemOf: (value: T) => string | null,
): Shape<T> {
  return scalar(phrase, schema, (node) => {
    const found = first(node);
    const message = found.kind === "value" ? problemOf(found.value) : null;
    return message === null ? found : { kind: "problem", message };
  });
}

export const text: Shape<string> = scalar("text", { type: "string" }, textValue);
export const flag: Shape<boolean> = scalar("true or false", { type: "boolean" }, yesOrNo);
export const count: Shape<number> = checked(
  "a whole number",
  { type: "integer", minimum: 0 },
  wholeNumber,
  (value) => (value < 0 ? `${value} must not be negative` : null),
);

/** In milliseconds. */
export const time: Shape<number> = scalar("a duration, as 1h30m", DURATION_SCHEMA, duration);

/** 0 to 1, written "47 %" or 0.47. */
export const share: Shape<number> = scalar(
  "a share, as 47 %",
  { type: ["string", "number"] },
  (node) => {
    const percent = /^(\d{1,3}(?:\.\d+)?) ?%$/.exec(String(node.value))?.[1];
    const found: Value<number> =
      percent === undefined ? anyNumber(node) : { kind: "value", value: Number(percent) / 100 };
    if (found.kind === "value" && found.value >= 0 && found.value <= 1) return found;
    const message = `${shown(String(node.source ?? node.value))} is no share: write 47 %, or 0.47`;
    return { kind: "problem", message };
  },
);

/** In milliseconds since 1970. */
export const instant: Shape<number> = scalar(
  "a time, as 2026-01-31T12:00:00Z",
  { type: "string" },
  (node) => {
    const found = Date.parse(typeof node.value === "string" ? node.value : "");
    if (!Number.isNaN(found)) return { kind: "value", value: found };
    const message = `${shown(String(node.value))} is no time: write it as 2026-01-31T12:00:00Z`;
    return { kind: "problem", message };
  },
);

export function matching(phrase: string, pattern: RegExp, example: string): Shape<string> {
  return checked(phrase, { type: "string", pattern: pattern.source }, textValue, (value) =>
    pattern.test(value) ? null : `${shown(value)} is not ${phrase}: write it as ${example}`,
  );
}

export function word(words: readonly string[]): Shape<string> {
  return checked(
    words.map((one) => `\`${one}\``).join(", "),
    { enum: [...words] },
    textValue,
    (value) =>
      words.includes(value)
        ? null
        : `${shown(value)} is not known here: ${suggestion(value, words)}`,
  );
}

export const anything: Shape<Payload> = Object.freeze({
  phrase: "any value",
  schema: {},
  read(node: Node, path: string, reading: Reading): Payload | undefined {
    const json = jsonText(node, path, reading);
    return json === undefined ? undefined : { kind: "json", json };
  },
});

/** With `mayBeOne`, a single item may be written without its list. */
export function list<T>(of: Shape<T>, { mayBeOne = false } = {}): Shape<readonly T[]> {
  const array = { type: "array", items: of.schema };
  return Object.freeze({
    phrase: mayBeOne ? `${of.phrase}, or a list of them` : `a list: ${of.phrase}`,
    schema: mayBeOne ? { anyOf: [of.schema, array] } : array,
    read(node: Node, path: string, reading: Reading): readonly T[] | undefined {
      if (mayBeOne && !isSeq(node)) {
        const one = of.read(node, path, reading);
        return one === undefined ? undefined : [one];
      }
      const read = (item: Node, at: string) => of.read(item, at, reading);
      const aList = "this must be a list: begin each line of it with `- `";
      return listAt(node, path, read, aList, reading);
    },
  });
}

/** The same shape; the schema refers to its named definition in the file's schema. */
export function referred<T>(name: string, { read, phrase }: Shape<T>): Shape<T> {
  return Object.freeze({ read, phrase, schema: { $ref: `#/definitions/${name}` } });
}

/** A map whose keys are names chosen by the author. */
export function named<T>(key: string, of: Shape<T>): Shape<ReadonlyMap<string, T>> {
  return Object.freeze({
    phrase: `a map: ${key} to ${of.phrase}`,
    schema: { type: "object", additionalProperties: of.schema },
    read(node: Node, path: string, reading: Reading): ReadonlyMap<string, T> | undefined {
      const { document, problems, places } = reading;
      const before = problems.count;
      const aMap = `this must be a map: ${key}, a colon, ${of.phrase}`;
      const found = new Map<string, T>();
      for (const entry of entriesAt(node, path, aMap, reading) ?? []) {
        const where = joined(path, entry.key);
        const value = entry.value
          ? of.read(entry.value, where, reading)
          : refuse(entry.keyNode, where, `${entry.key} is empty: write ${of.phrase}`, reading);
        // Problems of a value are reported at its name, since the name is usually what is wrong.
        places.set(where, document.placeOf(entry.keyNode));
        if (value !== undefined) found.set(entry.key, value);
      }
      return problems.count > before ? undefined : found;
    },
  });
}
