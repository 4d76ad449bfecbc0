/**
 * A workflow in a file: read and checked as a server would, with problems at their positions in the
 * file.
 */
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { FieldProblem } from "@drover/server/errors.ts";
import { readText } from "./input.ts";
import { placedInFile, textRefusal } from "./text-refusal.ts";

/** Whether an argument is a file or the name of a workflow, decided by its form. */
export function isFile(named: string): boolean {
  return named === "-" || named.includes("/") || /\.(?:ya?ml|json)$/.test(named);
}

export interface CheckedFile {
  readonly definition: WorkflowDefinition;
  /** Notes for the author; `path` is `file:line:column`. */
  readonly notes: readonly FieldProblem[];
}

/** Throws CliFailure with all problems of the file. */
export async function checkedFile(file: string): Promise<CheckedFile> {
  const { checkText } = await import("./check-text.ts");
  const checked = checkText(readText(file));
  if (checked.kind === "bad") throw textRefusal(file, checked.problems);
  const { definition, notes } = checked;
  return { definition, notes: notes.map((note) => placedInFile(file, note)) };
}

/** Throws CliFailure with all problems of the file. */
export async function definitionOfFile(file: string): Promise<WorkflowDefinition> {
  return (await checkedFile(file)).definition;
}
