/**
 * Whether a server would take the text of a workflow, found out without one: by the same function.
 * Only the limits of a namespace are not known here.
 */
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { RPC_DEFAULTS } from "@drover/server/config.ts";
import type { Definition } from "@drover/server/core/definition.ts";
import { DroverError, type FieldProblem } from "@drover/server/errors.ts";
import { checkDefinition } from "@drover/server/expressions/definition-expressions.ts";
import { definitionOfText, notesOnText } from "@drover/server/rpc/definition-source.ts";
import { createRequestCheck } from "@drover/server/rpc/request-check.ts";
import { parseWorkflowText } from "@drover/server/rpc/workflow-text.ts";

export type Checked =
  | {
      readonly kind: "good";
      readonly definition: WorkflowDefinition;
      /** The same, as the server's rules have it. */
      readonly stored: Definition;
      /** What its author should know. As in a problem, each message ends with its place. */
      readonly notes: readonly FieldProblem[];
    }
  /** Each message ends with its place in the text. */
  | { readonly kind: "bad"; readonly problems: readonly FieldProblem[] };

export function checkText(text: string): Checked {
  try {
    const stored = definitionOfText(text, createRequestCheck(RPC_DEFAULTS), checkDefinition);
    const { definition } = parseWorkflowText(text);
    return { kind: "good", definition, stored, notes: notesOnText(text, stored) };
  } catch (error) {
    if (error instanceof DroverError && error.fields.length > 0)
      return { kind: "bad", problems: error.fields };
    throw error;
  }
}
