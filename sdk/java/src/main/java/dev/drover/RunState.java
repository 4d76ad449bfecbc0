package dev.drover;

/** The state of a run. */
public enum RunState {
  /** It has not started: its start time or its concurrency key lets it wait. */
  PENDING(false),
  /** Its steps are performed. */
  RUNNING(false),
  /** It was paused. */
  PAUSED(false),
  /** It ends, and tasks that agents hold are being stopped. */
  STOPPING(false),
  /** What was done is being undone. */
  COMPENSATING(false),
  /** It waits for a person. */
  ESCALATED(false),
  /** Its steps that always run are performed. */
  FINISHING(false),
  /** It has ended as it should. */
  COMPLETED(true),
  /** It has ended, and what was done remains. */
  FAILED(true),
  /** It has ended, and what was done is undone. */
  COMPENSATED(true),
  /** It was cancelled. */
  CANCELLED(true),
  /** A state of a newer server. */
  UNRECOGNIZED(false);

  private final boolean isEnded;

  RunState(boolean isEnded) {
    this.isEnded = isEnded;
  }

  /**
   * Whether the state is final.
   *
   * @return false: it may change
   */
  public boolean isEnded() {
    return isEnded;
  }

  static RunState of(dev.drover.v1.RunState state) {
    return Contract.read(RunState.class, "RUN_STATE_", state);
  }

  dev.drover.v1.RunState toProto() {
    return Contract.write(dev.drover.v1.RunState.class, "RUN_STATE_", this);
  }
}
