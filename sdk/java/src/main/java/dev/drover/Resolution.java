package dev.drover;

import dev.drover.v1.ResolveEscalationRequest;
import java.util.Objects;

/**
 * The answer of a person to an escalation. The person is named as the caller states it; the server
 * does not verify it.
 */
public final class Resolution {
  private final String answer;
  private final String by;
  private final String why;
  private final Object payload;

  private Resolution(String answer, String by, String why, Object payload) {
    this.answer = Objects.requireNonNull(answer, "answer");
    this.by = Objects.requireNonNull(by, "by");
    this.why = Objects.requireNonNull(why, "why");
    this.payload = payload;
  }

  /**
   * Any answer, such as one of {@link Escalation#answers}.
   *
   * @param answer such as {@code retry}
   * @param by who answers
   * @return the answer
   */
  public static Resolution of(String answer, String by) {
    return new Resolution(answer, by, "", null);
  }

  /**
   * Try the step again.
   *
   * @param by who answers
   * @return the answer
   */
  public static Resolution retry(String by) {
    return of("retry", by);
  }

  /**
   * Try the step again, with another input.
   *
   * @param by who answers
   * @param input the whole input: has a JSON form, or is a payload; null: none
   * @return the answer
   */
  public static Resolution retryChanged(String by, Object input) {
    return new Resolution("retry-changed", by, "", input);
  }

  /**
   * The step is done.
   *
   * @param by who answers
   * @param output of the step: has a JSON form, or is a payload; null: none
   * @return the answer
   */
  public static Resolution succeed(String by, Object output) {
    return new Resolution("succeed", by, "", output);
  }

  /**
   * Skip the step and continue.
   *
   * @param by who answers
   * @return the answer
   */
  public static Resolution skip(String by) {
    return of("skip", by);
  }

  /**
   * Undo the run.
   *
   * @param by who answers
   * @return the answer
   */
  public static Resolution compensate(String by) {
    return of("compensate", by);
  }

  /**
   * The run fails, and what was done stays.
   *
   * @param by who answers
   * @return the answer
   */
  public static Resolution fail(String by) {
    return of("fail", by);
  }

  /**
   * The person knows, and nothing is to be done.
   *
   * @param by who answers
   * @return the answer
   */
  public static Resolution acknowledge(String by) {
    return of("acknowledge", by);
  }

  /**
   * Adds why, for later readers.
   *
   * @param text at most 1,024 characters
   * @return an answer with it
   */
  public Resolution why(String text) {
    return new Resolution(answer, by, text, payload);
  }

  ResolveEscalationRequest.Builder toRequest(PayloadFormat format) {
    ResolveEscalationRequest.Builder made =
        ResolveEscalationRequest.newBuilder().setAnswer(answer).setBy(by).setWhy(why);
    if (payload != null) {
      made.setPayload(format.encode(payload));
    }
    return made;
  }
}
