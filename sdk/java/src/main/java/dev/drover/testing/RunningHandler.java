package dev.drover.testing;

import dev.drover.BareAttempt;
import dev.drover.StopReason;
import dev.drover.Task;

/**
 * A running handler.
 *
 * @param <O> the output of the task
 */
public final class RunningHandler<O> {
  private final BareAttempt attempt;
  private final Task<?, O> definition;

  RunningHandler(BareAttempt attempt, Task<?, O> definition) {
    this.attempt = attempt;
    this.definition = definition;
  }

  /**
   * Stops the handler, as an agent would.
   *
   * @param reason why
   * @return this handler
   */
  public RunningHandler<O> stop(StopReason reason) {
    attempt.stop(reason);
    return this;
  }

  /**
   * Waits until the handler has ended.
   *
   * @return what an agent would report
   */
  public HandlerResult<O> result() {
    return new HandlerResult<>(attempt, definition);
  }
}
