// The shape of a choice, named by its key: `hang`, `fail: SOLD_OUT`, `fail: { code: SOLD_OUT }`.

import { entriesOf, forbiddenNode, joined } from "@drover/server/definition-text/document.ts";
import { shown, suggestion } from "@drover/server/definition-text/problems.ts";
import type { ValueReading } from "@drover/server/definition-text/values.ts";
import { isMap, isScalar, type Node } from "yaml";
import {
  completed,
  type Field,
  type Fields,
  type RecordShape,
  readKnown,
  record,
  recordSchema,
} from "./record-shape.ts";
import { refuse, type Schema, type Shape } from "./shape.ts";

interface Choice<T> {
  readonly about: string;
  readonly shape: RecordShape<object>;
  /** undefined: it was refused, and the problem was reported. */
  readonly read: (node: Node, path: string, reading: ValueReading) => T | undefined;
  /** The value if only the name is written; null: the choice needs more. */
  readonly alone: (() => T) | null;
}

export function choice<R extends object, T>(
  about: string,
  fields: Fields<R>,
  make: (settings: R) => T,
  short: (keyof R & string) | null = null,
): Choice<T> {
  const shape = record<R>("it", fields, short);
  const byKey = shape.fields;
  const needsNone = [...byKey.values()].every(({ absent }) => absent.kind === "value");
  return Object.freeze({
    about,
    shape,
    read(node: Node, path: string, reading: ValueReading) {
      const settings = shape.read(node, path, reading);
      return settings === undefined ? undefined : make(settings);
    },
    alone: needsNone ? () => make(defaults<R>(byKey)) : null,
  });
}

function defaults<R extends object>(fields: ReadonlyMap<string, Field<unknown>>): R {
  const all: Record<string, unknown> = {};
  for (const [key, { absent }] of fields) if (absent.kind === "value") all[key] = absent.value;
  // Called only if all fields have a default.
  return all as R;
}

export interface ChoiceShape<T> extends Shape<T> {
  readonly choices: ReadonlyMap<string, Choice<unknown>>;
  readonly beside: ReadonlyMap<string, Field<unknown>>;
}

/** `beside`: keys that are allowed next to the chosen one. */
export function oneOf<T, B extends object, U>(
  what: string,
  choices: Readonly<Record<string, Choice<T>>>,
  beside: Fields<B>,
  make: (chosen: T, beside: B, path: string) => U,
): ChoiceShape<U> {
  const byKey = new Map(Object.entries(choices));
  const besides = new Map<string, Field<unknown>>(Object.entries(beside));
  const words = [...byKey].flatMap(([key, { alone }]) => (alone ? key : []));
  const known = [...byKey.keys(), ...besides.keys()];

  function ofWord(node: Node, path: string, reading: ValueReading): T | undefined {
    const word = isScalar(node) ? String(node.value) : "";
    const found = byKey.get(word);
    if (found?.alone) return found.alone();
    const needs = found ? `${word} needs more: write \`${word}: …\`, ${found.shape.says}` : null;
    return refuse(
      node,
      path,
      needs ?? `${what} ${shown(word)} is not known: ${suggestion(word, [...byKey.keys()])}`,
      reading,
    );
  }

  function ofMap(node: Node, path: string, reading: ValueReading): U | undefined {
    const { document, problems } = reading;
    if (!isMap(node))
      return refuse(
        node,
        path,
        `this must be ${what}: one of ${[...byKey.keys()].join(", ")}`,
        reading,
      );
    const before = problems.count;
    const entries = entriesOf(node, path, document, problems);
    const chosen = entries.filter(({ key }) => byKey.has(key));
    const others = entries.filter(({ key }) => !byKey.has(key));
    for (const { key, keyNode } of others.filter(({ key }) => !besides.has(key)))
      refuse(
        keyNode,
        joined(path, key),
        `${what} has no key ${shown(key)}: ${suggestion(key, known)}`,
        reading,
      );
    const values = readKnown(
      others.filter(({ key }) => besides.has(key)),
      besides,
      what,
      path,
      reading,
    );
    const [first, second] = chosen;
    if (second)
      refuse(
        second.keyNode,
        path,
        `${what} is one thing, and here are ${first?.key} and ${second.key}: write the second as an item of its own`,
        reading,
      );
    if (!first) {
      if (problems.count === before)
        refuse(
          node,
          path,
          `${what} needs one of the keys ${[...byKey.keys()].join(", ")}`,
          reading,
        );
      return undefined;
    }
    const read = byKey.get(first.key);
    const where = joined(path, first.key);
    reading.places.set(where, document.placeOf(first.keyNode));
    const made = first.value ? read?.read(first.value, where, reading) : read?.alone?.();
    if (!first.value && !read?.alone)
      refuse(first.keyNode, where, `${first.key} is empty: write ${read?.shape.says}`, reading);
    const rest = completed<B>(values, besides, what, node, path, reading);
    if (problems.count > before || made === undefined || rest === undefined) return undefined;
    return make(made, rest, path);
  }

  return Object.freeze({
    choices: byKey,
    beside: besides,
    says: what,
    schema: choiceSchema(byKey, besides, words),
    read(node: Node, path: string, reading: ValueReading): U | undefined {
      const strange = forbiddenNode(node);
      if (strange !== null) return refuse(node, path, strange, reading);
      if (!isScalar(node)) return ofMap(node, path, reading);
      const made = ofWord(node, path, reading);
      const rest =
        made === undefined
          ? undefined
          : completed<B>(new Map(), besides, what, node, path, reading);
      return made === undefined || rest === undefined ? undefined : make(made, rest, path);
    },
  });
}

function choiceSchema(
  choices: ReadonlyMap<string, Choice<unknown>>,
  beside: ReadonlyMap<string, Field<unknown>>,
  words: readonly string[],
): Schema {
  const { properties } = recordSchema(beside);
  const each = [...choices].map(
    ([key, { about, shape }]) => [key, { description: about, ...shape.schema }] as const,
  );
  const map = {
    type: "object",
    additionalProperties: false,
    properties: { ...Object.fromEntries(each), ...Object(properties) },
    oneOf: [...choices.keys()].map((key) => ({ required: [key] })),
  };
  const mayBeWord =
    words.length > 0 && ![...beside.values()].some(({ absent }) => absent.kind === "required");
  return mayBeWord ? { anyOf: [{ enum: [...words] }, map] } : map;
}
