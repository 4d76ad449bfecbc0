// Shapes: what a value of a scenario file may be, defined once. A shape reads the value, describes
// it to editors (JSON Schema), and describes it to people (docs/SCENARIOS.md).
//
// The nodes, their positions and the refusal of forbidden nodes come from the text form of
// workflows.

import type { Payload } from "@drover/server/core/model/payload.ts";
import {
  asNode,
  entriesOf,
  forbiddenNode,
  joined,
} from "@drover/server/definition-text/document.ts";
import { durationForm } from "@drover/server/definition-text/duration-text.ts";
import { shown, suggestion } from "@drover/server/definition-text/problems.ts";
import {
  anyNumber,
  duration,
  jsonText,
  textValue,
  type Value,
  type ValueReading,
  wholeNumber,
  yesOrNo,
} from "@drover/server/definition-text/values.ts";
import { isMap, isScalar, isSeq, type Node, type Scalar } from "yaml";

export type Schema = { readonly [key: string]: unknown };

export interface Shape<T> {
  /** undefined: it was refused, and the problem was reported. */
  readonly read: (node: Node, path: string, reading: ValueReading) => T | undefined;
  readonly schema: Schema;
  /** As "a duration", for people. */
  readonly says: string;
}

/** Reports the problem of a node. */
export function refuse(
  node: Node,
  path: string,
  message: string,
  { document, problems }: ValueReading,
): undefined {
  problems.invalid(path, document.placeOf(node), message);
}

export function scalar<T>(
  says: string,
  schema: Schema,
  take: (node: Scalar) => Value<T>,
): Shape<T> {
  return Object.freeze({
    says,
    schema,
    read(node: Node, path: string, reading: ValueReading) {
      const strange = forbiddenNode(node);
      if (strange !== null) return refuse(node, path, strange, reading);
      if (!isScalar(node)) return refuse(node, path, `this must be ${says}`, reading);
      reading.places.set(path, reading.document.placeOf(node));
      const found = take(node);
      return found.kind === "value" ? found.value : refuse(node, path, found.message, reading);
    },
  });
}

/** A scalar with a further check of its value: null, or the problem. */
function checked<T>(
  says: string,
  schema: Schema,
  first: (node: Scalar) => Value<T>,
  problemOf: (value: T) => string | null,
): Shape<T> {
  return scalar(says, schema, (node) => {
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
export const time: Shape<number> = scalar(
  "a duration, as 1h30m",
  { type: "string", minLength: 1, pattern: durationForm.source },
  (node) => {
    const found = duration(node);
    if (found.kind === "problem") return found;
    return { kind: "value", value: Math.round(Number(found.value.slice(0, -1)) * 1_000) };
  },
);

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

export function matching(says: string, pattern: RegExp, example: string): Shape<string> {
  return checked(says, { type: "string", pattern: pattern.source }, textValue, (value) =>
    pattern.test(value) ? null : `${shown(value)} is not ${says}: write it as ${example}`,
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
  says: "any value",
  schema: {},
  read(node: Node, path: string, reading: ValueReading): Payload | undefined {
    const json = jsonText(node, path, reading);
    return json === null ? undefined : { kind: "json", json };
  },
});

/** With `mayBeOne`, a single item may be written without its list. */
export function list<T>(of: Shape<T>, { mayBeOne = false } = {}): Shape<readonly T[]> {
  const array = { type: "array", items: of.schema };
  return Object.freeze({
    says: mayBeOne ? `${of.says}, or a list of them` : `a list: ${of.says}`,
    schema: mayBeOne ? { anyOf: [of.schema, array] } : array,
    read(node: Node, path: string, reading: ValueReading) {
      const strange = forbiddenNode(node);
      if (strange !== null) return refuse(node, path, strange, reading);
      if (!isSeq(node) && !mayBeOne)
        return refuse(node, path, "this must be a list: begin each line of it with `- `", reading);
      const nodes = isSeq(node) ? node.items.map(asNode) : [node];
      const items = nodes.map((item, at) => {
        const where = isSeq(node) ? `${path}[${at}]` : path;
        if (item === null) return refuse(node, where, "this item is empty", reading);
        reading.places.set(where, reading.document.placeOf(item));
        return of.read(item, where, reading);
      });
      const good = items.filter((item) => item !== undefined);
      return good.length === items.length ? good : undefined;
    },
  });
}

/** The same shape; the schema refers to its named definition in the file's schema. */
export function referred<T>(name: string, { read, says }: Shape<T>): Shape<T> {
  return Object.freeze({ read, says, schema: { $ref: `#/definitions/${name}` } });
}

/** A map whose keys are names chosen by the author. */
export function named<T>(key: string, of: Shape<T>): Shape<ReadonlyMap<string, T>> {
  return Object.freeze({
    says: `a map: ${key} to ${of.says}`,
    schema: { type: "object", additionalProperties: of.schema },
    read(node: Node, path: string, reading: ValueReading) {
      if (!isMap(node))
        return refuse(node, path, `this must be a map: ${key}, a colon, ${of.says}`, reading);
      const { document, problems, places } = reading;
      const found = new Map<string, T>();
      const before = problems.count;
      for (const entry of entriesOf(node, path, document, problems)) {
        const where = joined(path, entry.key);
        places.set(where, document.placeOf(entry.keyNode));
        const value = entry.value && of.read(entry.value, where, reading);
        if (!entry.value)
          refuse(entry.keyNode, where, `${entry.key} is empty: write ${of.says}`, reading);
        // Problems of a value are reported at its name, since the name is usually what is wrong.
        places.set(where, document.placeOf(entry.keyNode));
        if (value !== undefined && value !== null) found.set(entry.key, value);
      }
      return problems.count > before ? undefined : found;
    },
  });
}
