// The one error that the server returns to callers: a stable reason, a sentence for a person, and
// details. Any other error is a defect of the server and is answered INTERNAL.
//
// To add a reason: `ErrorReason` in proto/drover/v1/error_reason.proto, the union below, and its
// gRPC code in api/calls/errors.ts; the compiler names the tables that lack it.

/** The values of `drover.v1.ErrorReason`, without their prefix. */
export type Reason =
  | "INVALID_REQUEST"
  | "INVALID_DEFINITION"
  | "NOT_SUPPORTED"
  | "PAYLOAD_TOO_LARGE"
  | "MESSAGE_TOO_LARGE"
  | "MALFORMED_MESSAGE"
  | "MALFORMED_TOKEN"
  | "PAGE_TOKEN_INVALID"
  | "DEADLINE_TOO_LONG"
  | "NAMESPACE_NOT_FOUND"
  | "WORKFLOW_NOT_FOUND"
  | "RUN_NOT_FOUND"
  | "TASK_NOT_FOUND"
  | "KEY_REUSED"
  | "LEASE_LOST"
  | "TASK_OVER"
  | "RUN_STATE"
  | "OVERLOADED"
  | "STORE_UNAVAILABLE"
  | "DRAINING"
  | "INTERNAL"
  | "ESCALATION_NOT_FOUND"
  | "STEP_NOT_FOUND"
  | "ESCALATION_CLOSED"
  | "ANSWER_NOT_ALLOWED"
  | "DECISION_REFUSED"
  | "SIGNAL_LIMIT"
  | "SIGNAL_UNKNOWN"
  | "HOOK_NOT_FOUND"
  | "ESCALATION_CLAIMED"
  | "CONCURRENCY_LIMIT"
  | "COUNT_MISMATCH"
  | "SCHEDULE_NOT_FOUND"
  | "SCHEDULE_EXISTS"
  | "TRIGGER_NOT_FOUND"
  | "MAPPING_FAILED"
  | "AGENT_NOT_FOUND"
  | "NAMESPACE_EXISTS"
  | "NAMESPACE_LIMIT"
  | "TOKEN_REQUIRED"
  | "NOT_ALLOWED"
  | "TOKEN_NOT_FOUND"
  | "KEYS_UNAVAILABLE";

export interface FieldProblem {
  /** Path in the request, as `definition.steps[2].needs[0]`. */
  readonly path: string;
  readonly message: string;
}

interface ErrorDetails {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly fields?: readonly FieldProblem[];
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export class DroverError extends Error {
  readonly reason: Reason;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fields: readonly FieldProblem[];
  readonly retryAfterMs: number | null;

  /** The message says what is wrong, with which value, and what to do next. */
  constructor(reason: Reason, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "DroverError";
    this.reason = reason;
    this.metadata = details.metadata ?? {};
    this.fields = details.fields ?? [];
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/** What an error says. Any value may be thrown: what is no Error is written as a text. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The store does not answer, or cannot do this now: the call may be repeated. */
export function isStoreUnavailable(error: unknown): boolean {
  return error instanceof DroverError && error.reason === "STORE_UNAVAILABLE";
}

/**
 * STORE_UNAVAILABLE for a call during which the database has failed over: it may have lost what the
 * call has read. `what`: the consequence, as a clause; left out: there is nothing more to say.
 */
export function failedOver(what?: string, cause?: unknown): DroverError {
  const more = what === undefined ? "" : `, and ${what}`;
  const message = `the database has failed over since this call began${more}: repeat it`;
  return new DroverError("STORE_UNAVAILABLE", message, { retryAfterMs: 250, cause });
}
