package dev.drover;

import java.time.Duration;
import java.util.Objects;

/**
 * What a handler returns when the task is not simply done with an output.
 *
 * @param <O> the output of the task
 */
public final class Answer<O> {
  enum Kind {
    OUTPUT,
    AGAIN,
    DEFERRED,
    HAPPENED,
    DID_NOT_HAPPEN,
    CANNOT_TELL
  }

  /** The server takes no shorter wait. */
  private static final Duration AGAIN_MIN = Duration.ofMillis(1);

  final Kind kind;
  final O output;
  final Duration after;
  final String message;

  private Answer(Kind kind, O output, Duration after, String message) {
    this.kind = kind;
    this.output = output;
    this.after = after;
    this.message = message;
  }

  /**
   * The work is done.
   *
   * @param output the output of the step; null: none
   * @param <O> the output of the task
   * @return the answer
   */
  public static <O> Answer<O> output(O output) {
    return new Answer<>(Kind.OUTPUT, output, null, "");
  }

  /**
   * The remote service has not finished: the task is handed out again after this time. No agent
   * holds it meanwhile, and no attempt is counted; the step's total time limits it.
   *
   * @param after at least 1 ms
   * @param <O> the output of the task
   * @return the answer
   */
  public static <O> Answer<O> again(Duration after) {
    Duration wait = after.compareTo(AGAIN_MIN) < 0 ? AGAIN_MIN : after;
    return new Answer<>(Kind.AGAIN, null, wait, "");
  }

  /**
   * The remote service has accepted the work, and the outcome comes by {@link
   * Client#completeDeferred} with {@link TaskContext#callbackToken()}, within the step's callback
   * time; after that it is unknown. That call may come before this answer.
   *
   * @param <O> the output of the task
   * @return the answer
   */
  public static <O> Answer<O> deferred() {
    return new Answer<>(Kind.DEFERRED, null, null, "");
  }

  /**
   * Answers a verify task: the attempt took effect.
   *
   * @param output the output of the step; null: none
   * @param <O> the output of the verified task
   * @return the answer
   */
  public static <O> Answer<O> happened(O output) {
    return new Answer<>(Kind.HAPPENED, output, null, "");
  }

  /**
   * Answers a verify task: nothing exists at the remote service, neither from the lost attempt nor
   * from an earlier one, so the step may be retried.
   *
   * @param <O> the output of the verified task
   * @return the answer
   */
  public static <O> Answer<O> didNotHappen() {
    return new Answer<>(Kind.DID_NOT_HAPPEN, null, null, "");
  }

  /**
   * Answers a verify task: the server verifies again, and after the last try it asks a person.
   *
   * @param message for that person
   * @param <O> the output of the verified task
   * @return the answer
   */
  public static <O> Answer<O> cannotTell(String message) {
    return new Answer<>(
        Kind.CANNOT_TELL, null, null, Objects.requireNonNull(message, "message"));
  }
}
