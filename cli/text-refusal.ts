/** Problems of a file as `file:line:column`, which editors and terminals can open. */
import type { FieldProblem } from "@drover/server/errors.ts";
import { CliFailure, type ExitCode, exitCodes } from "./failure.ts";

const positionAtEnd = / \(line (\d+), column (\d+)\)$/;

export function textRefusal(
  file: string,
  problems: readonly FieldProblem[],
  code: ExitCode = exitCodes.failed,
  next = `correct the file, then drover workflow check ${file}`,
): CliFailure {
  const fields = problems.map((problem) => placedInFile(file, problem));
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  return new CliFailure(`${file} has ${count}`, { code, next, fields });
}

/** The path becomes `file:line:column`, and the message begins with the path of the field. */
export function placedInFile(file: string, { path, message }: FieldProblem): FieldProblem {
  const position = positionAtEnd.exec(message);
  const plain = message.replace(positionAtEnd, "");
  const where = position ? `${file}:${position[1]}:${position[2]}` : file;
  return { path: where, message: path === "text" ? plain : `${path}: ${plain}` };
}
