package dev.drover;

/**
 * What went wrong.
 *
 * @param code a stable name, such as {@code rate-limited}; those that start with {@code drover.}
 *     are made by the server
 * @param message one sentence for a person
 * @param kind what it means for retries
 */
public record Failure(String code, String message, Kind kind) {
  /** What a failure means for retries. */
  public enum Kind {
    /** It will probably work later. */
    TRANSIENT,
    /** It will never work. */
    PERMANENT,
    /** It is not known whether the attempt took effect. */
    UNKNOWN,
    /** One of a newer server. */
    UNRECOGNIZED
  }

  static Failure of(dev.drover.v1.Failure failure) {
    return new Failure(failure.getCode(), failure.getMessage(),
        Contract.read(Kind.class, "FAILURE_CLASS_", failure.getFailureClass()));
  }
}
