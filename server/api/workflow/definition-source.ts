// Definitions as a message or as a text, and everything that is wrong with one as a whole: first
// its structure (core), then the semantic check that the caller supplies, such as expressions and
// schemas.
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Definition } from "../../core/definition/definition.ts";
import {
  type DefinitionProblem,
  definitionNotes,
  definitionProblems,
} from "../../core/definition/definition-check.ts";
import { parseWorkflowText, type WorkflowText } from "../../definition-text/workflow-text.ts";
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

/** Each problem names its line and column. */
export function definitionOfText(
  text: string,
  check: Pick<RequestCheck, "checkDefinition">,
  semanticCheck: DefinitionCheck,
): Definition {
  const parsed = parseWorkflowText(text);
  try {
    check.checkDefinition(parsed.definition);
    const definition = definitionFrom(parsed.definition);
    refuseProblems(definition, semanticCheck, (path) => path);
    return definition;
  } catch (error) {
    throw error instanceof DroverError ? placed(error, parsed.locate) : error;
  }
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

function placed(error: DroverError, locate: WorkflowText["locate"]): DroverError {
  const fields = error.fields.map((problem) => withPlace(problem, locate));
  return refusal(error.reason, fields, error.metadata);
}

function withPlace({ path, message }: FieldProblem, locate: WorkflowText["locate"]): FieldProblem {
  const place = locate(path);
  const where = place ? ` (line ${place.line}, column ${place.column})` : "";
  return { path, message: `${message}${where}` };
}
