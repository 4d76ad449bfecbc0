package dev.drover;

/** Why a run ended, or is about to end. */
public enum RunReason {
  /** Every step ended. */
  DONE,
  /** A step failed for good. */
  STEP_FAILED,
  /** The timeout of the run passed. */
  TIMED_OUT,
  /** It was cancelled. */
  CANCELLED_BY_USER,
  /** It ended before it began, so none of its steps ran. */
  NEVER_STARTED,
  /** It could not begin at its time, so none of its steps ran. */
  REFUSED,
  /** A newer run of its concurrency key replaced it. */
  CANCELLED_BY_NEWER,
  /** One of a newer server. */
  UNRECOGNIZED
}
