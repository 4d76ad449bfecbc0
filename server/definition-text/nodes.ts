/**
 * Reads the nodes of a YAML document: the one reader of every text, that of a definition
 * (reader.ts) and that of a scenario (simulator/shape.ts).
 *
 * Each function returns what it has read, or undefined: then it has reported a problem, with the
 * position of the node.
 */
import { isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from "yaml";
import type { TextDocument } from "./document.ts";
import { type Place, shown, type TextProblems } from "./problems.ts";
import type { Value } from "./values.ts";

/** What the reading of a text needs and adds to. */
export interface Reading {
  /** Whether what can be read is returned although there are problems; left out: it is not. */
  readonly isPartial?: boolean;
  readonly document: TextDocument;
  readonly problems: TextProblems;
  /** The position of each value in the text, by its path as `steps[0].input.from`. */
  readonly places: Map<string, Place>;
}

/** A key of a map with its value. */
export interface Entry {
  readonly key: string;
  readonly keyNode: Node;
  /** null: there is nothing after the colon. */
  readonly value: Node | null;
}

/** Reports the problem of a node. */
export function refuse(
  node: Node,
  path: string,
  message: string,
  { document, problems }: Reading,
): undefined {
  problems.invalid(path, document.placeOf(node), message);
}

/** Refuses a node that is allowed nowhere. */
export function isAllowed(node: Node, path: string, reading: Reading): boolean {
  const why = forbidden(node);
  if (why !== null) refuse(node, path, why, reading);
  return why === null;
}

/** Why a node is not allowed anywhere; null: it is allowed. Only keys can still be aliases. */
export function forbidden(node: Node): string | null {
  if (isAlias(node)) return `the alias *${clip(node.source)} is no key: write it out`;
  if (node.tag !== undefined)
    return `the tag ${clip(node.tag)} is not read: write plain text, numbers, lists and maps`;
  return null;
}

/** `otherwise`: the problem of a node that is no single value. */
export function scalarAt<T>(
  node: Node,
  path: string,
  take: (scalar: Scalar) => Value<T>,
  otherwise: string,
  reading: Reading,
): T | undefined {
  if (!isAllowed(node, path, reading)) return undefined;
  if (!isScalar(node)) return refuse(node, path, otherwise, reading);
  const found = take(node);
  return found.kind === "value" ? found.value : refuse(node, path, found.message, reading);
}

/** `otherwise`: the problem of a node that is no list. */
export function listAt<T>(
  node: Node,
  path: string,
  read: (item: Node, path: string) => T | undefined,
  otherwise: string,
  reading: Reading,
): T[] | undefined {
  const { document, problems, places } = reading;
  if (!isAllowed(node, path, reading)) return undefined;
  if (!isSeq(node)) return refuse(node, path, otherwise, reading);
  const before = problems.count;
  const list: T[] = [];
  for (const [index, given] of node.items.entries()) {
    const item = asNode(given);
    if (problems.full || item === null) break;
    const where = `${path}[${index}]`;
    places.set(where, document.placeOf(item));
    const value = read(item, where);
    if (value !== undefined) list.push(value);
  }
  return problems.count > before && !reading.isPartial ? undefined : list;
}

/** `otherwise`: the problem of a node that is no map. */
export function entriesAt(
  node: Node,
  path: string,
  otherwise: string,
  reading: Reading,
): readonly Entry[] | undefined {
  if (!isAllowed(node, path, reading)) return undefined;
  return isMap(node) ? entriesOf(node, path, reading) : refuse(node, path, otherwise, reading);
}

/** The entries of a map; entries with an invalid key are left out and reported. */
export function entriesOf(map: YAMLMap, path: string, reading: Reading): readonly Entry[] {
  const entries: Entry[] = [];
  const seen = new Set<string>();
  for (const { key: keyNode, value } of map.items) {
    if (reading.problems.full) break;
    const node = asNode(keyNode);
    if (node === null || forbidden(node) !== null || !isScalar(node)) {
      const why = node && forbidden(node);
      refuse(node ?? map, path, why ?? "a key must be a plain word", reading);
    } else if (typeof node.value !== "string") {
      const written = String(node.source ?? node.value);
      refuse(node, path, `the key ${written} must be text: put it in quotes`, reading);
    } else if (seen.has(node.value)) {
      const message = `the key ${shown(node.value)} is given twice in this map: remove one`;
      refuse(node, joined(path, node.value), message, reading);
    } else {
      seen.add(node.value);
      entries.push({ key: node.value, keyNode: node, value: asNode(value) });
    }
  }
  return entries;
}

interface KnownKeys<Field> {
  readonly fields: ReadonlyMap<string, Field>;
  /** The problem of a key that is no field. */
  readonly unknown: (key: string) => string;
  readonly read: (field: Field, value: Node, path: string, entry: Entry) => void;
}

/** Reads the values of known keys, and refuses other keys and keys without a value. */
export function readEntries<Field>(
  entries: readonly Entry[],
  path: string,
  { fields, unknown, read }: KnownKeys<Field>,
  reading: Reading,
): void {
  for (const entry of entries) {
    if (reading.problems.full) break;
    const { key, keyNode, value } = entry;
    const where = joined(path, key);
    const field = fields.get(key);
    if (field === undefined) refuse(keyNode, where, unknown(key), reading);
    else if (value === null || isEmpty(value))
      refuse(keyNode, where, `${key} is empty: give it a value, or remove the key`, reading);
    else read(field, value, where, entry);
  }
}

/** An empty `input:` may be meant as null or as "none", and these differ. */
function isEmpty(value: Node): boolean {
  return isScalar(value) && value.value === null && value.source === "";
}

/** The types allow values that are no nodes, for documents made by code; a parser makes none. */
export function asNode(value: unknown): Node | null {
  return isScalar(value) || isMap(value) || isAlias(value) || isSeq(value) ? value : null;
}

/** The path of a key; a long key is clipped, since paths are part of messages. */
export function joined(path: string, key: string): string {
  return path === "" ? clip(key) : `${path}.${clip(key)}`;
}

/** A name as messages have it. */
export function clip(name: string): string {
  return name.length > 40 ? `${name.slice(0, 40)}…` : name;
}

/** The position of a value, or of the nearest value around it; null: of none is one known. */
export function nearestPlace(path: string, places: ReadonlyMap<string, Place>): Place | null {
  for (let at = path; at !== ""; at = at.replace(/(\.|\[|^)[^.[]*$/, "")) {
    const place = places.get(at);
    if (place !== undefined) return place;
  }
  return null;
}
