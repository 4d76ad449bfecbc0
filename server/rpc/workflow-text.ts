/**
 * The text form of a workflow, in YAML or JSON, as people keep, review and diff it.
 *
 *     text -> document (YAML nodes with positions) -> reader (the dialect) -> WorkflowDefinition
 *
 * Promise: a text gives exactly the message that it says, or one error that names everything that
 * is wrong with it (the first 20), each with path, line, column and what would be right. Nothing is
 * dropped, guessed or corrected. Ranges and patterns of single values, and the graph as a whole,
 * are checked on the message; `locate` leads from the paths of those problems back into the text.
 */
import { fromJson } from "@bufbuild/protobuf";
import {
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { readDocument } from "./workflow-text-document.ts";
import { createTextProblems, type Place } from "./workflow-text-problems.ts";
import { readDefinition } from "./workflow-text-reader.ts";

export interface WorkflowText {
  readonly definition: WorkflowDefinition;
  /**
   * Where a field of the message stands, by its path as `steps[2].needs[0]`. For one that the text
   * does not have: where what holds it begins. Null: a workflow has no such field.
   */
  locate(path: string): Place | null;
}

/** Throws a DroverError: INVALID_DEFINITION. */
export function parseWorkflowText(text: string): WorkflowText {
  const problems = createTextProblems();
  const document = readDocument(text, problems);
  const places = new Map<string, Place>();
  const json = document.root && readDefinition(document.root, { document, problems, places });
  problems.throwIfAny();
  if (document.root === null || json === null)
    throw new Error("A workflow text was refused without a reason");
  const whole = document.placeOf(document.root);
  return Object.freeze({
    definition: fromJson(WorkflowDefinitionSchema, json),
    locate: (path: string) => nearestPlace(path, places, whole),
  });
}

function nearestPlace(
  path: string,
  places: ReadonlyMap<string, Place>,
  whole: Place,
): Place | null {
  for (let at = path; at !== ""; at = at.replace(/(\.|\[|^)[^.[]*$/, "")) {
    const place = places.get(at);
    if (place !== undefined) return place;
  }
  const [field] = path.split(/[.[]/);
  return WorkflowDefinitionSchema.fields.some(({ name }) => name === field) ? whole : null;
}
