// What is wrong with a definition as a whole: duplicate ids, unknown needs, cycles.
// The form of single values (names, ranges, sizes) is checked where they enter, by the rules of the
// proto. A problem names the path of the field, so that every surface can point at it.
import type { Definition } from "./definition.ts";
import { nearestWord } from "./nearest-word.ts";

export interface DefinitionProblem {
  /** Path in the message, as `steps[2].needs[0]`. */
  readonly path: string;
  readonly message: string;
}

/**
 * Every problem of the definition, in the order of its steps; none means that a plan can be made.
 */
export function definitionProblems(definition: Definition): readonly DefinitionProblem[] {
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
  return problems;
}

function unknownNeed(id: string, need: string, known: readonly string[]): string {
  const near = nearestWord(need, known);
  const hint = near ? `did you mean "${near}"?` : `the steps are ${known.slice(0, 8).join(", ")}`;
  return `step "${id}" needs "${need}", which is no step of this workflow: ${hint}`;
}

function findCycle(definition: Definition): DefinitionProblem | null {
  const needsOf = new Map(definition.steps.map((step) => [step.id, step.needs]));
  const waiting = new Map(definition.steps.map((step) => [step.id, new Set(step.needs)]));
  // Kahn: take away steps whose needs are all gone; what stays is on a cycle or behind one.
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
