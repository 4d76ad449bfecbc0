/**
 * Errors that a handler throws to report how its attempt ended.
 *
 * - TransientError: it failed and will probably work later; retried by the step's policy.
 * - PermanentError: it failed and will never work; not retried.
 * - UnknownError: it is unknown whether it took effect, for example because a connection broke.
 * - CancelledError: stopped because `context.signal` was aborted.
 *
 * Any other error counts as unknown, with the code `unexpected-error`: it may have come after the
 * effect, and only the handler knows. An AbortError after a cancel counts as cancelled.
 */

import { type Duration, durationMs } from "./duration.ts";

export interface FailureDetails {
  /**
   * Nothing exists at the remote service, neither from this attempt nor from an earlier one.
   * Default false.
   */
  readonly noEffect?: boolean;
  readonly cause?: unknown;
}

export interface TransientDetails extends FailureDetails {
  /** Minimum time before the next try. */
  readonly retryAfter?: Duration;
}

export class TransientError extends Error {
  override readonly name = "TransientError";
  /** Stable name for programs and retry policies, such as `rate-limited`. */
  readonly code: string;
  readonly retryAfterMs: number | null;
  readonly noEffect: boolean;

  constructor(code: string, message: string, details: TransientDetails = {}) {
    super(message, causeOf(details));
    this.code = code;
    const { retryAfter } = details;
    // A time that a service has named may have passed.
    const after = typeof retryAfter === "number" ? Math.max(0, retryAfter) : retryAfter;
    this.retryAfterMs = after === undefined ? null : durationMs(after);
    this.noEffect = details.noEffect ?? false;
  }
}

export class PermanentError extends Error {
  override readonly name = "PermanentError";
  readonly code: string;
  readonly noEffect: boolean;

  constructor(code: string, message: string, details: FailureDetails = {}) {
    super(message, causeOf(details));
    this.code = code;
    this.noEffect = details.noEffect ?? false;
  }
}

export class UnknownError extends Error {
  override readonly name = "UnknownError";
  readonly code: string;

  constructor(code: string, message: string, details: { readonly cause?: unknown } = {}) {
    super(message, causeOf(details));
    this.code = code;
  }
}

export class CancelledError extends Error {
  override readonly name = "CancelledError";
  readonly noEffect: boolean;

  constructor(message = "The task was cancelled.", details: FailureDetails = {}) {
    super(message, causeOf(details));
    this.noEffect = details.noEffect ?? false;
  }
}

/** Why `context.signal` was aborted. */
export type StopKind =
  /** The server requested it: the run is being stopped, or the attempt took too long. */
  | "cancelled"
  /** The server answered that the task no longer belongs to this agent. */
  | "lease-lost"
  /** By the agent's own clock the lease ended, because no heartbeat was answered in time. */
  | "lease-ended"
  /** The time of the attempt has passed. */
  | "attempt-over"
  /** The agent is stopping, and its grace is over. */
  | "agent-stopped";

/** The reason of `context.signal`. Its name is AbortError, as for any other abort. */
export class TaskStopped extends Error {
  override readonly name = "AbortError";
  readonly kind: StopKind;

  constructor(kind: StopKind) {
    super(stopTexts[kind]);
    this.kind = kind;
  }
}

const stopTexts: Readonly<Record<StopKind, string>> = {
  cancelled: "Stopped: the server asked to cancel the task.",
  "lease-lost": "Stopped: the server has given the task to another.",
  "lease-ended": "Stopped: the lease ended, because no heartbeat was answered in time.",
  "attempt-over": "Stopped: the time of the attempt is over.",
  "agent-stopped": "Stopped: the agent is being stopped.",
};

function causeOf(details: { readonly cause?: unknown }): ErrorOptions | undefined {
  return details.cause === undefined ? undefined : { cause: details.cause };
}
