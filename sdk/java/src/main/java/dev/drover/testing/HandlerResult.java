package dev.drover.testing;

import dev.drover.BareAttempt;
import dev.drover.Progress;
import dev.drover.Task;
import dev.drover.v1.FailureClass;
import dev.drover.v1.Outcome;
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
  private final Outcome outcome;

  HandlerResult(BareAttempt attempt, Task<?, O> definition) {
    this.attempt = attempt;
    this.definition = definition;
    this.outcome = attempt.outcome();
  }

  /**
   * How the attempt ended, as the server would treat it.
   *
   * @return FAILED for an output that cannot be sent, too
   */
  public Kind kind() {
    return switch (outcome.getKindCase()) {
      case SUCCESS -> isOutputLost() ? Kind.FAILED : Kind.SUCCESS;
      case FAILED -> Kind.FAILED;
      case AGAIN -> Kind.AGAIN;
      case DEFERRED -> Kind.DEFERRED;
      case CANCELLED -> Kind.CANCELLED;
      default -> Kind.UNKNOWN;
    };
  }

  private boolean isOutputLost() {
    return !outcome.getSuccess().getOutputProblem().isEmpty();
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
    if (isOutputLost()) {
      return "drover.output";
    }
    return outcome.getFailed().getCode() + outcome.getUnknown().getCode();
  }

  /**
   * The message of a failure or of an unknown outcome.
   *
   * @return empty for any other outcome
   */
  public String message() {
    return outcome.getSuccess().getOutputProblem()
        + outcome.getFailed().getMessage() + outcome.getUnknown().getMessage();
  }

  /**
   * Whether a failure is transient.
   *
   * @return false for any other outcome
   */
  public boolean isTransient() {
    FailureClass found = outcome.getFailed().getFailureClass();
    return found == FailureClass.FAILURE_CLASS_TRANSIENT;
  }

  /**
   * Whether the handler stated that nothing exists at the remote service.
   *
   * @return false: it did not
   */
  public boolean isWithoutEffect() {
    return outcome.getFailed().getNoEffect() || outcome.getCancelled().getNoEffect();
  }

  /**
   * The time until the next try: of a transient failure, or of {@code Answer.again}.
   *
   * @return empty: none was given
   */
  public Optional<Duration> after() {
    if (outcome.hasAgain()) {
      return Optional.of(of(outcome.getAgain().getAfter()));
    }
    return outcome.getFailed().hasRetryAfter()
        ? Optional.of(of(outcome.getFailed().getRetryAfter()))
        : Optional.empty();
  }

  private static Duration of(com.google.protobuf.Duration duration) {
    return Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
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

  /**
   * What an agent would send.
   *
   * @return the message of the contract
   */
  public Outcome outcome() {
    return outcome;
  }

  @Override
  public String toString() {
    return kind() + (code().isEmpty() ? "" : " " + code() + ": " + message());
  }
}
