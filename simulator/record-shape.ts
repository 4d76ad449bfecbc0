// The shapes of maps with known keys: records, and records with exactly one of several choices.

import {
  type Entry,
  entriesOf,
  forbiddenNode,
  joined,
} from "@drover/server/definition-text/document.ts";
import { shown, suggestion } from "@drover/server/definition-text/problems.ts";
import type { ValueReading } from "@drover/server/definition-text/values.ts";
import { isMap, isScalar, type Node } from "yaml";
import { refuse, type Schema, type Shape } from "./shape.ts";

export interface Field<T> {
  readonly shape: Shape<unknown>;
  readonly read: Shape<T>["read"];
  readonly about: string;
  /** The value of an absent field; "required": the field must not be absent. */
  readonly absent: { readonly kind: "value"; readonly value: T } | { readonly kind: "required" };
}

export type Fields<T> = { readonly [Key in keyof T]: Field<T[Key]> };

export function required<T>(shape: Shape<T>, about: string): Field<T> {
  return { shape, read: shape.read, about, absent: { kind: "required" } };
}

/** If the field is absent, its value is `value`. */
export function optional<T, V>(shape: Shape<T>, about: string, value: V): Field<T | V> {
  return { shape, read: shape.read, about, absent: { kind: "value", value } };
}

/** A shape whose fields can be looked up by key. */
export interface RecordShape<T> extends Shape<T> {
  readonly fields: ReadonlyMap<string, Field<unknown>>;
}

/** `short`: the field whose value may be written for the whole record. */
export function record<T extends object>(
  what: string,
  fields: Fields<T>,
  short: (keyof T & string) | null = null,
): RecordShape<T> {
  const byKey = new Map<string, Field<unknown>>(Object.entries(fields));
  const shortField = short === null ? null : (byKey.get(short) ?? null);
  const whole = recordSchema(byKey);
  return Object.freeze({
    fields: byKey,
    says: shortField ? `${shortField.shape.says}, or a map` : what,
    schema: shortField ? { anyOf: [shortField.shape.schema, whole] } : whole,
    read(node: Node, path: string, reading: ValueReading): T | undefined {
      const strange = forbiddenNode(node);
      if (strange !== null) return refuse(node, path, strange, reading);
      if (!isMap(node)) {
        if (shortField === null || !isScalar(node) || short === null)
          return refuse(
            node,
            path,
            `this must be a map with keys out of ${[...byKey.keys()].join(", ")}`,
            reading,
          );
        const value = shortField.read(node, path, reading);
        return value === undefined
          ? undefined
          : completed(new Map([[short, value]]), byKey, what, node, path, reading);
      }
      const { document, problems } = reading;
      const before = problems.count;
      const entries = entriesOf(node, path, document, problems);
      const values = readKnown(entries, byKey, what, path, reading);
      return problems.count > before
        ? undefined
        : completed(values, byKey, what, node, path, reading);
    },
  });
}

export function recordSchema(fields: ReadonlyMap<string, Field<unknown>>): Schema {
  const needed = [...fields].flatMap(([key, { absent }]) =>
    absent.kind === "required" ? key : [],
  );
  const properties = [...fields].map(([key, field]) => [key, described(field)] as const);
  return {
    type: "object",
    additionalProperties: false,
    ...(needed.length > 0 ? { required: needed } : {}),
    properties: Object.fromEntries(properties),
  };
}

function described({ shape: { schema }, about }: Field<unknown>): Schema {
  // Draft 7 ignores all keywords beside a `$ref`.
  return { description: about, ...("$ref" in schema ? { allOf: [schema] } : schema) };
}

/** Reads the entries with a known key, and refuses the others. */
export function readKnown(
  entries: readonly Entry[],
  fields: ReadonlyMap<string, Field<unknown>>,
  what: string,
  path: string,
  reading: ValueReading,
): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const { key, keyNode, value } of entries) {
    if (reading.problems.full) break;
    const where = joined(path, key);
    const field = fields.get(key);
    reading.places.set(where, reading.document.placeOf(value ?? keyNode));
    if (!field) {
      const near = suggestion(key, [...fields.keys()]);
      refuse(keyNode, where, `${what} has no key ${shown(key)}: ${near}`, reading);
    } else if (value === null || (isScalar(value) && value.value === null && value.source === ""))
      refuse(keyNode, where, `${key} is empty: give it a value, or remove the key`, reading);
    else values.set(key, field.read(value, where, reading));
  }
  return values;
}

/** Adds the values of absent fields; undefined if a required field is absent. */
export function completed<T extends object>(
  values: ReadonlyMap<string, unknown>,
  fields: ReadonlyMap<string, Field<unknown>>,
  what: string,
  node: Node,
  path: string,
  reading: ValueReading,
): T | undefined {
  const all: Record<string, unknown> = {};
  let lacks = false;
  for (const [key, { absent, about }] of fields) {
    if (values.has(key)) all[key] = values.get(key);
    else if (absent.kind === "value") all[key] = absent.value;
    else {
      lacks = true;
      refuse(node, path, `${what} needs the key ${key}: ${about}`, reading);
    }
  }
  // Each field was read by the shape of its key.
  return lacks ? undefined : (all as T);
}
