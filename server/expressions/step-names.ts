// How an expression names a step: steps.flight, or steps["book-flight"] if the id is no identifier.
// `steps.book-flight` parses as a subtraction. It is refused and not rewritten: with steps "a" and
// "a-b", a reader of `steps.a-b` could not tell what it means.
import { nearestWord } from "../core/definition/nearest-word.ts";
import type { ExpressionScope } from "./types.ts";

interface StepNames {
  readonly text: string;
  readonly scope: ExpressionScope;
}

/**
 * The problem of a step's name at an offset, or null. `field` is a field that the step does not
 * have: the name may then be the beginning of an id with dots.
 */
export function checkStepName(
  id: string,
  at: number,
  { text, scope }: StepNames,
  field?: string,
): string | null {
  const meant = scope.allSteps.find(
    (known) =>
      known !== id && text.startsWith(known, at - (field === undefined ? 0 : id.length + 1)),
  );
  const rest = meant?.slice(id.length, id.length + 1);
  const isKnown = scope.steps.includes(id);
  if (
    meant?.startsWith(id) &&
    (rest === "-" || (rest === "." && !(isKnown && field === undefined)))
  )
    return rest === "-"
      ? `this reads as "steps.${id} minus ...": write steps["${meant}"]`
      : `the id of a step with dots is written in quotes: steps["${meant}"]`;
  if (field !== undefined) return null;
  if (isKnown) return null;
  if (scope.allSteps.includes(id))
    return `step "${id}" is not upstream of this one, so it may not have ended yet: add it to needs`;
  const near = nearestWord(id, scope.allSteps);
  const shown = scope.steps.slice(0, 8).map((one) => `"${one}"`);
  const upstream = shown.length > 0 ? `upstream are ${shown.join(", ")}` : "no step is upstream";
  return `there is no step "${id}": ${near ? `did you mean "${near}"?` : upstream}`;
}
