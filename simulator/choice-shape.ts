// The shape of a choice, named by its key: `hang`, `fail: SOLD_OUT`, `fail: { code: SOLD_OUT }`.

import {
  type Entry,
  entriesAt,
  isAllowed,
  joined,
  type Reading,
  refuse,
} from "@drover/server/definition-text/nodes.ts";
import { shown, suggestion } from "@drover/server/definition-text/problems.ts";
import {
  describedAs,
  mapSchema,
  type Schema,
} from "@drover/server/definition-text/schema-parts.ts";
import { isScalar, type Node, type Scalar } from "yaml";
import {
  completed,
  type Field,
  type Fields,
  fieldSchemas,
  type Keys,
  type RecordShape,
  readKnown,
  record,
} from "./record-shape.ts";
import type { Shape } from "./shape.ts";

interface Choice<T> {
  readonly about: string;
  readonly shape: RecordShape<object>;
  /** undefined: it was refused, and the problem was reported. */
  readonly read: (node: Node, path: string, reading: Reading) => T | undefined;
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
    read(node: Node, path: string, reading: Reading) {
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
  const keys: ChoiceKeys<T> = { what, choices: byKey, beside: { what, fields: besides } };
  return Object.freeze({
    choices: byKey,
    beside: besides,
    phrase: what,
    schema: choiceSchema(byKey, besides),
    read(node: Node, path: string, reading: Reading): U | undefined {
      if (!isAllowed(node, path, reading)) return undefined;
      const before = reading.problems.count;
      const found = isScalar(node)
        ? readWord(node, path, keys, reading)
        : readMap(node, path, keys, reading);
      const rest = found && completed<B>(found.beside, keys.beside, node, path, reading);
      if (!found || !rest || reading.problems.count > before) return undefined;
      return make(found.chosen, rest, path);
    },
  });
}

interface ChoiceKeys<T> {
  readonly what: string;
  readonly choices: ReadonlyMap<string, Choice<T>>;
  readonly beside: Keys;
}

interface Found<T> {
  readonly chosen: T;
  /** The values of the keys beside it. */
  readonly beside: ReadonlyMap<string, unknown>;
}

/** Reads a choice of which only the name is written. */
function readWord<T>(
  node: Scalar,
  path: string,
  { what, choices }: ChoiceKeys<T>,
  reading: Reading,
): Found<T> | undefined {
  const word = String(node.value);
  const choice = choices.get(word);
  if (choice?.alone) return { chosen: choice.alone(), beside: new Map() };
  const message = choice
    ? `${word} needs more: write \`${word}: …\`, ${choice.shape.phrase}`
    : `${what} ${shown(word)} is not known: ${suggestion(word, [...choices.keys()])}`;
  return refuse(node, path, message, reading);
}

function readMap<T>(
  node: Node,
  path: string,
  keys: ChoiceKeys<T>,
  reading: Reading,
): Found<T> | undefined {
  const { what, choices } = keys;
  const words = [...choices.keys()].join(", ");
  const before = reading.problems.count;
  const entries = entriesAt(node, path, `this must be ${what}: one of ${words}`, reading);
  if (!entries) return undefined;
  const beside = readBeside(entries, path, keys, reading);
  const [first, second] = entries.filter(({ key }) => choices.has(key));
  if (first && second) {
    const two = `here are ${first.key} and ${second.key}`;
    const message = `${what} is one thing, and ${two}: write the second as an item of its own`;
    refuse(second.keyNode, path, message, reading);
  }
  if (!first && reading.problems.count === before)
    refuse(node, path, `${what} needs one of the keys ${words}`, reading);
  const chosen = first && readChosen(first, path, keys, reading);
  return chosen === undefined ? undefined : { chosen, beside };
}

/** Reads the keys that are no choice, after refusing those that are not known. */
function readBeside<T>(
  entries: readonly Entry[],
  path: string,
  { what, choices, beside }: ChoiceKeys<T>,
  reading: Reading,
): ReadonlyMap<string, unknown> {
  const known = [...choices.keys(), ...beside.fields.keys()];
  for (const { key, keyNode } of entries.filter((entry) => !known.includes(entry.key))) {
    const message = `${what} has no key ${shown(key)}: ${suggestion(key, known)}`;
    refuse(keyNode, joined(path, key), message, reading);
  }
  const besides = entries.filter(({ key }) => beside.fields.has(key));
  return readKnown(besides, path, beside, reading);
}

function readChosen<T>(
  { key, keyNode, value }: Entry,
  path: string,
  { choices }: ChoiceKeys<T>,
  reading: Reading,
): T | undefined {
  const where = joined(path, key);
  reading.places.set(where, reading.document.placeOf(keyNode));
  const choice = choices.get(key);
  if (value) return choice?.read(value, where, reading);
  if (choice?.alone) return choice.alone();
  return refuse(keyNode, where, `${key} is empty: write ${choice?.shape.phrase}`, reading);
}

function choiceSchema(
  choices: ReadonlyMap<string, Choice<unknown>>,
  beside: ReadonlyMap<string, Field<unknown>>,
): Schema {
  const each = [...choices].map(
    ([key, { about, shape }]) => [key, describedAs(about, shape.schema)] as const,
  );
  const properties = { ...Object.fromEntries(each), ...fieldSchemas(beside) };
  const oneKey = [...choices.keys()].map((key) => ({ required: [key] }));
  const map = { ...mapSchema(properties, []), oneOf: oneKey };
  const words = [...choices].flatMap(([key, { alone }]) => (alone ? key : []));
  const mayBeWord =
    words.length > 0 && ![...beside.values()].some(({ absent }) => absent.kind === "required");
  return mayBeWord ? { anyOf: [{ enum: words }, map] } : map;
}
