package dev.drover;

/** Thrown by {@link TaskContext#throwIfStopped()}; a handler lets it propagate. */
public final class TaskStoppedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Why the handler must stop. */
  private final StopReason reason;

  TaskStoppedException(StopReason reason) {
    super(reason.text());
    this.reason = reason;
  }

  /**
   * Why the handler must stop.
   *
   * @return the reason
   */
  public StopReason reason() {
    return reason;
  }
}
