package dev.drover.workflow;

import dev.drover.v1.RetryPolicy;
import java.time.Duration;
import java.util.List;

/** A retry policy. Each method returns another one with that setting. */
public final class Retry {
  private static final Retry DEFAULTS = new Retry(RetryPolicy.getDefaultInstance());

  final RetryPolicy message;

  private Retry(RetryPolicy message) {
    this.message = message;
  }

  /**
   * All defaults.
   *
   * @return a policy for every failure
   */
  public static Retry defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the codes of failures to which it applies.
   *
   * @param codes default: all
   * @return a policy for them
   */
  public static Retry on(String... codes) {
    return new Retry(RetryPolicy.newBuilder().addAllOn(List.of(codes)).build());
  }

  /**
   * Sets the maximum number of tries, the first included.
   *
   * @param most default 5, for an undo 10
   * @return a policy with it
   */
  public Retry attempts(int most) {
    return new Retry(message.toBuilder().setAttempts(most).build());
  }

  /**
   * Sets the first wait.
   *
   * @param wait default 1 s
   * @return a policy with it
   */
  public Retry initial(Duration wait) {
    return new Retry(message.toBuilder().setInitial(Messages.duration(wait)).build());
  }

  /**
   * Sets the factor by which each wait is longer than the previous one.
   *
   * @param factor default 2
   * @return a policy with it
   */
  public Retry factor(double factor) {
    return new Retry(message.toBuilder().setFactor(factor).build());
  }

  /**
   * Sets the longest wait.
   *
   * @param wait default 1 minute, for an undo 5 minutes
   * @return a policy with it
   */
  public Retry max(Duration wait) {
    return new Retry(message.toBuilder().setMax(Messages.duration(wait)).build());
  }

  /**
   * Sets the share of each wait that is random.
   *
   * @param share 0 to 1; default 0.2
   * @return a policy with it
   */
  public Retry jitter(double share) {
    return new Retry(message.toBuilder().setJitter(share).build());
  }
}
