/**
 * The text form of a workflow, in YAML or JSON, as people store, review and diff it.
 *
 *     text -> document (YAML nodes with positions) -> defaults (entered into the steps)
 *          -> reader (the dialect) -> WorkflowDefinition
 *
 * Promise: a text gives exactly the message that it describes, or one error that lists its problems
 * (the first 20), each with path, line, column and what would be valid. Nothing is dropped, guessed
 * or corrected. Ranges and patterns of single values, and the graph as a whole, are checked on the
 * message; `locate` maps the paths of those problems to positions in the text.
 */
import {
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { YAMLMap } from "yaml";
import type { FieldProblem } from "../errors.ts";
import { enterDefaults } from "./defaults.ts";
import { readDocument } from "./document.ts";
import { nearestPlace, type Reading } from "./nodes.ts";
import { createTextProblems, type Place, type TextKind, type TextProblems } from "./problems.ts";
import { checkDefaults, readMessage } from "./reader.ts";

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

/** A text that may have problems. */
interface WorkflowReading {
  /** The first 20, each message with its position. */
  readonly problems: readonly FieldProblem[];
  /**
   * What can be checked further: a step with a problem has its id and needs, and a task in the
   * place of what it does. Null: nothing can. Without problems: the definition.
   */
  readonly sound: WorkflowDefinition | null;
  readonly locate: WorkflowText["locate"];
}

/** Reads as much as it can, so that the author learns every problem of the text at once. */
export function readWorkflowText(text: string): WorkflowReading {
  const problems = createTextProblems("workflow");
  const document = readDocument(text, problems, "workflow");
  const { root } = document;
  const places = new Map<string, Place>();
  const reading = { document, problems, places, isPartial: true };
  const json = root && readWorkflow(root, reading);
  const sound = json && soundPart(json, problems, places);
  return Object.freeze({
    problems: problems.list,
    sound: sound ? fromJson(WorkflowDefinitionSchema, sound) : null,
    locate: (path: string) =>
      nearestPlace(path, places) ??
      (root && isFieldOf(WorkflowDefinitionSchema, path) ? document.placeOf(root) : null),
  });
}

function readWorkflow(root: YAMLMap, reading: Reading): JsonObject | undefined {
  const defaults = enterDefaults(root, reading);
  if (defaults) checkDefaults(defaults, reading);
  return readMessage(root, WorkflowDefinitionSchema, "", reading);
}

/** Null: a part that concerns all steps is missing. */
function soundPart(
  { steps, ...fields }: JsonObject,
  { list, full }: TextProblems,
  places: ReadonlyMap<string, Place>,
): JsonObject | null {
  if (list.length === 0) return { ...fields, ...(steps !== undefined && { steps }) };
  const isWhole = Array.isArray(steps) && !places.has(`steps[${steps.length}]`);
  if (full || !isWhole || list.some(({ path }) => !/^(steps\[|workflow$|defaults\b)/.test(path)))
    return null;
  const isBad = (no: number) =>
    list.some(({ path }) => /^steps\[(\d+)\]/.exec(path)?.[1] === `${no}`);
  return { ...fields, steps: steps.map((step, no) => (isBad(no) ? placeholder(step) : step)) };
}

function placeholder(step: JsonValue): JsonObject {
  const { id, needs } = typeof step === "object" && !Array.isArray(step) ? { ...step } : {};
  return {
    ...(id !== undefined && { id }),
    ...(needs !== undefined && { needs }),
    task: { name: "unreadable" },
  };
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
  const reading = { document, problems, places };
  const { root } = document;
  const json =
    root &&
    (what === "workflow" ? readWorkflow(root, reading) : readMessage(root, desc, "", reading));
  problems.throwIfAny();
  if (root === null || !json) throw new Error(`A ${what} text was refused without a reason`);
  const whole = document.placeOf(root);
  return Object.freeze({
    definition: fromJson(desc, json),
    locate: (path: string) => nearestPlace(path, places) ?? (isFieldOf(desc, path) ? whole : null),
  });
}

function isFieldOf(desc: DescMessage, path: string): boolean {
  const [field] = path.split(/[.[]/);
  return [...desc.fields, ...desc.oneofs].some(({ name }) => name === field);
}
