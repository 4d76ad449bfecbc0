package dev.drover;

/** A value has no form as a payload, or a payload none as a value of the wanted type. */
public final class PayloadException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PayloadException(String message, Throwable cause) {
    super(message, cause);
  }
}
