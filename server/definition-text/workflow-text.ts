/**
 * The text form of a workflow, in YAML or JSON, as people store, review and diff it.
 *
 *     text -> document (YAML nodes with positions) -> reader (the dialect) -> WorkflowDefinition
 *
 * Promise: a text gives exactly the message that it describes, or one error that lists its problems
 * (the first 20), each with path, line, column and what would be valid. Nothing is dropped, guessed
 * or corrected. Ranges and patterns of single values, and the graph as a whole, are checked on the
 * message; `locate` maps the paths of those problems to positions in the text.
 */
import { type DescMessage, fromJson, type MessageShape } from "@bufbuild/protobuf";
import { WorkflowDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import { readDocument } from "./document.ts";
import { nearestPlace } from "./nodes.ts";
import { createTextProblems, type Place, type TextKind } from "./problems.ts";
import { readMessage } from "./reader.ts";

interface DefinitionText<Desc extends DescMessage> {
  readonly definition: MessageShape<Desc>;
  /**
   * The position of a field of the message, by its path as `steps[2].needs[0]`. If the text does
   * not have the field: the position of its container. Null: the message has no such field.
   */
  locate(path: string): Place | null;
}

export type WorkflowText = DefinitionText<typeof WorkflowDefinitionSchema>;

/** Throws a DroverError: INVALID_DEFINITION. */
export function parseWorkflowText(text: string): WorkflowText {
  return parseDefinitionText(text, WorkflowDefinitionSchema, "workflow");
}

/** Throws a DroverError: INVALID_DEFINITION. */
export function parseDefinitionText<Desc extends DescMessage>(
  text: string,
  desc: Desc,
  what: TextKind,
): DefinitionText<Desc> {
  const problems = createTextProblems(what);
  const document = readDocument(text, problems, what);
  const places = new Map<string, Place>();
  const json =
    document.root && readMessage(document.root, desc, "", { document, problems, places });
  problems.throwIfAny();
  if (document.root === null || !json)
    throw new Error(`A ${what} text was refused without a reason`);
  const whole = document.placeOf(document.root);
  return Object.freeze({
    definition: fromJson(desc, json),
    locate: (path: string) => nearestPlace(path, places) ?? (isFieldOf(desc, path) ? whole : null),
  });
}

function isFieldOf(desc: DescMessage, path: string): boolean {
  const [field] = path.split(/[.[]/);
  return [...desc.fields, ...desc.oneofs].some(({ name }) => name === field);
}
