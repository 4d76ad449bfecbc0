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
    return Contract.read(StepState.class, "STEP_STATE_", state);
  }
}
