package dev.drover;

/** The state of a step. */
public enum StepState {
  /** Steps that it needs have not ended. */
  BLOCKED,
  /** Its task waits for an agent. */
  READY,
  /** An agent holds its task. */
  LEASED,
  /** It waits before the next try. */
  BACKOFF,
  /** It waits for a time, an event, people, a callback or other runs. */
  WAITING,
  /** It is found out whether a lost attempt took effect. */
  VERIFYING,
  /** It waits for a person. */
  ESCALATED,
  /** It is done. */
  SUCCEEDED,
  /** It has failed for good. */
  FAILED,
  /** It was passed over. */
  SKIPPED,
  /** It was cancelled. */
  CANCELLED,
  /** A state of a newer server. */
  UNRECOGNIZED;

  static StepState of(dev.drover.v1.StepState state) {
    return switch (state) {
      case STEP_STATE_BLOCKED -> BLOCKED;
      case STEP_STATE_READY -> READY;
      case STEP_STATE_LEASED -> LEASED;
      case STEP_STATE_BACKOFF -> BACKOFF;
      case STEP_STATE_WAITING -> WAITING;
      case STEP_STATE_VERIFYING -> VERIFYING;
      case STEP_STATE_ESCALATED -> ESCALATED;
      case STEP_STATE_SUCCEEDED -> SUCCEEDED;
      case STEP_STATE_FAILED -> FAILED;
      case STEP_STATE_SKIPPED -> SKIPPED;
      case STEP_STATE_CANCELLED -> CANCELLED;
      default -> UNRECOGNIZED;
    };
  }
}
