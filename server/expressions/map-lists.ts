// The lists that maps process. They are evaluated once for the facts of a pass, however many items
// ask; facts never change, so the result is the same each time.
import type { Evaluated } from "../core/model/evaluator.ts";
import type { Facts } from "../core/model/facts.ts";
import { ITEMS_MAX, itemOf, numberOf } from "../core/model/step-key.ts";
import type { CompiledMap, CompiledStep } from "./compiled-step.ts";
import type { Json } from "./json.ts";
import { evaluateFor, failed } from "./step-values.ts";

export interface MapLists {
  /** The list of the map with this number. */
  list(step: CompiledStep, map: CompiledMap, no: number, facts: Facts): Evaluated<readonly Json[]>;
  /** The item whose task has this place. */
  item(step: CompiledStep, map: CompiledMap, stepKey: number, facts: Facts): Evaluated<Json>;
}

export function createMapLists(): MapLists {
  const known = new WeakMap<Facts, Map<number, Evaluated<readonly Json[]>>>();

  function list(
    step: CompiledStep,
    map: CompiledMap,
    no: number,
    facts: Facts,
  ): Evaluated<readonly Json[]> {
    const lists = known.get(facts) ?? new Map<number, Evaluated<readonly Json[]>>();
    known.set(facts, lists);
    const found = lists.get(no) ?? asList(evaluateFor(step, map.over, facts));
    lists.set(no, found);
    return found;
  }

  function item(
    step: CompiledStep,
    map: CompiledMap,
    stepKey: number,
    facts: Facts,
  ): Evaluated<Json> {
    const items = list(step, map, numberOf(stepKey), facts);
    if (items.kind === "failed") return items;
    const index = itemOf(stepKey) - 1;
    const value = items.value[index];
    return value === undefined
      ? failed(`its list has ${items.value.length} items, and this is item ${index}`)
      : { kind: "value", value };
  }

  return Object.freeze({ list, item });
}

function asList(evaluated: Evaluated<Json>): Evaluated<readonly Json[]> {
  if (evaluated.kind === "failed") return evaluated;
  const { value } = evaluated;
  const list =
    typeof value === "number" && Number.isInteger(value) && value >= 0 ? rangeOf(value) : value;
  if (!Array.isArray(list))
    return failed(`it is ${JSON.stringify(value)}, which is neither a list nor a number of items`);
  return list.length <= ITEMS_MAX
    ? { kind: "value", value: list }
    : failed(`it has ${list.length} items, and a map has ${ITEMS_MAX} at most`);
}

/**
 * At most one more item than a map may have, so that a longer list is refused without being built.
 */
function rangeOf(count: number): readonly number[] {
  return Array.from({ length: Math.min(count, ITEMS_MAX + 1) }, (_, index) => index);
}
