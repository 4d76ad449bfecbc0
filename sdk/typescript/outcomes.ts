/**
 * From what a handler returned or threw to the outcome that is reported.
 */
import { create, isMessage } from "@bufbuild/protobuf";
import {
  FailureClass,
  type Outcome,
  type Outcome_Failed,
  Outcome_FailedSchema,
  OutcomeSchema,
  TaskKind,
} from "@drover/proto/drover/v1/task_pb.ts";
import { happened } from "./answers.ts";
import type { DroverCallError } from "./call-error.ts";
import { toDuration } from "./duration.ts";
import { payloadSize } from "./payload.ts";
import {
  CancelledError,
  PermanentError,
  type TaskStopped,
  TransientError,
  UnknownError,
} from "./task-errors.ts";
import { tidyCode, tidyMessage } from "./tidy-text.ts";

/** Of the body of a payload, by the contract; a namespace may allow less. */
const payloadBytesMax = 2 * 1024 * 1024;

export const released: Outcome = create(OutcomeSchema, { kind: { case: "released", value: {} } });

/** Of a handler that continues although it had to stop: the agent cannot know what it has done. */
export const handlerLost: Outcome = unknown(
  "handler-lost",
  "The handler did not end although it had to stop.",
);

/**
 * An Answer is reported as it is; all else is the output of a success, `undefined` one without.
 * What has no JSON form is a success whose output is lost: it was done.
 *
 * A verify has to answer: a lookup that found nothing and returns must not pass for "it happened".
 */
export function outcomeOfResult(value: unknown, kind: TaskKind): Outcome {
  if (isMessage(value, OutcomeSchema)) return value;
  if (kind === TaskKind.VERIFY)
    return unknown(
      "no-answer",
      "A handler that verifies returns happened(output), didNotHappen() or cannotTell(message).",
    );
  try {
    return happened(value);
  } catch (error) {
    return outputLost(`The handler's result cannot be sent: ${textOf(error)}`);
  }
}

/** `stopped` is the reason of the task's signal, if it was aborted by then. */
export function outcomeOfError(error: unknown, stopped: TaskStopped | null): Outcome {
  if (error instanceof TransientError || error instanceof PermanentError) return failed(error);
  if (error instanceof UnknownError) return unknown(error.code, error.message);
  if (error instanceof CancelledError) return cancelled(error.noEffect);
  if (stopped !== null && isAbort(error, stopped)) {
    return stopped.kind === "cancelled" ? cancelled(false) : unknown(stopped.kind, stopped.message);
  }
  return unknown("unexpected-error", textOf(error));
}

/**
 * Instead of a report that the server refused for what is in it. The work of a success was done,
 * and doing it again would give the same output again.
 */
export function outcomeOfRefusal(refused: Outcome, error: DroverCallError): Outcome {
  const [field] = error.fields;
  const why = field === undefined ? error.message : `it ${field.message}`;
  if (refused.kind.case === "success") return outputLost(`The output was refused: ${why}`);
  const reason = error.reason || error.code;
  return unknown("report-refused", `The agent's report was refused (${reason}): ${error.message}`);
}

/** A success with an output that no server takes is one whose output is lost. */
export function withinLimit(outcome: Outcome): Outcome {
  if (outcome.kind.case !== "success") return outcome;
  const bytes = payloadSize(outcome.kind.value.output);
  if (bytes <= payloadBytesMax) return outcome;
  const size = `${bytes} bytes, and none may have more than ${payloadBytesMax}`;
  return outputLost(`The output has ${size}: keep it in object storage and return its address`);
}

/** It was done, and its output cannot be used: the permanent failure drover.output. */
export function outputLost(problem: string): Outcome {
  const value = { outputProblem: tidyMessage(problem) };
  return create(OutcomeSchema, { kind: { case: "success", value } });
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

function failed(error: TransientError | PermanentError): Outcome {
  return create(OutcomeSchema, { kind: { case: "failed", value: toFailed(error) } });
}

export function toFailed(error: TransientError | PermanentError): Outcome_Failed {
  const transient = error instanceof TransientError ? error : null;
  const retryAfterMs = transient?.retryAfterMs ?? null;
  return create(Outcome_FailedSchema, {
    code: tidyCode(error.code),
    message: tidyMessage(error.message),
    failureClass: transient ? FailureClass.TRANSIENT : FailureClass.PERMANENT,
    noEffect: error.noEffect,
    ...(retryAfterMs !== null && { retryAfter: toDuration(retryAfterMs) }),
  });
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
