// Definitions as a message or as a text, and everything that is wrong with one as a whole: first
// its structure (core), then the semantic check that the caller supplies, such as expressions and
// schemas.
import { create } from "@bufbuild/protobuf";
import {
  StepDefinitionSchema,
  type WorkflowDefinition,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Definition } from "../../core/definition/definition.ts";
import {
  type DefinitionProblem,
  definitionNotes,
  definitionProblems,
} from "../../core/definition/definition-check.ts";
import { refusedText } from "../../definition-text/problems.ts";
import {
  parseWorkflowText,
  readWorkflowText,
  type WorkflowText,
} from "../../definition-text/workflow-text.ts";
import { DroverError, type FieldProblem } from "../../errors.ts";
import { refusal } from "../calls/errors.ts";
import type { RequestCheck } from "../calls/request-check.ts";
import { definitionFrom } from "./convert-definition.ts";

/**
 * The problems of a definition whose structure is sound. The path of a problem is a field such as
 * `steps[2].input`, or below it as `steps[2].input.from`.
 */
export type DefinitionCheck = (definition: Definition) => readonly DefinitionProblem[];

const FIELD = "definition";

/** For a request's field `definition`, which has passed the validation rules of the proto. */
export function definitionOfMessage(
  message: WorkflowDefinition,
  semanticCheck: DefinitionCheck,
): Definition {
  const definition = definitionFrom(message);
  refuseProblems(definition, semanticCheck, (path) => `${FIELD}.${path}`);
  return definition;
}

/** Every problem is reported at once, and names its line and column. */
export function definitionOfText(
  text: string,
  check: Pick<RequestCheck, "checkDefinition">,
  semanticCheck: DefinitionCheck,
): Definition {
  const { problems, sound, locate } = readWorkflowText(text);
  const found = new Map(problems.map((problem) => [problem.path, problem]));
  // A value that aliases or defaults repeat has its problem once.
  const messages = new Set(problems.map(({ message }) => message));
  const add = (more: readonly FieldProblem[]) => {
    for (const problem of more) {
      const placed = withPlace(problem, locate);
      if (found.has(placed.path) || messages.has(placed.message)) continue;
      found.set(placed.path, placed);
      messages.add(placed.message);
    }
  };
  if (sound === null) throw refusedText(problems, problems.length, "workflow");
  const violations = violationsOf(sound, check);
  add(violations);
  const definition = definitionFrom(withoutViolations(sound, violations));
  add(definitionProblems(definition));
  add(semanticCheck(definition));
  if (found.size === 0) return definition;
  const all = [...found.values()];
  if (problems.length > 0) throw refusedText(all, all.length, "workflow");
  throw refusal("INVALID_DEFINITION", all);
}

/** What breaks the rules of the proto. */
function violationsOf(
  definition: WorkflowDefinition,
  check: Pick<RequestCheck, "checkDefinition">,
): readonly FieldProblem[] {
  try {
    check.checkDefinition(definition);
    return [];
  } catch (error) {
    if (error instanceof DroverError && error.reason === "INVALID_DEFINITION") return error.fields;
    throw error;
  }
}

/** A step that breaks a rule has its id and needs, for the checks of the other steps. */
function withoutViolations(
  definition: WorkflowDefinition,
  violations: readonly FieldProblem[],
): WorkflowDefinition {
  const bad = new Set(violations.map(({ path }) => /^steps\[(\d+)\]/.exec(path)?.[1] ?? ""));
  const steps = definition.steps.map((step, no) =>
    bad.has(String(no))
      ? create(StepDefinitionSchema, {
          id: step.id,
          needs: step.needs,
          kind: { case: "task", value: { name: "refused" } },
        })
      : step,
  );
  return { ...definition, steps };
}

/** Notes for the author of a valid text; each names its line and column. */
export function notesOnText(text: string, definition: Definition): readonly FieldProblem[] {
  const { locate } = parseWorkflowText(text);
  return definitionNotes(definition).map((note) => withPlace(note, locate));
}

function refuseProblems(
  definition: Definition,
  semanticCheck: DefinitionCheck,
  pathOf: (path: string) => string,
): void {
  const structural = definitionProblems(definition);
  const problems = structural.length > 0 ? structural : semanticCheck(definition);
  if (problems.length === 0) return;
  throw refusal(
    "INVALID_DEFINITION",
    problems.map(({ path, message }) => ({ path: pathOf(path), message })),
  );
}

function withPlace({ path, message }: FieldProblem, locate: WorkflowText["locate"]): FieldProblem {
  const place = locate(path);
  const where = place ? ` (line ${place.line}, column ${place.column})` : "";
  return { path, message: `${message}${where}` };
}
