/** A workflow in a file: read and checked as a server would, refused with places in the file. */
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { readText } from "./input.ts";
import { textRefusal } from "./text-refusal.ts";

/** Whether what may be a file or the name of a workflow is a file: it says so by how it looks. */
export function isFile(named: string): boolean {
  return named === "-" || named.includes("/") || /\.(?:ya?ml|json)$/.test(named);
}

/** Throws CliFailure with all that is wrong with it. */
export async function definitionOfFile(file: string): Promise<WorkflowDefinition> {
  const { checkText } = await import("./check-text.ts");
  const checked = checkText(readText(file));
  if (checked.kind === "bad") throw textRefusal(file, checked.problems);
  return checked.definition;
}
