package dev.drover;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * How long to wait before something is tried again: doubling, with jitter, and never less than what
 * the server asked for.
 */
final class Backoff {
  private final Duration first;
  private final Duration most;
  private Duration limit;

  /** From 100 ms to 5 s. */
  Backoff() {
    this(Duration.ofMillis(100), Duration.ofSeconds(5));
  }

  Backoff(Duration first, Duration most) {
    this.first = first;
    this.most = most;
    this.limit = first;
  }

  /** Longer each time, up to the limit. `failed` may be null. */
  synchronized Duration next(CallException failed) {
    // At least half, so that many callers spread and none repeats too often.
    double share = 0.5 + ThreadLocalRandom.current().nextDouble() / 2;
    Duration wait = Duration.ofNanos((long) (limit.toNanos() * share));
    Duration doubled = limit.multipliedBy(2);
    limit = doubled.compareTo(most) < 0 ? doubled : most;
    boolean isAskedForMore = failed != null && failed.retryAfter().compareTo(wait) > 0;
    return isAskedForMore ? failed.retryAfter() : wait;
  }

  /** For after a success. */
  synchronized void reset() {
    limit = first;
  }
}
