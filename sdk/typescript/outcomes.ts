/**
 * From what a handler returned or threw to the outcome that is reported.
 */
import { create } from "@bufbuild/protobuf";
import { FailureClass, type Outcome, OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { toDuration } from "./duration.ts";
import { toPayload } from "./payload.ts";
import {
  CancelledError,
  PermanentError,
  type TaskStopped,
  TransientError,
  UnknownError,
} from "./task-errors.ts";

const messageLengthMax = 4_096;
const codeLengthMax = 128;

export const released: Outcome = create(OutcomeSchema, { kind: { case: "released", value: {} } });

/** `undefined` is a success without output. What has no JSON form is an unknown: it was done. */
export function outcomeOfResult(value: unknown): Outcome {
  try {
    const output = toPayload(value);
    return create(OutcomeSchema, {
      kind: { case: "success", value: output === undefined ? {} : { output } },
    });
  } catch (error) {
    return unknown("bad-output", `The handler's result cannot be sent: ${textOf(error)}`);
  }
}

/** `stopped` is the reason of the task's signal, if it was aborted by then. */
export function outcomeOfError(error: unknown, stopped: TaskStopped | null): Outcome {
  if (error instanceof TransientError) {
    const { retryAfterMs } = error;
    return failed(error, FailureClass.TRANSIENT, retryAfterMs);
  }
  if (error instanceof PermanentError) return failed(error, FailureClass.PERMANENT, null);
  if (error instanceof UnknownError) return unknown(error.code, error.message);
  if (error instanceof CancelledError) return cancelled(error.noEffect);
  if (stopped !== null && isAbort(error, stopped)) {
    return stopped.kind === "cancelled" ? cancelled(false) : unknown(stopped.kind, stopped.message);
  }
  return unknown("unexpected-error", textOf(error));
}

/** Instead of a report that the server refused for what is in it. */
export function outcomeOfRefusal(reason: string, message: string): Outcome {
  return unknown("report-refused", `The agent's report was refused (${reason}): ${message}`);
}

export function isUnexpected(error: unknown, stopped: TaskStopped | null): boolean {
  const expected = [TransientError, PermanentError, UnknownError, CancelledError];
  if (expected.some((kind) => error instanceof kind)) return false;
  return stopped === null || !isAbort(error, stopped);
}

function isAbort(error: unknown, stopped: TaskStopped): boolean {
  if (error === stopped) return true;
  return error instanceof Error && (error.name === "AbortError" || error.cause === stopped);
}

function failed(
  error: TransientError | PermanentError,
  failureClass: FailureClass,
  retryAfterMs: number | null,
): Outcome {
  const value = {
    code: tidyCode(error.code),
    message: tidyMessage(error.message),
    failureClass,
    noEffect: error.noEffect,
    ...(retryAfterMs !== null && { retryAfter: toDuration(Math.max(0, retryAfterMs)) }),
  };
  return create(OutcomeSchema, { kind: { case: "failed", value } });
}

function unknown(code: string, message: string): Outcome {
  const value = { code: tidyCode(code), message: tidyMessage(message) };
  return create(OutcomeSchema, { kind: { case: "unknown", value } });
}

function cancelled(noEffect: boolean): Outcome {
  return create(OutcomeSchema, { kind: { case: "cancelled", value: { noEffect } } });
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** A code made from what a remote service said must not cost the report. */
function tidyCode(code: string): string {
  const tidy = code.replaceAll(/[^A-Za-z0-9._-]/g, "-").replace(/^drover\./, "drover-");
  return tidy.slice(0, codeLengthMax) || "error";
}

function tidyMessage(message: string): string {
  return message.replaceAll("\0", " ").slice(0, messageLengthMax).toWellFormed();
}
