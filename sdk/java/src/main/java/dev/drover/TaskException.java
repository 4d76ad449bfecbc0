package dev.drover;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * How an attempt failed, as its handler knows it. A handler throws one, wrapped or not; {@link
 * #transientFailure}, {@link #permanent}, {@link #unknown} and {@link #cancelled} make it.
 *
 * <p>Any other exception is reported as unknown, with the code {@code unexpected-error}: it may
 * have come after the effect, and only the handler knows.
 */
public final class TaskException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What an exception of a handler means for retries. */
  public enum Kind {
    /** It failed, and will probably work later; retried by the step's policy. */
    TRANSIENT,
    /** It failed, and will never work; not retried. */
    PERMANENT,
    /** It is unknown whether it took effect, for example because a connection broke. */
    UNKNOWN,
    /** It stopped because it had to. */
    CANCELLED
  }

  /** What it means for retries. */
  private final Kind kind;

  /** A stable name for programs and retry policies. */
  private final String code;

  /** The message without the code. */
  private final String text;

  /** Null: only the policy decides. */
  private final Duration retryAfter;

  /** Whether nothing exists at the remote service. */
  private final boolean noEffect;

  private TaskException(
      Kind kind, String code, String text, Duration retryAfter, boolean noEffect, Throwable cause) {
    super(code.isEmpty() ? text : code + ": " + text, cause);
    this.kind = kind;
    this.code = code;
    this.text = text;
    this.retryAfter = retryAfter;
    this.noEffect = noEffect;
  }

  private static TaskException of(Kind kind, String code, String message) {
    String text = message == null ? "" : message;
    return new TaskException(kind, Objects.requireNonNull(code, "code"), text, null, false, null);
  }

  /**
   * A failure that will probably pass.
   *
   * @param code a stable name for programs and retry policies, such as {@code rate-limited}
   * @param message one sentence for a person
   * @return the exception to throw
   */
  public static TaskException transientFailure(String code, String message) {
    return of(Kind.TRANSIENT, code, message);
  }

  /**
   * A failure that will not pass.
   *
   * @param code a stable name for programs, such as {@code card-refused}
   * @param message one sentence for a person
   * @return the exception to throw
   */
  public static TaskException permanent(String code, String message) {
    return of(Kind.PERMANENT, code, message);
  }

  /**
   * An unknown outcome: the work may have taken effect, or not.
   *
   * @param code a stable name for programs, such as {@code no-answer}
   * @param message one sentence for a person
   * @return the exception to throw
   */
  public static TaskException unknown(String code, String message) {
    return of(Kind.UNKNOWN, code, message);
  }

  /**
   * The handler stopped because it had to. Letting the {@link InterruptedException} propagate means
   * the same after a cancel; this exception can also carry {@link #noEffect()}.
   *
   * @return the exception to throw
   */
  public static TaskException cancelled() {
    return of(Kind.CANCELLED, "", "The task was cancelled.");
  }

  /**
   * States that nothing exists at the remote service, neither from this attempt nor from an earlier
   * one.
   *
   * @return an exception with that statement
   */
  public TaskException noEffect() {
    return new TaskException(kind, code, text, retryAfter, true, getCause());
  }

  /**
   * Sets the minimum time before the next try of a transient failure.
   *
   * @param wait the minimum time; the retry policy may wait longer
   * @return an exception with that time
   */
  public TaskException retryAfter(Duration wait) {
    return new TaskException(kind, code, text, wait, noEffect, getCause());
  }

  /**
   * Stores the cause, which is not sent to the server.
   *
   * @param cause what went wrong
   * @return an exception with that cause
   */
  public TaskException causedBy(Throwable cause) {
    return new TaskException(kind, code, text, retryAfter, noEffect, cause);
  }

  /**
   * What it means for retries.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * The stable name for programs and retry policies.
   *
   * @return empty for {@link Kind#CANCELLED}
   */
  public String code() {
    return code;
  }

  /**
   * The sentence for a person, without the code.
   *
   * @return may be empty
   */
  public String text() {
    return text;
  }

  /**
   * The minimum time before the next try.
   *
   * @return empty: only the policy decides
   */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  /**
   * Whether nothing exists at the remote service.
   *
   * @return false: it is not stated
   */
  public boolean isWithoutEffect() {
    return noEffect;
  }
}
