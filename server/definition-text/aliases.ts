/**
 * Anchors, aliases and merge keys: `&usual` names a value, `*usual` stands for it again, and
 * `<<: *usual` adds the entries of a map to another map, which keeps its own.
 *
 * After `resolveAliases` a tree has no alias and no merge key. What an alias stood for is the same
 * node again, so a problem in it has the position where it is written. An alias means the last
 * anchor of its name before it. The merge key is that of YAML 1.1, which most readers of YAML 1.2
 * understand as well.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { asNode, clip } from "./nodes.ts";

/** Aliases of aliases multiply; a value is read as often as the text repeats it. */
const valuesMax = 200_000;

interface Problem {
  readonly node: Node;
  readonly message: string;
}

interface Walk {
  readonly anchors: Map<string, Node>;
  /** How many values a node is, with those in it; a node that the walk is still in has no entry. */
  readonly sizes: Map<Node, number>;
  /** The first one. It ends the walk. */
  problem: Problem | null;
}

/** Changes the tree. Returns the first problem; null: there is none. */
export function resolveAliases(root: Node): Problem | null {
  const walk: Walk = { anchors: new Map(), sizes: new Map(), problem: null };
  resolved(root, walk);
  return walk.problem;
}

/** The node that stands in the place of this one. */
function resolved(node: Node, walk: Walk): Node {
  if (walk.problem) return node;
  if (isAlias(node)) return targetOf(node, node.source, walk);
  if ("anchor" in node && node.anchor !== undefined) walk.anchors.set(node.anchor, node);
  walk.sizes.delete(node);
  const size = isSeq(node) ? listSize(node, walk) : isMap(node) ? mapSize(node, walk) : 1;
  walk.sizes.set(node, size);
  return node;
}

function targetOf(alias: Node, name: string, walk: Walk): Node {
  const target = walk.anchors.get(name);
  const shown = clip(name);
  if (target === undefined)
    return refuse(
      alias,
      `the alias *${shown} follows no anchor of its name: write &${shown} before the value that it repeats`,
      walk,
    );
  if (!walk.sizes.has(target))
    return refuse(alias, `the alias *${shown} is within the value that it repeats`, walk);
  return target;
}

function listSize(list: YAMLSeq, walk: Walk): number {
  let size = 1;
  for (const [index, item] of list.items.entries()) {
    const node = asNode(item);
    if (node === null) continue;
    const found = resolved(node, walk);
    list.items[index] = found;
    size += sizeOf(found, size, walk);
    if (walk.problem) break;
  }
  return size;
}

function mapSize(map: YAMLMap, walk: Walk): number {
  let size = 1;
  const own: YAMLMap["items"] = [];
  const merged: YAMLMap["items"] = [];
  for (const pair of map.items) {
    const value = asNode(pair.value);
    const found = value && resolved(value, walk);
    if (isMergeKey(pair.key)) {
      merged.push(...mergedEntries(found ?? map, walk));
    } else {
      pair.value = found;
      own.push(pair);
    }
    if (walk.problem) return size;
  }
  const keys = new Set(own.map(({ key }) => keyText(key)));
  for (const pair of merged) {
    const key = keyText(pair.key);
    if (key !== null && keys.has(key)) continue;
    keys.add(key);
    own.push(pair);
  }
  map.items = own;
  for (const { value } of own) {
    const node = asNode(value);
    if (node) size += sizeOf(node, size, walk);
    if (walk.problem) break;
  }
  return size;
}

/** The entries that a merge key adds: of a map, or of the maps in a list, the first ones first. */
function mergedEntries(node: Node, walk: Walk): YAMLMap["items"] {
  const maps = isSeq(node) ? node.items : [node];
  if (maps.every((one) => isMap(one))) return maps.flatMap((one) => one.items);
  refuse(node, "`<<` adds the entries of a map: write an alias of a map, or a list of them", walk);
  return [];
}

/** Plain, so that a key in quotes may have any name. */
function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === "<<" && key.type === Scalar.PLAIN;
}

function keyText(key: unknown): unknown {
  return isScalar(key) ? key.value : key;
}

/** Of a node in another one, whose size so far is `before`. */
function sizeOf(node: Node, before: number, walk: Walk): number {
  const size = walk.sizes.get(node) ?? 1;
  if (before + size > valuesMax)
    refuse(node, `with its aliases the text has more than ${valuesMax} values: repeat less`, walk);
  return size;
}

function refuse(node: Node, message: string, walk: Walk): Node {
  walk.problem ??= { node, message };
  return node;
}
