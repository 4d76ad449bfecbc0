package dev.drover.testing;

import dev.drover.BareAttempt;
import dev.drover.Progress;
import dev.drover.Task;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What an agent would report, with the progress and details of the handler.
 *
 * @param <O> the output of the task
 */
public final class HandlerResult<O> {
  /** How an attempt ended. */
  public enum Kind {
    /** It is done. */
    SUCCESS,
    /** It has failed. */
    FAILED,
    /** It is unknown whether it took effect. */
    UNKNOWN,
    /** It is to be handed out again. */
    AGAIN,
    /** Its outcome comes by the callback token. */
    DEFERRED,
    /** It stopped because it had to. */
    CANCELLED
  }

  private final BareAttempt attempt;
  private final Task<?, O> definition;
  private final BareAttempt.Ended ended;

  HandlerResult(BareAttempt attempt, Task<?, O> definition) {
    this.attempt = attempt;
    this.definition = definition;
    this.ended = attempt.ended();
  }

  /**
   * How the attempt ended, as the server would treat it.
   *
   * @return FAILED for an output that cannot be sent, too
   */
  public Kind kind() {
    return Kind.valueOf(ended.kind().name());
  }

  /**
   * The output of a success.
   *
   * @return null: there is none
   * @throws AssertionError if the handler did not succeed
   */
  public O output() {
    if (kind() != Kind.SUCCESS) {
      throw new AssertionError("the handler did not succeed: " + this);
    }
    return attempt.output(definition);
  }

  /**
   * The code of a failure or of an unknown outcome.
   *
   * @return empty for any other outcome
   */
  public String code() {
    return ended.code();
  }

  /**
   * The message of a failure or of an unknown outcome.
   *
   * @return empty for any other outcome
   */
  public String message() {
    return ended.message();
  }

  /**
   * Whether a failure is transient.
   *
   * @return false for any other outcome
   */
  public boolean isTransient() {
    return ended.isTransient();
  }

  /**
   * Whether the handler stated that nothing exists at the remote service.
   *
   * @return false: it did not
   */
  public boolean isWithoutEffect() {
    return ended.isWithoutEffect();
  }

  /**
   * The time until the next try: of a transient failure, or of {@code Answer.again}.
   *
   * @return empty: none was given
   */
  public Optional<Duration> after() {
    return ended.after();
  }

  /**
   * The progress that the handler has reported.
   *
   * @return in order
   */
  public List<Progress> progress() {
    return attempt.progress();
  }

  /**
   * The last details; the next attempt would get them.
   *
   * @param type such as a record
   * @param <T> the type
   * @return empty: there are none
   */
  public <T> Optional<T> details(Class<T> type) {
    return Optional.ofNullable(attempt.details(type));
  }

  @Override
  public String toString() {
    return kind() + (code().isEmpty() ? "" : " " + code() + ": " + message());
  }
}
