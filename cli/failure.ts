/**
 * Why a command did not do what was asked: an exit code for scripts, one sentence, and the next
 * thing to try. Every thrown error is converted to a failure before it is shown (failure-of.ts).
 */
import type { FieldProblem } from "@drover/server/errors.ts";

export const exitCodes = Object.freeze({
  done: 0,
  /** The run failed, or the request was refused. */
  failed: 1,
  usage: 2,
  unreachable: 3,
  notFound: 4,
  /** Only a person can move the run: by an answer to an escalation, or an approval. */
  asked: 5,
});

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Reports the exit code of a verb; a verb that throws ends with that of `failureOf(error)`. */
export type Ended = (code: ExitCode) => void;

export interface FailureDetails {
  readonly code: ExitCode;
  /** A command, or a few words that begin with a verb. */
  readonly next: string;
  readonly fields?: readonly FieldProblem[];
}

export class CliFailure extends Error {
  readonly code: ExitCode;
  readonly next: string;
  readonly fields: readonly FieldProblem[];

  constructor(message: string, { code, next, fields = [] }: FailureDetails) {
    super(message);
    this.name = "CliFailure";
    this.code = code;
    this.next = next;
    this.fields = fields;
  }
}

export function usageFailure(message: string, next = "drover --help"): CliFailure {
  return new CliFailure(message, { code: exitCodes.usage, next });
}

/**
 * For calls that succeed without change if there was nothing: scripts still get the exit code.
 */
export function notThere(message: string, next: string): CliFailure {
  return new CliFailure(message, { code: exitCodes.notFound, next });
}
