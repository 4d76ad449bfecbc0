/** A judge of definitions without expressions, but for the lists of maps: numbers of items. */
import type { Definition } from "../../server/core/definition.ts";
import { type Judge, type Judged, NOTHING_TO_JUDGE } from "../../server/core/judge.ts";

export function plainJudge(definition: Definition): Judge {
  return { ...NOTHING_TO_JUDGE, itemCount: (no) => countOf(definition, no) };
}

/** `over` is a number, or a word for what cannot be evaluated. */
function countOf({ steps }: Definition, no: number): Judged<number> {
  const step = steps[no];
  const count = step?.kind === "map" ? Number(step.over) : Number.NaN;
  return Number.isNaN(count)
    ? { kind: "failed", message: "it is no list" }
    : { kind: "value", value: count };
}
