/** Outcomes that a handler has no word of its own for, and errors without the secrets in them. */
import { create } from "@bufbuild/protobuf";
import { OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import {
  type Answer,
  CancelledError,
  PermanentError,
  TransientError,
  UnknownError,
} from "@drover/sdk";
import type { Secrets } from "./secrets.ts";

/** The server takes no longer text. */
const CHARACTERS_MAX = 4_096;

/**
 * The work is done, and its output cannot be reported: for the server the permanent failure
 * drover.output, with an effect that it undoes where it can.
 */
export function outputLost(problem: string): Answer {
  const outputProblem = problem.replaceAll("\0", " ").slice(0, CHARACTERS_MAX).toWellFormed();
  return create(OutcomeSchema, { kind: { case: "success", value: { outputProblem } } });
}

/** The same error, with a message that may leave the agent. */
export function withoutSecrets(error: unknown, secrets: Secrets, signal: AbortSignal): unknown {
  if (error === signal.reason || error instanceof CancelledError) return error;
  const message = secrets.hide(error instanceof Error ? error.message : String(error));
  if (error instanceof PermanentError)
    return new PermanentError(error.code, message, { noEffect: error.noEffect });
  if (error instanceof TransientError) {
    const after = error.retryAfterMs === null ? {} : { retryAfter: error.retryAfterMs };
    return new TransientError(error.code, message, { noEffect: error.noEffect, ...after });
  }
  const code = error instanceof UnknownError ? error.code : "unexpected-error";
  return new UnknownError(code, message);
}
