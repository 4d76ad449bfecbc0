// The shapes of maps with known keys: records, and records with exactly one of several choices.

import {
  type Entry,
  entriesAt,
  isAllowed,
  type Reading,
  readEntries,
  refuse,
} from "@drover/server/definition-text/nodes.ts";
import { shown, suggestion } from "@drover/server/definition-text/problems.ts";
import {
  describedAs,
  mapSchema,
  type Schema,
} from "@drover/server/definition-text/schema-parts.ts";
import { isScalar, type Node } from "yaml";
import type { Shape } from "./shape.ts";

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

/** The fields of a map, and what the map is called. */
export interface Keys {
  readonly what: string;
  readonly fields: ReadonlyMap<string, Field<unknown>>;
}

/** `short`: the field whose value may be written for the whole record. */
export function record<T extends object>(
  what: string,
  fields: Fields<T>,
  short: (keyof T & string) | null = null,
): RecordShape<T> {
  const byKey = new Map<string, Field<unknown>>(Object.entries(fields));
  const keys: Keys = { what, fields: byKey };
  const shortField = short === null ? undefined : byKey.get(short);
  const whole = recordSchema(byKey);
  return Object.freeze({
    fields: byKey,
    phrase: shortField ? `${shortField.shape.phrase}, or a map` : what,
    schema: shortField ? { anyOf: [shortField.shape.schema, whole] } : whole,
    read(node: Node, path: string, reading: Reading): T | undefined {
      if (!isAllowed(node, path, reading)) return undefined;
      const values =
        short !== null && isScalar(node)
          ? readShort(node, path, short, keys, reading)
          : readMap(node, path, keys, reading);
      return values && completed(values, keys, node, path, reading);
    },
  });
}

/** Reads a value that is written for the whole record. */
function readShort(
  node: Node,
  path: string,
  short: string,
  { fields }: Keys,
  reading: Reading,
): ReadonlyMap<string, unknown> | undefined {
  const value = fields.get(short)?.read(node, path, reading);
  return value === undefined ? undefined : new Map([[short, value]]);
}

function readMap(
  node: Node,
  path: string,
  keys: Keys,
  reading: Reading,
): ReadonlyMap<string, unknown> | undefined {
  const { problems } = reading;
  const before = problems.count;
  const aMap = `this must be a map with keys out of ${[...keys.fields.keys()].join(", ")}`;
  const entries = entriesAt(node, path, aMap, reading);
  const values = entries && readKnown(entries, path, keys, reading);
  return problems.count > before ? undefined : values;
}

/** Reads the entries with a known key, and refuses the others. */
export function readKnown(
  entries: readonly Entry[],
  path: string,
  { what, fields }: Keys,
  reading: Reading,
): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  const unknown = (key: string): string =>
    `${what} has no key ${shown(key)}: ${suggestion(key, [...fields.keys()])}`;
  const read = (field: Field<unknown>, value: Node, where: string, { key }: Entry): void => {
    reading.places.set(where, reading.document.placeOf(value));
    values.set(key, field.read(value, where, reading));
  };
  readEntries(entries, path, { fields, unknown, read }, reading);
  return values;
}

/** Adds the values of absent fields; undefined if a required field is absent. */
export function completed<T extends object>(
  values: ReadonlyMap<string, unknown>,
  { what, fields }: Keys,
  node: Node,
  path: string,
  reading: Reading,
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

function recordSchema(fields: ReadonlyMap<string, Field<unknown>>): Schema {
  const required = [...fields].flatMap(([key, { absent }]) =>
    absent.kind === "required" ? key : [],
  );
  return mapSchema(fieldSchemas(fields), required);
}

export function fieldSchemas(
  fields: ReadonlyMap<string, Field<unknown>>,
): Readonly<Record<string, Schema>> {
  const schemas = [...fields].map(
    ([key, { about, shape }]) => [key, describedAs(about, shape.schema)] as const,
  );
  return Object.fromEntries(schemas);
}
