/** A evaluator of definitions without expressions, but for the lists of maps: numbers of items. */
import type { Definition } from "../../server/core/definition/definition.ts";
import {
  type Evaluated,
  type Evaluator,
  NO_EXPRESSIONS,
} from "../../server/core/model/evaluator.ts";

export function plainEvaluator(definition: Definition): Evaluator {
  return { ...NO_EXPRESSIONS, itemCount: (no) => countOf(definition, no) };
}

/** `over` is a number, or a text for what cannot be evaluated. */
function countOf({ steps }: Definition, no: number): Evaluated<number> {
  const step = steps[no];
  const count = step?.kind === "map" ? Number(step.over) : Number.NaN;
  return Number.isNaN(count)
    ? { kind: "failed", message: "it is no list" }
    : { kind: "value", value: count };
}
