/**
 * Checks the text of a workflow without a server, with the server's own function. Only the limits
 * of a namespace are not checked.
 */
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { createRequestCheck } from "@drover/server/api/calls/request-check.ts";
import { definitionOfText, notesOnText } from "@drover/server/api/workflow/definition-source.ts";
import type { Definition } from "@drover/server/core/definition/definition.ts";
import { parseWorkflowText } from "@drover/server/definition-text/workflow-text.ts";
import { DroverError, type FieldProblem } from "@drover/server/errors.ts";
import { checkDefinition } from "@drover/server/expressions/definition-expressions.ts";
import { RPC_DEFAULTS } from "@drover/server/rpc-config.ts";

export type Checked =
  | {
      readonly kind: "good";
      readonly definition: WorkflowDefinition;
      /** The same definition in the form of the server's core. */
      readonly stored: Definition;
      /** Notes for the author. As in a problem, each message ends with its position. */
      readonly notes: readonly FieldProblem[];
    }
  /** Each message ends with its position in the text. */
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
