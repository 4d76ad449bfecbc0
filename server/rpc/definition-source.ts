// The two forms in which a definition comes, message and text, and all that is wrong with it as a
// whole.

import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Definition } from "../core/definition.ts";
import { definitionProblems } from "../core/definition-check.ts";
import { DroverError } from "../errors.ts";
import { definitionFrom } from "./convert-definition.ts";
import { refusal } from "./errors.ts";
import type { RequestCheck } from "./request-check.ts";
import { parseWorkflowText, type WorkflowText } from "./workflow-text.ts";

const FIELD = "definition";

/** Of a request's field `definition`, which has passed the rules of the proto. */
export function definitionOfMessage(message: WorkflowDefinition): Definition {
  const definition = definitionFrom(message, FIELD);
  refuseProblems(definition, (path) => `${FIELD}.${path}`);
  return definition;
}

/** Each problem names line and column. */
export function definitionOfText(
  text: string,
  check: Pick<RequestCheck, "checkDefinition">,
): Definition {
  const parsed = parseWorkflowText(text);
  try {
    check.checkDefinition(parsed.definition);
    const definition = definitionFrom(parsed.definition, "");
    refuseProblems(definition, (path) => path);
    return definition;
  } catch (error) {
    throw error instanceof DroverError ? placed(error, parsed.locate) : error;
  }
}

function refuseProblems(definition: Definition, pathOf: (path: string) => string): void {
  const problems = definitionProblems(definition);
  if (problems.length === 0) return;
  throw refusal(
    "INVALID_DEFINITION",
    problems.map(({ path, message }) => ({ path: pathOf(path), message })),
  );
}

function placed(error: DroverError, locate: WorkflowText["locate"]): DroverError {
  const fields = error.fields.map(({ path, message }) => {
    const place = locate(path);
    const where = place ? ` (line ${place.line}, column ${place.column})` : "";
    return { path, message: `${message}${where}` };
  });
  return refusal(error.reason, fields, error.metadata);
}
