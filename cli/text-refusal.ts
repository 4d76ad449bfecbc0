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
export function placedInFile(file: string, problem: FieldProblem): FieldProblem {
  const { path } = problem;
  const { message, line, column } = placed(problem);
  const where = line === null ? file : `${file}:${line}:${column}`;
  return { path: where, message: path === "text" ? message : `${path}: ${message}` };
}

interface Placed {
  readonly message: string;
  /** From 1, as `column`; null: the problem has no position. */
  readonly line: number | null;
  readonly column: number | null;
}

/** The message apart from the position at its end. */
export function placed({ message }: FieldProblem): Placed {
  const found = positionAtEnd.exec(message);
  if (!found) return { message, line: null, column: null };
  const plain = message.replace(positionAtEnd, "");
  return { message: plain, line: Number(found[1]), column: Number(found[2]) };
}
