/** A workflow in a file: read and checked as a server would, refused with places in the file. */
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { FieldProblem } from "@drover/server/errors.ts";
import { CliFailure, exitCodes } from "./failure.ts";
import { readText } from "./input.ts";

/** Whether what may be a file or the name of a workflow is a file: it says so by how it looks. */
export function isFile(named: string): boolean {
  return named === "-" || named.includes("/") || /\.(?:ya?ml|json)$/.test(named);
}

/** Throws CliFailure with all that is wrong with it. */
export async function definitionOfFile(file: string): Promise<WorkflowDefinition> {
  const { checkText } = await import("./check-text.ts");
  const checked = checkText(readText(file));
  if (checked.kind === "bad") throw refusal(file, checked.problems);
  return checked.definition;
}

const placeAtEnd = / \(line (\d+), column (\d+)\)$/;

/** Places as `file:line:column`, which editors and terminals follow. */
export function refusal(file: string, problems: readonly FieldProblem[]): CliFailure {
  const fields = problems.map(({ path, message }) => {
    const place = placeAtEnd.exec(message);
    const plain = message.replace(placeAtEnd, "");
    const where = place ? `${file}:${place[1]}:${place[2]}` : file;
    return { path: where, message: path === "text" ? plain : `${path}: ${plain}` };
  });
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  return new CliFailure(`${file} has ${count}`, {
    code: exitCodes.failed,
    next: `correct the file, then drover workflow check ${file}`,
    fields,
  });
}
