// Checks a definition as a whole: duplicate ids, unknown needs, cycles, needs between `always`
// steps and others. step-check.ts checks single steps. The form of single values (names, ranges,
// sizes) is checked where they enter, by the rules of the proto. A problem names the path of its
// field, so that every client can point at it.
import type { Definition, StepDefinition } from "./definition.ts";
import { nearestWord } from "./nearest-word.ts";
import { notSchema, stepProblems } from "./step-check.ts";

export interface DefinitionProblem {
  /** Path in the message, such as `steps[2].needs[0]`. */
  readonly path: string;
  readonly message: string;
}

/**
 * Every problem of the definition, those of single steps last. Without a problem a plan can be
 * made.
 */
export function definitionProblems(definition: Definition): readonly DefinitionProblem[] {
  return [
    ...graphProblems(definition),
    ...inputSchemaProblem(definition),
    ...definition.steps.flatMap((step, no) => stepProblems(step, `steps[${no}]`, definition)),
  ];
}

function inputSchemaProblem({ inputSchema }: Definition): DefinitionProblem[] {
  const wrong = notSchema(inputSchema);
  return wrong === null ? [] : [{ path: "input_schema", message: `the schema ${wrong}` }];
}

function graphProblems(definition: Definition): DefinitionProblem[] {
  const problems: DefinitionProblem[] = [];
  const first = new Map<string, number>();
  definition.steps.forEach((step, no) => {
    const earlier = first.get(step.id);
    if (earlier === undefined) first.set(step.id, no);
    else
      problems.push({
        path: `steps[${no}].id`,
        message: `step id "${step.id}" is taken by steps[${earlier}]: give each step an id of its own`,
      });
  });
  definition.steps.forEach((step, no) => {
    const seen = new Set<string>();
    step.needs.forEach((need, index) => {
      const path = `steps[${no}].needs[${index}]`;
      if (need === step.id)
        problems.push({ path, message: `step "${step.id}" needs itself: remove it` });
      else if (!first.has(need))
        problems.push({ path, message: unknownNeed(step.id, need, [...first.keys()]) });
      else if (seen.has(need))
        problems.push({ path, message: `step "${step.id}" names "${need}" twice: name it once` });
      seen.add(need);
    });
  });
  if (problems.length === 0) {
    const cycle = findCycle(definition);
    if (cycle) problems.push(cycle);
  }
  problems.push(...needsAcrossTheEnd(definition));
  return problems;
}

/**
 * `always` steps begin when all others have ended, so no need may lead from one kind to the other.
 */
function needsAcrossTheEnd({ steps }: Definition): DefinitionProblem[] {
  const always = new Map(steps.map((step) => [step.id, step.always ?? false]));
  return steps.flatMap((step, no) =>
    step.needs.flatMap((need, index) => {
      const needed = always.get(need);
      if (needed === undefined || needed === (step.always ?? false)) return [];
      const message = needed
        ? `step "${step.id}" needs "${need}", which is an always step and runs after all others: remove the need, or make "${step.id}" an always step too`
        : `step "${step.id}" is an always step, which runs after all others by itself: remove its need "${need}"`;
      return [{ path: `steps[${no}].needs[${index}]`, message }];
    }),
  );
}

function unknownNeed(id: string, need: string, known: readonly string[]): string {
  const near = nearestWord(need, known);
  const hint = near ? `did you mean "${near}"?` : `the steps are ${known.slice(0, 8).join(", ")}`;
  return `step "${id}" needs "${need}", which is no step of this workflow: ${hint}`;
}

function findCycle(definition: Definition): DefinitionProblem | null {
  const needsOf = new Map(definition.steps.map((step) => [step.id, step.needs]));
  const waiting = new Map(definition.steps.map((step) => [step.id, new Set(step.needs)]));
  // Kahn's algorithm: remove the steps without needs. What is left is on a cycle or behind one.
  for (let moved = true; moved; ) {
    moved = false;
    for (const [id, needs] of waiting) {
      if ([...needs].some((need) => waiting.has(need))) continue;
      waiting.delete(id);
      moved = true;
    }
  }
  const [start] = waiting.keys();
  if (start === undefined) return null;
  const path: string[] = [];
  let at: string | undefined = start;
  while (at !== undefined && !path.includes(at)) {
    path.push(at);
    at = needsOf.get(at)?.find((need) => waiting.has(need));
  }
  const loop = at === undefined ? path : [...path.slice(path.indexOf(at)), at];
  const on = loop[0];
  const no = definition.steps.findIndex((step) => step.id === on);
  return {
    path: `steps[${no}].needs`,
    message: `steps wait for each other in a circle: ${loop.join(" needs ")}. Remove one of these needs`,
  };
}

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
