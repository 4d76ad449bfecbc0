/**
 * The `defaults` of a text: what each step with an agent (`task` or `map`) has unless it says
 * otherwise. They are entered into the steps before these are read, so a definition has none, and a
 * problem in them has the position where they are written.
 *
 *     defaults: { retry: { attempts: 5, max: 1m }, timeouts: { heartbeat: 10s } }
 *
 * A step's own key counts. Where both are maps, as of `timeouts`, that holds for each key in them.
 */
import { isMap, isScalar, isSeq, type Node, Pair, visit, YAMLMap } from "yaml";
import { asNode, type Reading, refuse } from "./nodes.ts";

/** What may be the same in many steps. Other keys of a step are about itself. */
export const DEFAULT_KEYS = [
  "queue",
  "retry",
  "timeouts",
  "effects",
  "on_failure",
  "on_pickup",
  "escalation",
  "logs",
] as const;

/** Each step reads them again. */
const valuesMax = 200_000;

/** Keys at the top for values that are repeated by aliases; the reader leaves them out. */
export const EXTENSION_PREFIX = "x-";

/**
 * Changes the tree: the steps have the defaults, and the root has only what the reader knows.
 * Returns the node of the defaults; null: there are none.
 */
export function enterDefaults(root: YAMLMap, reading: Reading): Node | null {
  const defaults = valueAt(root, "defaults");
  root.items = root.items.filter(({ key }) => !isLeftOut(key));
  const steps = valueAt(root, "steps");
  if (!isMap(defaults) || !isSeq(steps)) return defaults;
  const values = countIn(defaults) * steps.items.length;
  if (values > valuesMax) {
    const message = `in each of ${steps.items.length} steps this is ${values} values, and at most ${valuesMax} are read`;
    refuse(defaults, "defaults", message, reading);
    return null;
  }
  steps.items = steps.items.map((step) => (isMap(step) ? withDefaults(step, defaults) : step));
  return defaults;
}

function countIn(node: Node): number {
  let count = 0;
  visit(node, { Node: () => void count++ });
  return count;
}

function isLeftOut(key: unknown): boolean {
  if (!isScalar(key) || typeof key.value !== "string") return false;
  return key.value === "defaults" || key.value.startsWith(EXTENSION_PREFIX);
}

function withDefaults(step: YAMLMap, defaults: YAMLMap): YAMLMap {
  const items = valueAt(step, "map");
  if (items === null && valueAt(step, "task") === null) return step;
  const known = defaults.items.filter(({ key }) => isDefaultKey(key));
  if (!isMap(items)) return completed(step, known);
  // A map has its queue in its `map`.
  const isQueue = ({ key }: Pair) => isScalar(key) && key.value === "queue";
  const whole = completed(
    step,
    known.filter((pair) => !isQueue(pair)),
  );
  const queued = completed(items, known.filter(isQueue));
  whole.items = whole.items.map((pair) =>
    pair.value === items ? new Pair(pair.key, queued) : pair,
  );
  return whole;
}

function isDefaultKey(key: unknown): boolean {
  return isScalar(key) && DEFAULT_KEYS.some((known) => known === key.value);
}

/** A map with the entries that it lacks, at the same position; `map` stays as it is. */
function completed(map: YAMLMap, entries: YAMLMap["items"]): YAMLMap {
  const whole = new YAMLMap();
  Object.assign(whole, { range: map.range, tag: map.tag });
  whole.items = map.items.map((pair) => {
    const other = entries.find(({ key }) => textOf(key) === textOf(pair.key));
    return isMap(pair.value) && isMap(other?.value)
      ? new Pair(pair.key, completed(pair.value, other.value.items))
      : pair;
  });
  const own = new Set(map.items.map(({ key }) => textOf(key)));
  whole.items.push(...entries.filter(({ key }) => !own.has(textOf(key))));
  return whole;
}

function textOf(key: unknown): unknown {
  return isScalar(key) ? key.value : key;
}

/** The first value of a key; null: it has none. */
function valueAt(map: YAMLMap, key: string): Node | null {
  return asNode(map.items.find((pair) => textOf(pair.key) === key)?.value);
}
