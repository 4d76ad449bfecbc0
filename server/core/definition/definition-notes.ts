// Notes for the author of a valid definition. A note refuses nothing.
import type { Definition, StepDefinition } from "./definition.ts";
import type { DefinitionProblem } from "./definition-check.ts";

/** In the order of the steps. */
export function definitionNotes({ steps }: Definition): readonly DefinitionProblem[] {
  return steps.flatMap((step, no) =>
    mayDoubleItsEffect(step)
      ? [{ path: `steps[${no}].fallback`, message: `step "${step.id}" ${twoEffects}` }]
      : [],
  );
}

const twoEffects =
  "is idempotent and has a fallback, but no `compensate`: an attempt whose outcome is unknown may have taken effect, and the fallback then takes effect beside it. Add `compensate` to undo the first, or `effects: verifiable` with a `verify`, or `effects: once` to ask a person";

/**
 * An attempt with an unknown outcome is left for the fallback, and no verify or undo settles its
 * effect (G19).
 */
function mayDoubleItsEffect({ kind, effects, fallback, compensate }: StepDefinition): boolean {
  const isTask = kind === undefined || kind === "task" || kind === "map";
  const isIdempotent = (effects ?? "idempotent") === "idempotent";
  return isTask && isIdempotent && (fallback?.length ?? 0) > 0 && !compensate;
}
