package dev.drover.workflow;

import java.time.Duration;

/** The timeouts of a task. Each method returns others with that setting. */
public final class Timeouts {
  private static final Timeouts DEFAULTS =
      new Timeouts(dev.drover.v1.Timeouts.getDefaultInstance());

  final dev.drover.v1.Timeouts message;

  private Timeouts(dev.drover.v1.Timeouts message) {
    this.message = message;
  }

  /**
   * All defaults.
   *
   * @return the timeouts
   */
  public static Timeouts defaults() {
    return DEFAULTS;
  }

  /**
   * Sets how long a task may wait for an agent.
   *
   * @param limit at least 1 ms
   * @return timeouts with it
   */
  public Timeouts pickup(Duration limit) {
    return new Timeouts(message.toBuilder().setPickup(Messages.duration(limit)).build());
  }

  /**
   * Sets how long one attempt may take.
   *
   * @param limit at least 1 ms
   * @return timeouts with it
   */
  public Timeouts attempt(Duration limit) {
    return new Timeouts(message.toBuilder().setAttempt(Messages.duration(limit)).build());
  }

  /**
   * Sets the length of the lease.
   *
   * @param limit at least 2 s
   * @return timeouts with it
   */
  public Timeouts heartbeat(Duration limit) {
    return new Timeouts(message.toBuilder().setHeartbeat(Messages.duration(limit)).build());
  }

  /**
   * Sets how long the progress that a handler reports may stay unchanged.
   *
   * @param limit default: off
   * @return timeouts with it
   */
  public Timeouts stall(Duration limit) {
    return new Timeouts(message.toBuilder().setStall(Messages.duration(limit)).build());
  }

  /**
   * Sets how long all attempts together may take.
   *
   * @param limit at least 1 ms
   * @return timeouts with it
   */
  public Timeouts total(Duration limit) {
    return new Timeouts(message.toBuilder().setTotal(Messages.duration(limit)).build());
  }

  /**
   * Sets how long a handler has to stop.
   *
   * @param limit may be zero
   * @return timeouts with it
   */
  public Timeouts cancel(Duration limit) {
    return new Timeouts(message.toBuilder().setCancel(Messages.duration(limit)).build());
  }

  /**
   * Sets how long to wait before the effect of a lost attempt is looked for.
   *
   * @param limit may be zero
   * @return timeouts with it
   */
  public Timeouts settle(Duration limit) {
    return new Timeouts(message.toBuilder().setSettle(Messages.duration(limit)).build());
  }

  /**
   * Sets how long the outcome of a deferred attempt may take.
   *
   * @param limit default 24 hours
   * @return timeouts with it
   */
  public Timeouts callback(Duration limit) {
    return new Timeouts(message.toBuilder().setCallback(Messages.duration(limit)).build());
  }
}
